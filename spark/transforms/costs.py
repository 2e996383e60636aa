"""What teams use and what it costs: every stored byte belongs to a topic or a group, and those to a team.

    costs   per cluster and team: topics, messages, bytes, gigabytes times days, cost

Retries and dead letters belong to their group's team, everything else to its topic's; what has no label and
what is the system's own is the row with a null team. A label is a name or a pattern with `*`; a name goes
before a pattern, a longer pattern before a shorter one. Bytes cost where they come in, and each day that they
lie, up to the end of the range. Without prices the cost is null: not known is not free.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from engine.protocol.names import DLQ_PREFIX, RETRY_PREFIX

__all__ = ["LABELS", "Prices", "costs", "holdings"]

_GIGABYTE = 1_000_000_000
_DAY_MS = 86_400_000
LABELS = StructType([StructField(name, StringType(), False) for name in ("kind", "pattern", "team")])
"""`kind` is topic or group."""


@dataclass(frozen=True, slots=True)
class Prices:
    per_million_messages: float = 0.0
    per_gigabyte: float = 0.0
    per_gigabyte_day: float = 0.0

    @property
    def are_known(self) -> bool:
        return bool(self.per_million_messages or self.per_gigabyte or self.per_gigabyte_day)


def holdings(messages: DataFrame, *, until: datetime) -> DataFrame:
    """Per topic or group that they count for: messages, bytes, and bytes times milliseconds kept."""
    prefix = F.when(F.col("kind") == "retry", len(RETRY_PREFIX)).when(
        F.col("kind") == "dead_letter", len(DLQ_PREFIX)
    )
    of_group = F.split(F.col("topic").substr(prefix + 1, F.lit(1 << 20)), r"\+", 2)[0]
    kept_ms = F.greatest(F.unix_millis(F.lit(until)) - F.unix_millis("store_time"), F.lit(0))
    owner_kind = (
        F.when(F.col("kind").isin("retry", "dead_letter"), "group")
        .when(F.col("kind").isin("normal", "half", "scheduled", "timer"), "topic")
        .otherwise("system")
    )
    rows = messages.select(
        "cluster",
        owner_kind.alias("owner_kind"),
        F.coalesce(of_group, F.col("topic")).alias("owner"),
        "size",
        (F.col("size").cast("double") * kept_ms).alias("byte_ms"),
    )
    return rows.groupBy("cluster", "owner_kind", "owner").agg(
        F.count("*").alias("messages"), F.sum("size").alias("bytes"), F.sum("byte_ms").alias("byte_ms")
    )


def costs(holdings: DataFrame, labels: DataFrame, prices: Prices) -> DataFrame:
    teams = (
        _labelled(holdings, labels)
        .groupBy("cluster", "team")
        .agg(
            F.count_if(F.col("owner_kind") == "topic").alias("topics"),
            F.count_if(F.col("owner_kind") == "group").alias("groups"),
            F.sum("messages").alias("messages"),
            F.sum("bytes").alias("bytes"),
            (F.sum("byte_ms") / (_GIGABYTE * _DAY_MS)).alias("gigabyte_days"),
        )
    )
    whole = Window.partitionBy("cluster")
    cost = (
        F.col("messages") / 1_000_000 * prices.per_million_messages
        + F.col("bytes") / _GIGABYTE * prices.per_gigabyte
        + F.col("gigabyte_days") * prices.per_gigabyte_day
    )
    return teams.withColumns(
        {
            "bytes_share": F.col("bytes") / F.sum("bytes").over(whole),
            "cost": cost if prices.are_known else F.lit(None).cast("double"),
        }
    )


def _labelled(holdings: DataFrame, labels: DataFrame) -> DataFrame:
    """Each holding with its team, or null."""
    literal = F.regexp_replace("pattern", r"([^A-Za-z0-9_*])", r"\\$1")
    given = labels.withColumns(
        {
            "expression": F.concat(F.lit("^"), F.regexp_replace(literal, r"\*", ".*"), F.lit("$")),
            "weight": F.when(F.contains("pattern", F.lit("*")), F.length("pattern")).otherwise(1 << 30),
        }
    ).withColumnRenamed("kind", "owner_kind")
    names = holdings.select("owner_kind", "owner").distinct()
    fitting = names.join(F.broadcast(given), "owner_kind").where(F.rlike("owner", F.col("expression")))
    # Of two patterns of one length the first by name: a run must not depend on the order of rows.
    best = F.max_by("team", F.struct("weight", "pattern"))
    chosen = fitting.groupBy("owner_kind", "owner").agg(best.alias("team"))
    return holdings.join(chosen, ["owner_kind", "owner"], "left")

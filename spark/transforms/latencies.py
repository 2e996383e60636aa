"""How long messages took from birth to their first success, and which groups are slow.

    latencies   end to end, by topic, group and hour; by topic and group; by topic
    consumers   one row per topic and group: calls, failures, how long a call takes, how long messages wait

Percentiles cannot be added up, so each level is worked out from the deliveries themselves; `level` says which
a row is, and what it leaves open is null. Hours are those of the session's time zone, of when a message was
stored. A latency below zero comes of clocks that differ: it is counted as `skewed` and in no percentile.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark.transforms.percentiles import percentiles

__all__ = ["consumers", "latencies"]

_SHARES = {"p50_ms": 0.50, "p90_ms": 0.90, "p95_ms": 0.95, "p99_ms": 0.99}
_PLACE = ("cluster", "topic", "group")


def latencies(deliveries: DataFrame) -> DataFrame:
    took = F.col("end_to_end_ms")
    fair = F.when(took >= 0, took)
    keys = [F.col(name) for name in ("cluster", "topic", "group", "hour")]
    rows = deliveries.where(took.isNotNull()).withColumn("hour", F.date_trunc("hour", "store_time"))
    grouped = rows.groupingSets([keys, keys[:3], keys[:2]], *keys)
    level = F.element_at(
        F.array(*map(F.lit, ("hour", "group", "hour", "topic"))), (F.grouping_id() + 1).cast("int")
    )
    return grouped.agg(
        level.alias("level"),
        F.count("*").alias("deliveries"),
        F.count_if(took < 0).alias("skewed"),
        *percentiles(fair, _SHARES),
        F.max(fair).alias("max_ms"),
    )


def consumers(tries: DataFrame, deliveries: DataFrame, *, slow_call_ms: int, slow_wait_ms: int) -> DataFrame:
    """A group is slow when one call in twenty takes at least `slow_call_ms`, or one message in twenty lies at
    least `slow_wait_ms` before its first call; `slow_by` says which: processing, waiting, both, or null."""
    is_good = F.col("is_success")
    calls = tries.groupBy(*_PLACE).agg(
        F.count("*").alias("calls"),
        F.count_if(is_good).alias("successes"),
        F.count_if(~is_good).alias("failures"),
        F.count_if(is_good.isNull()).alias("unfinished"),
        *percentiles("cost_ms", {f"call_{name}": share for name, share in _SHARES.items()}),
        F.max("cost_ms").alias("call_max_ms"),
    )
    waited = F.when(F.col("wait_ms") >= 0, F.col("wait_ms"))
    waits = (
        deliveries.where("tries > 0")
        .groupBy(*_PLACE)
        .agg(
            F.count("*").alias("messages"),
            *percentiles(waited, {f"wait_{name}": share for name, share in _SHARES.items()}),
            F.max(waited).alias("wait_max_ms"),
        )
    )
    ended = F.nullif(F.col("successes") + F.col("failures"), F.lit(0))
    joined = calls.join(waits, list(_PLACE), "left")
    return joined.withColumns(
        {
            "failure_share": F.col("failures") / ended,
            "slow_by": _slow_by(F.col("call_p95_ms") >= slow_call_ms, F.col("wait_p95_ms") >= slow_wait_ms),
        }
    )


def _slow_by(is_processing: Column, is_waiting: Column) -> Column:
    return (
        F.when(is_processing & is_waiting, "both")
        .when(is_processing, "processing")
        .when(is_waiting, "waiting")
    )

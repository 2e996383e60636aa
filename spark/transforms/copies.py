"""Which records of the log are one and the same message: as sent, parked, tried again, given up.

    slim           a log with no more than is needed here: what the others are made of
    messages       as its topic's consumers see it: one row per id, the first copy of it
    parked         since when the broker kept it back, because its producer asked for a delay
    retries        copies in %RETRY%group, one row per stored copy
    dead_letters   copies in %DLQ%group; `of_messages` finds the messages of either

A message is known by its cluster, its topic and its unique key, which stays the same through retries. One
without a unique key (batches of old clients) is known by where it lies, and nothing can be joined to it. An
application that sends on what it received keeps the key, so a key alone may name messages of several topics.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine.protocol.names import DLQ_PREFIX, RETRY_PREFIX
from engine.protocol.properties import Property

__all__ = ["COPY_COLUMNS", "IDENTITY", "dead_letters", "messages", "of_messages", "parked", "retries", "slim"]

COPY_COLUMNS = (
    "cluster",
    "broker",
    "store",
    "kind",
    "topic",
    "queue_id",
    "queue_offset",
    "commit_log_offset",
    "size",
    "tags",
    "keys",
    "unique_key",
    "born_time",
    "store_time",
    "reconsume_times",
    "properties",
)
"""What is needed of a record."""
IDENTITY = ("cluster", "topic", "msg_id")


def slim(log: DataFrame) -> DataFrame:
    """The records with what their properties say of where they belong, and without the rest of those. Kept
    once, it is what all of the functions below are made of: a log is read but one time."""
    properties = F.col("properties")
    given_back = F.coalesce(properties[Property.RETRY_TOPIC], properties[Property.DLQ_ORIGIN_TOPIC])
    said = {"real_topic": properties[Property.REAL_TOPIC], "retry_topic": given_back, "msg_id": _msg_id()}
    return log.withColumns(said).drop("properties", "unique_key")


def messages(log: DataFrame) -> DataFrame:
    """One row per message of the applications' topics; `copies` says how often it was stored there."""
    place = "broker", "queue_id", "queue_offset", "commit_log_offset"
    said = "size", "tags", "keys", "born_time"
    first = F.min(F.struct("store_time", *place, *said)).alias("first")
    grouped = log.where(F.col("kind") == "normal").groupBy(*IDENTITY).agg(first, F.count("*").alias("copies"))
    return grouped.select(
        *IDENTITY, "copies", *(F.col(f"first.{name}") for name in ("store_time", *place, *said))
    )


def parked(log: DataFrame) -> DataFrame:
    """Since when the broker held it back for its producer; retries are parked too, but those are waits."""
    real_topic = F.col("real_topic")
    held = log.where(F.col("kind").isin("scheduled", "timer") & ~real_topic.startswith(RETRY_PREFIX))
    rows = held.select("cluster", real_topic.alias("topic"), "msg_id", "store_time")
    return rows.groupBy(*IDENTITY).agg(F.min("store_time").alias("parked_time"))


def retries(log: DataFrame) -> DataFrame:
    """Copies that a group was given again; `topic` is null where the record does not say it."""
    return _given_back(log, "retry", RETRY_PREFIX)


def dead_letters(log: DataFrame) -> DataFrame:
    return _given_back(log, "dead_letter", DLQ_PREFIX)


def _given_back(log: DataFrame, kind: str, prefix: str) -> DataFrame:
    name = F.substring("topic", len(prefix) + 1, 1 << 20)
    parts = F.split(name, r"\+", 2)
    # A pop's retry topic names both, group+topic; the older form group_topic is told apart in `of_messages`.
    return log.where(F.col("kind") == kind).select(
        "cluster",
        F.coalesce("retry_topic", F.get(parts, F.lit(1))).alias("topic"),
        "msg_id",
        F.get(parts, F.lit(0)).alias("group"),
        "reconsume_times",
        "store_time",
    )


def of_messages(copies: DataFrame, known: DataFrame) -> DataFrame:
    """The copies of these messages, each with its message's topic and the group it was kept for."""
    ids = known.select(*IDENTITY)
    joined = copies.withColumnRenamed("topic", "said_topic").join(ids, ["cluster", "msg_id"])
    suffix = F.concat(F.lit("_"), F.col("topic"))
    is_older_pop = F.col("said_topic").isNull() & F.endswith("group", suffix)
    group = F.when(is_older_pop, F.expr("left(group, length(group) - length(topic) - 1)")).otherwise(
        F.col("group")
    )
    fits = F.coalesce(F.col("said_topic") == F.col("topic"), is_older_pop)
    return joined.where(fits).select(*IDENTITY, group.alias("group"), "reconsume_times", "store_time")


def _msg_id() -> Column:
    return F.coalesce("unique_key", F.concat_ws("@", "broker", F.col("commit_log_offset").cast("string")))

"""How much lies in the logs: one pass over the records, and everything else about volumes from its result.

    shares     the log in pieces: per store, topic, queue, segment, hour, and by how many groups have read it
    volume     messages and bytes per topic and hour, in the range asked for
    topics     per topic: messages, bytes, oldest and newest message kept

A piece is never split by a group's committed offset: all of its messages are read by a group, or none is. So
what a group has not read, and what it would lose, can be added up exactly without a second pass. `bucket` is
how many different committed offsets of its queue lie at or before the piece.
"""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

__all__ = ["QUEUE", "SEGMENTS", "VOLUME_COLUMNS", "commits", "shares", "topics", "volume"]

VOLUME_COLUMNS = (
    "cluster",
    "broker",
    "store",
    "kind",
    "topic",
    "queue_id",
    "queue_offset",
    "commit_log_offset",
    "size",
    "store_time",
)
"""What is needed of a record."""
QUEUE = ("cluster", "broker", "store", "topic", "queue_id")
SEGMENTS = StructType(
    [
        StructField("cluster", StringType(), False),
        StructField("broker", StringType(), False),
        StructField("store", StringType(), False),
        StructField("segment", LongType(), False),
        StructField("file_bytes", LongType(), False),
        StructField("is_last", BooleanType(), False),
    ]
)
"""The files of the logs: `segment` is the offset that a file begins with, which is also its name."""


def commits(committed: DataFrame) -> DataFrame:
    """Per queue: the different offsets that groups have committed there, in order."""
    return committed.groupBy(*QUEUE).agg(F.sort_array(F.collect_set("committed")).alias("commits"))


def shares(
    log: DataFrame,
    segments: DataFrame,
    committed: DataFrame,
    *,
    begin: datetime | None,
    end: datetime | None,
) -> DataFrame:
    sizes = segments.groupBy("store").agg(F.max("file_bytes").alias("segment_bytes"))
    rows = log.join(F.broadcast(sizes), "store").join(F.broadcast(commits(committed)), list(QUEUE), "left")
    offset, queue_offset = F.col("commit_log_offset"), F.col("queue_offset")
    before = F.filter("commits", lambda commit: commit <= queue_offset)
    pieces = rows.withColumns(
        {
            # Files of a log are all of one size, and begin at multiples of it.
            "segment": offset - offset % F.col("segment_bytes"),
            "hour": F.date_trunc("hour", "store_time"),
            "is_in_range": _is_between(begin, end),
            "bucket": F.coalesce(F.size(before), F.lit(0)),
        }
    )
    return pieces.groupBy(*QUEUE, "kind", "segment", "hour", "is_in_range", "bucket").agg(
        F.count("*").alias("messages"),
        F.sum("size").alias("bytes"),
        F.min("queue_offset").alias("min_queue_offset"),
        F.min("store_time").alias("oldest"),
        F.max("store_time").alias("newest"),
    )


def volume(shares: DataFrame) -> DataFrame:
    rows = shares.where("is_in_range").groupBy("cluster", "broker", "topic", "kind", "hour")
    return rows.agg(F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes"))


def topics(shares: DataFrame) -> DataFrame:
    """Everything that is kept, whatever the range."""
    rows = shares.groupBy("cluster", "topic", "kind").agg(
        F.sum("messages").alias("messages"),
        F.sum("bytes").alias("bytes"),
        F.min("oldest").alias("oldest"),
        F.max("newest").alias("newest"),
    )
    whole = shares.groupBy("cluster").agg(F.sum("bytes").alias("cluster_bytes"))
    share = F.col("bytes") / F.col("cluster_bytes")
    return rows.join(F.broadcast(whole), "cluster").withColumn("bytes_share", share).drop("cluster_bytes")


def _is_between(begin: datetime | None, end: datetime | None) -> Column:
    inside = F.lit(True)
    if begin is not None:
        inside = inside & (F.col("store_time") >= F.lit(begin))
    return inside & (F.col("store_time") < F.lit(end)) if end is not None else inside

"""What retention would delete, for any setting of fileReservedTime: whole files, the oldest first.

    expiring   each file of a log and each setting, with whether the file would go
    settings   per store and setting: files, bytes and messages that would go, what stays, who would lose
    by_topic   per store, setting and topic: the messages and bytes that would go

A file goes when its last message is older than the setting and all files before it go; the last file never
does. What it frees are bytes of disk; files of queues and indexes that go with it are not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

__all__ = ["by_topic", "expiring", "settings"]

_STORE = ("cluster", "broker", "store")


def expiring(segments: DataFrame, shares: DataFrame, hours: Sequence[int], *, now: datetime) -> DataFrame:
    """One row per file and setting: `is_gone`."""
    filled = shares.groupBy("store", "segment").agg(F.max("newest").alias("newest"))
    in_order = Window.partitionBy("store").orderBy("segment").rowsBetween(Window.unboundedPreceding, 0)
    rows = segments.join(filled, ["store", "segment"], "left").withColumns(
        {
            "newest_so_far": F.max("newest").over(in_order),
            # A file of which nothing is known stays, and so do those behind it.
            "are_known": F.min(F.col("newest").isNotNull()).over(in_order),
            "hours": F.explode(F.array(*map(F.lit, sorted(set(hours))))),
        }
    )
    age = F.unix_millis(F.lit(now)) - F.unix_millis("newest_so_far")
    is_gone = F.col("are_known") & ~F.col("is_last") & (age >= F.col("hours") * 3_600_000)
    return rows.withColumn("is_gone", F.coalesce(is_gone, F.lit(False))).drop(
        "newest", "newest_so_far", "are_known"
    )


def settings(expiring: DataFrame, shares: DataFrame, losses: DataFrame) -> DataFrame:
    """`losses`: what groups would lose at each setting (`unread.losses`)."""
    gone = F.col("is_gone")
    files = expiring.groupBy(*_STORE, "hours").agg(
        F.count_if(gone).alias("files_freed"),
        F.sum(F.when(gone, F.col("file_bytes")).otherwise(0)).alias("bytes_freed"),
        F.sum(F.when(gone, 0).otherwise(F.col("file_bytes"))).alias("bytes_kept"),
    )
    held = shares.groupBy("store", "segment").agg(
        F.sum("messages").alias("messages"), F.min("oldest").alias("oldest")
    )
    inside = expiring.join(held, ["store", "segment"]).groupBy("store", "hours")
    messages = inside.agg(
        F.sum(F.when(gone, F.col("messages")).otherwise(0)).alias("messages_freed"),
        F.sum(F.when(gone, 0).otherwise(F.col("messages"))).alias("messages_kept"),
        F.min(F.when(~gone, F.col("oldest"))).alias("oldest_kept"),
    )
    lost = losses.where("lost_messages > 0").groupBy("store", "hours")
    losing = lost.agg(
        F.count_distinct("group").alias("groups_losing"), F.sum("lost_messages").alias("messages_lost")
    )
    rows = files.join(messages, ["store", "hours"], "left").join(losing, ["store", "hours"], "left")
    return rows.fillna(0, ["messages_freed", "messages_kept", "groups_losing", "messages_lost"])


def by_topic(expiring: DataFrame, shares: DataFrame) -> DataFrame:
    gone = expiring.where("is_gone").select("store", "segment", "hours")
    rows = shares.join(gone, ["store", "segment"]).groupBy(*_STORE, "hours", "topic", "kind")
    return rows.agg(F.sum("messages").alias("messages_freed"), F.sum("bytes").alias("bytes_freed"))

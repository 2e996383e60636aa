"""What groups have not read yet, and what of it retention would take from them.

    behind   per group and queue: which pieces of the log are unread
    losses   per store, group, topic and setting: unread messages that would be deleted
    groups   per group and topic, at one setting: unread, its oldest message, what would be lost, what is lost

Unread is what lies at or behind a group's committed offset. Messages that its subscription would not match
are unread too: the log does not say what a group subscribes to. `already_lost` were deleted before they were
read.
"""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from engine.protocol.names import SYSTEM_GROUP_PREFIX, SYSTEM_GROUPS
from spark.transforms.volumes import QUEUE, commits

__all__ = ["behind", "groups", "losses", "readers"]

_READER = (*QUEUE, "group")
_TOPIC = ("cluster", "broker", "store", "topic", "group")


def readers(committed: DataFrame) -> DataFrame:
    """Usable offsets of the applications' groups, those on their retry topics too."""
    group = F.col("group")
    is_system = group.isin(*sorted(SYSTEM_GROUPS)) | group.startswith(SYSTEM_GROUP_PREFIX)
    return committed.where((F.col("committed") >= 0) & ~is_system)


def behind(shares: DataFrame, readers: DataFrame) -> DataFrame:
    """Pieces of the log that a group has not read, one row per group and piece."""
    ranked = readers.join(commits(readers), list(QUEUE)).select(
        *_READER, F.array_position("commits", F.col("committed")).alias("rank")
    )
    pieces = shares.groupBy(*QUEUE, "segment", "bucket").agg(
        F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes"), F.min("oldest").alias("oldest")
    )
    unread = pieces.join(F.broadcast(ranked), list(QUEUE)).where(F.col("bucket") >= F.col("rank"))
    return unread.select(*_READER, "segment", "messages", "bytes", "oldest")


def losses(behind: DataFrame, expiring: DataFrame) -> DataFrame:
    gone = expiring.where("is_gone").select("store", "segment", "hours")
    rows = behind.join(gone, ["store", "segment"]).groupBy(*_TOPIC, "hours")
    return rows.agg(F.sum("messages").alias("lost_messages"), F.sum("bytes").alias("lost_bytes"))


def groups(
    shares: DataFrame, readers: DataFrame, behind: DataFrame, losses: DataFrame, *, hours: int, now: datetime
) -> DataFrame:
    unread = behind.groupBy(*_TOPIC).agg(
        F.sum("messages").alias("unread_messages"),
        F.sum("bytes").alias("unread_bytes"),
        F.min("oldest").alias("oldest_unread"),
    )
    begins = shares.groupBy(*QUEUE).agg(F.min("min_queue_offset").alias("first"))
    missed = F.greatest(F.col("first") - F.col("committed"), F.lit(0))
    # A queue of which nothing is kept says nothing about what was in it.
    past = readers.join(begins, list(QUEUE), "left").groupBy(*_TOPIC)
    lost_before = past.agg(F.sum(F.coalesce(missed, F.lit(0))).alias("already_lost"))
    at_setting = losses.where(F.col("hours") == hours).drop("hours")
    rows = lost_before.join(unread, list(_TOPIC), "left").join(at_setting, list(_TOPIC), "left")
    zeros = ["unread_messages", "unread_bytes", "lost_messages", "lost_bytes"]
    age = (F.unix_millis(F.lit(now)) - F.unix_millis("oldest_unread")) / 3_600_000
    return rows.fillna(0, zeros).withColumns({"oldest_unread_hours": age, "hours": F.lit(hours)})

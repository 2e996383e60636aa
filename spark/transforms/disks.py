"""How fast disks fill, and how long brokers may keep messages.

    stores    per store: what its log holds, how fast it grows, how long it may and should keep messages
    disks     per disk: room left, growth of all its stores, the day it is full

Full is where brokers refuse to write (diskSpaceWarningLevelRatio). Growth is what was stored in the range,
per day; on the busiest day, what was stored on that day. A log that deletes grows no further than what the
setting keeps, so a disk may never fill: then the day is null. What is not known (a disk that cannot be asked,
a log of less than an hour) makes null of all that follows from it.

    recommended_hours, by the first reason that holds
    unread_over_disk   groups need more hours than fit: as many as fit
    disk_fills         the setting keeps more than fits: the largest setting that fits
    unread_lost        unread messages are older than the setting: the smallest one that keeps them
    keep               the setting as it is
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

__all__ = ["DISKS", "disks", "growth", "stores"]

_STORE = ("cluster", "broker", "store")
_DAY_MS = 86_400_000
_LEAST_WINDOW_MS = 3_600_000
DISKS = StructType(
    [
        StructField("store", StringType(), False),
        StructField("disk", StringType(), True),
        StructField("total_bytes", LongType(), True),
        StructField("free_bytes", LongType(), True),
    ]
)
"""Where stores lie: null where nobody can say."""


def growth(shares: DataFrame, *, begin: datetime | None, end: datetime | None, now: datetime) -> DataFrame:
    """Per store: messages and bytes kept, oldest and newest, and the bytes of a day, mean and busiest."""
    inside = F.when(F.col("is_in_range"), F.col("bytes")).otherwise(0)
    per_day = shares.groupBy(*_STORE, F.to_date("hour").alias("day")).agg(F.sum(inside).alias("day_bytes"))
    busiest = per_day.groupBy(*_STORE).agg(F.max("day_bytes").alias("busiest_day"))
    held = shares.groupBy(*_STORE).agg(
        F.sum("messages").alias("messages"),
        F.sum("bytes").alias("bytes"),
        F.min("oldest").alias("oldest"),
        F.max("newest").alias("newest"),
        F.sum(inside).alias("range_bytes"),
    )
    starts = F.greatest(F.unix_millis("oldest"), F.unix_millis(F.lit(begin)) if begin else F.lit(None))
    ends = F.least(F.unix_millis(F.lit(now)), F.unix_millis(F.lit(end)) if end else F.lit(None))
    window = ends - starts
    mean = F.when(window >= _LEAST_WINDOW_MS, F.col("range_bytes") * _DAY_MS / window)
    rows = held.join(busiest, list(_STORE)).withColumn("bytes_per_day", mean)
    worst = F.when(mean.isNotNull(), F.greatest(F.col("bytes_per_day"), F.col("busiest_day").cast("double")))
    return rows.withColumn("busiest_bytes_per_day", worst).drop("busiest_day", "range_bytes")


def disks(growth: DataFrame, places: DataFrame, *, hours: int, full_ratio: float, now: datetime) -> DataFrame:
    """`places` are DISKS; stores whose disk is not known are left out."""
    rows = growth.join(places, "store").where(F.col("disk").isNotNull()).groupBy("disk")
    summed = rows.agg(
        F.count("*").alias("stores"),
        F.max("total_bytes").alias("total_bytes"),
        F.min("free_bytes").alias("free_bytes"),
        F.sum("bytes").alias("bytes"),
        _sum_of_all("bytes_per_day").alias("bytes_per_day"),
        _sum_of_all("busiest_bytes_per_day").alias("busiest_bytes_per_day"),
    )
    room = F.lit(full_ratio) * F.col("total_bytes") - (F.col("total_bytes") - F.col("free_bytes"))
    return summed.withColumn("room_bytes", F.floor(room)).withColumns(
        {
            "fills_without_deletion_at": _full_at("bytes_per_day", F.lit(True), now),
            "fills_at": _full_at("bytes_per_day", _outgrows("bytes_per_day", hours), now),
            "fills_at_busiest": _full_at(
                "busiest_bytes_per_day", _outgrows("busiest_bytes_per_day", hours), now
            ),
            "allowed_hours": F.floor(
                (F.col("bytes") + F.col("room_bytes")) * 24 / F.nullif("busiest_bytes_per_day", F.lit(0.0))
            ),
        }
    )


def stores(
    growth: DataFrame,
    places: DataFrame,
    disks: DataFrame,
    segments: DataFrame,
    groups: DataFrame,
    *,
    hours: int,
    choices: Sequence[int],
) -> DataFrame:
    """`groups` as `unread.groups` makes them: those that have lost messages already need no setting."""
    files = segments.groupBy(*_STORE).agg(
        F.count("*").alias("files"), F.sum("file_bytes").alias("file_bytes")
    )
    keeping_up = groups.where((F.col("already_lost") == 0) & F.col("oldest_unread").isNotNull())
    needs = keeping_up.groupBy("store").agg(F.ceil(F.max("oldest_unread_hours")).alias("needed_hours"))
    rows = files.join(growth, list(_STORE), "left").join(places.select("store", "disk"), "store", "left")
    rows = rows.join(disks.select("disk", "allowed_hours"), "disk", "left").join(needs, "store", "left")
    rows = rows.withColumns({"hours": F.lit(hours), "needed_hours": F.coalesce("needed_hours", F.lit(0))})
    return rows.withColumn("reason", _reason()).withColumn("recommended_hours", _recommended(sorted(choices)))


def _sum_of_all(name: str) -> Column:
    """Null when one of them is not known."""
    return F.when(F.count_if(F.col(name).isNull()) == 0, F.sum(name))


def _outgrows(rate: str, hours: int) -> Column:
    """Whether what the setting keeps in the end is more than there is room for."""
    return F.col(rate) * (hours / 24) - F.col("bytes") > F.col("room_bytes")


def _full_at(rate: str, is_growing: Column, now: datetime) -> Column:
    days = F.col("room_bytes") / F.nullif(F.col(rate), F.lit(0.0))
    later = F.timestamp_millis(F.unix_millis(F.lit(now)) + (days * _DAY_MS).cast("bigint"))
    return F.when(F.col("room_bytes") <= 0, F.lit(now)).when(is_growing, later)


def _reason() -> Column:
    hours, needed, allowed = F.col("hours"), F.col("needed_hours"), F.col("allowed_hours")
    return (
        F.when(allowed < needed, "unread_over_disk")
        .when(allowed < hours, "disk_fills")
        .when(hours < needed, "unread_lost")
        .otherwise("keep")
    )


def _recommended(choices: Sequence[int]) -> Column:
    given = F.array(*map(F.lit, choices))
    fitting = F.array_max(F.filter(given, lambda choice: choice <= F.col("allowed_hours")))
    enough = F.array_min(F.filter(given, lambda choice: choice >= F.col("needed_hours")))
    reason = F.col("reason")
    at_most = F.coalesce(fitting, F.greatest(F.col("allowed_hours"), F.lit(1)))
    return (
        F.when(reason.isin("unread_over_disk", "disk_fills"), at_most)
        # Between two choices there may be no room for the next: least passes nulls over.
        .when(reason == "unread_lost", F.least(F.coalesce(enough, "needed_hours"), "allowed_hours"))
        .otherwise(F.col("hours"))
    )

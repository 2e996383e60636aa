"""The retention report: what lies where, how fast it grows, what each setting would free and cost.

volume     messages and bytes per topic and hour, in the range
topics     per topic: what is kept, oldest and newest message
stores     per store: what is kept, growth, needed, allowed and recommended hours
disks      per disk: room, growth, the day it is full
settings   per store and setting: what retention would free and whom it would hurt
settings_by_topic
groups     per group: unread messages, and those it would lose if retention ran now
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import DataFrame

from spark.transforms import disks, expiry, unread, volumes
from spark.transforms.trace_report import Keep

__all__ = ["retention_report"]


def retention_report(
    log: DataFrame,
    segments: DataFrame,
    places: DataFrame,
    committed: DataFrame,
    *,
    begin: datetime | None,
    end: datetime | None,
    now: datetime,
    hours: int,
    choices: Sequence[int],
    full_ratio: float,
    keep: Keep,
) -> dict[str, DataFrame]:
    """`hours` is the setting in force, `choices` those that are tried out beside it."""
    readers = unread.readers(committed)
    shares = keep("shares", volumes.shares(log, segments, readers, begin=begin, end=end))
    expiring = expiry.expiring(segments, shares, [hours, *choices], now=now)
    behind = keep("behind", unread.behind(shares, readers))
    losses = keep("losses", unread.losses(behind, expiring))
    groups = keep("groups", unread.groups(shares, readers, behind, losses, hours=hours, now=now))
    growth = keep("growth", disks.growth(shares, begin=begin, end=end, now=now))
    on_disks = keep("disks", disks.disks(growth, places, hours=hours, full_ratio=full_ratio, now=now))
    stores = disks.stores(growth, places, on_disks, segments, groups, hours=hours, choices=choices)
    return {
        "volume": volumes.volume(shares),
        "topics": volumes.topics(shares),
        "stores": stores,
        "disks": on_disks,
        "settings": expiry.settings(expiring, shares, losses),
        "settings_by_topic": expiry.by_topic(expiring, shares),
        "groups": groups,
    }

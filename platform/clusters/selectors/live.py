"""Live rows as values: for websockets, the fleet and whoever wants to know how old a figure is.

The age of a figure is that of the oldest answer it was put together from: of each broker group the master's,
or the newest member's where no master is known. A group that never answered makes the age unknown.
"""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum

from clusters.models import Cluster, LiveBroker, LiveGroup, LiveTopic
from console.core.int64 import as_texts
from engine.protocol.names import SYSTEM_GROUP_PREFIX, SYSTEM_GROUPS

GROUP_FIELDS = (
    "name",
    "topic_count",
    "lag",
    "lag_is_partial",
    "oldest_unread_at",
    "consume_rate",
    "eta_s",
    "never_clears",
    "member_count",
    "model",
    "consume_type",
    "is_sampled",
)
TOPIC_FIELDS = (
    "name",
    "kind",
    "read_queues",
    "write_queues",
    "perm",
    "is_ordered",
    "messages",
    "put_rate",
    "last_write_at",
    "group_count",
    "lag",
)
BROKER_FIELDS = (
    "broker_name",
    "member",
    "address",
    "role",
    "version",
    "epoch",
    "ha",
    "rates",
    "disk_ratio",
    "retention",
    "damage",
    "certificate",
    "log",
    "booted_at",
    "sampled_at",
    "is_reachable",
    "error",
)
"""As the collector tells them (clusters/collecting/telling.py): the two must compare."""
INT64 = frozenset(
    (
        *("lag", "messages", "epoch", "lagBytes", "minOffset", "maxOffset", "flushedOffset"),
        *("dispatchedOffset", "logStart", "bytes", "fromOffset", "toOffset", "offset", "size"),
    )
)
"""Strings in JSON, also inside of what brokers say about their log, their group and their disk."""

NORMAL_TOPICS = Q(kind=LiveTopic.Kind.NORMAL)
PEOPLES_GROUPS = ~(Q(name__in=SYSTEM_GROUPS) | Q(name__startswith=SYSTEM_GROUP_PREFIX))
"""What a cluster is said to have: the brokers' own topics and groups are no one's."""

Row = dict[str, Any]


def group_rows(cluster: Cluster, names: Names[str]) -> dict[str, Row]:
    rows = LiveGroup.objects.filter(cluster=cluster, name__in=names)
    return {row["name"]: plain(row) for row in rows.values(*GROUP_FIELDS)}


def topic_rows(cluster: Cluster, names: Names[str]) -> dict[str, Row]:
    rows = LiveTopic.objects.filter(cluster=cluster, name__in=names)
    return {row["name"]: plain(row) for row in rows.values(*TOPIC_FIELDS)}


def broker_rows(cluster: Cluster) -> dict[str, Row]:
    rows = LiveBroker.objects.filter(cluster=cluster).values(*BROKER_FIELDS)
    return {f"{row['broker_name']}-{row['member']}": plain(row) for row in rows}


def top_lag(cluster: Cluster, visible: Q, count: int) -> dict[str, Row]:
    rows = LiveGroup.objects.filter(visible, cluster=cluster, lag__gt=0).order_by("-lag", "-name")
    return {row["name"]: plain(row) for row in rows.values(*GROUP_FIELDS)[:count]}


def totals_of(cluster: Cluster) -> Row:
    speakers = speaking(LiveBroker.objects.filter(cluster=cluster)).values()
    groups = LiveGroup.objects.filter(cluster=cluster).aggregate(
        lag=Sum("lag"),
        count=Count("pk", filter=PEOPLES_GROUPS),
        partial=Count("pk", filter=Q(lag_is_partial=True)),
    )
    lag = known_lag(groups["lag"], groups["partial"])
    return {
        "put_rate": _sum([row.rates.get("put") for row in speakers]),
        "got_rate": _sum([row.rates.get("got") for row in speakers]),
        "lag": None if lag is None else str(lag),
        "topic_count": LiveTopic.objects.filter(NORMAL_TOPICS, cluster=cluster).count(),
        "group_count": groups["count"],
    }


def known_lag(known: int | None, partial: int) -> int | None:
    """What is known counts; a zero is told only when no queue's part is missing."""
    return None if partial and not known else known or 0


def speaking(rows: Iterable[LiveBroker]) -> dict[str, LiveBroker]:
    """Of each broker group the member whose figures count."""
    found: dict[str, LiveBroker] = {}
    for row in sorted(rows, key=lambda row: (row.role == "master", row.epoch or 0, -row.member)):
        found[row.broker_name] = row
    return found


def freshness_of(cluster: Cluster, rows: QuerySet[LiveBroker] | None = None) -> Row:
    brokers = speaking(LiveBroker.objects.filter(cluster=cluster) if rows is None else rows)
    return {
        "sampled_at": oldest(row.sampled_at for row in brokers.values()),
        "brokers": [
            {"broker": name, "sampled_at": row.sampled_at, "is_reachable": row.is_reachable}
            for name, row in sorted(brokers.items())
        ],
    }


def oldest(times: Iterable[datetime | None]) -> datetime | None:
    """None when there are none, or when one of them is not known."""
    listed = list(times)
    known = [at for at in listed if at is not None]
    return min(known) if known and len(known) == len(listed) else None


def plain(row: Row) -> Row:
    """JSON values: times and 64-bit numbers as text."""
    texts = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()}
    found: Row = as_texts(texts, INT64)
    return found


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known), 2) if known and len(known) == len(values) else None

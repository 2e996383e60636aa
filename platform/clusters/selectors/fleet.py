"""All clusters that somebody may see, one line each: health, version, rates, lag, disk, and how old that is.

A fixed number of queries whatever the number of clusters. Figures about all groups of a cluster need a grant
on all of its names; without one they are None.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Q, Sum, Window
from django.db.models.functions import RowNumber

from clusters.models import Alert, Collection, LiveBroker, LiveGroup, LiveTopic
from clusters.selectors.clusters import visible
from clusters.selectors.live import NORMAL_TOPICS, PEOPLES_GROUPS, known_lag, oldest, speaking
from console.core.models.people import Role
from console.core.rights import Grants

STALE = timedelta(seconds=30)
"""Three rounds of the collector."""
_TOP = 3


def fleet_rows(grants: Grants, now: datetime) -> list[dict[str, Any]]:
    clusters = list(visible(grants))
    ids = [cluster.pk for cluster in clusters]
    brokers: defaultdict[int, list[LiveBroker]] = defaultdict(list)
    for row in LiveBroker.objects.filter(cluster__in=ids):
        brokers[row.cluster_id].append(row)
    lags = {row["cluster"]: row for row in _lags(ids)}
    topics = dict(_counts(LiveTopic.objects.filter(NORMAL_TOPICS, cluster__in=ids)))
    firing = dict(_counts(Alert.objects.filter(cluster__in=ids, state=Alert.State.FIRING)))
    errors = dict(Collection.objects.filter(cluster__in=ids).values_list("cluster", "error"))
    top = _top_lags(ids)
    rows = []
    for cluster in clusters:
        sees_all = grants.may(Role.VIEWER, cluster.name)
        row = _broker_figures(brokers[cluster.pk], now)
        row |= {"name": cluster.name, "kind": cluster.kind, "flavour": cluster.flavour}
        row |= {"labels": cluster.labels, "error": errors.get(cluster.pk, "")}
        row |= _group_figures(lags.get(cluster.pk), topics.get(cluster.pk, 0), top[cluster.pk], sees_all, row)
        row["firing_alerts"] = firing.get(cluster.pk, 0) if sees_all else None
        rows.append(row)
    return rows


def health_of(brokers: list[LiveBroker], now: datetime) -> tuple[str, str]:
    """A word and why: unknown, ok, degraded, down."""
    speakers = speaking(brokers).values()
    heard = oldest(row.sampled_at for row in speakers)
    newest = max((row.sampled_at for row in speakers if row.sampled_at), default=None)
    if newest is None:
        return "unknown", "no broker has answered yet"
    silent = sorted(row.broker_name for row in speakers if not row.is_reachable)
    if silent and len(silent) == len(speakers):
        return "down", "no master answers"
    if silent:
        return "degraded", f"no answer from {', '.join(silent)}"
    if heard is None or now - heard > STALE:
        return "unknown", "the figures are old: nobody collects them"
    for row in brokers:
        if not row.is_reachable:
            return "degraded", f"no answer from {row.broker_name}-{row.member}"
        if trouble := row.ha.get("trouble"):
            return "degraded", f"{row.broker_name}-{row.member}: {trouble}"
        if len(row.ha.get("inSync", [])) < row.ha.get("minInSync", 0):
            return "degraded", f"{row.broker_name} has fewer copies than it must have"
    return "ok", ""


def _broker_figures(brokers: list[LiveBroker], now: datetime) -> dict[str, Any]:
    speakers = list(speaking(brokers).values())
    health, reason = health_of(brokers, now)
    disks = [row.disk_ratio for row in brokers if row.disk_ratio is not None]
    return {
        "health": health,
        "health_reason": reason,
        "versions": sorted({row.version for row in brokers if row.version}),
        "broker_count": len(brokers),
        "put_rate": _sum([row.rates.get("put") for row in speakers]),
        "got_rate": _sum([row.rates.get("got") for row in speakers]),
        "disk_ratio": max(disks, default=None),
        "sampled_at": oldest(row.sampled_at for row in speakers),
    }


def _group_figures(
    lags: dict[str, Any] | None, topics: int, top: list[LiveGroup], sees_all: bool, row: dict[str, Any]
) -> dict[str, Any]:
    if not sees_all or row["sampled_at"] is None:
        return {"topic_count": None, "group_count": None, "lag": None, "top_lag": None}
    return {
        "topic_count": topics,
        "group_count": lags["count"] if lags else 0,
        "lag": known_lag(lags["lag"], lags["partial"]) if lags else 0,
        "top_lag": [{"group": one.name, "lag": one.lag} for one in top],
    }


def _lags(ids: list[int]) -> Any:
    return (
        LiveGroup.objects.filter(cluster__in=ids)
        .order_by()
        .values("cluster")
        .annotate(
            lag=Sum("lag"),
            count=Count("pk", filter=PEOPLES_GROUPS),
            partial=Count("pk", filter=Q(lag_is_partial=True)),
        )
    )


def _counts(rows: Any) -> Any:
    return rows.order_by().values("cluster").annotate(count=Count("pk")).values_list("cluster", "count")


def _top_lags(ids: list[int]) -> defaultdict[int, list[LiveGroup]]:
    place = Window(RowNumber(), partition_by="cluster", order_by=[F("lag").desc(), "name"])
    rows = LiveGroup.objects.filter(cluster__in=ids, lag__gt=0).annotate(place=place).filter(place__lte=_TOP)
    found: defaultdict[int, list[LiveGroup]] = defaultdict(list)
    for row in rows.order_by("cluster", "place"):
        found[row.cluster_id].append(row)
    return found


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known), 2) if known and len(known) == len(values) else None

"""What alert rules look at, from live rows: what is above a threshold now, and what cannot be seen.

Only rows that hold are read, so a rule over five thousand groups costs what it finds. A cluster whose figures
are old, or figures that are not known, are told apart: they are never "fine".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from clusters.models import AlertRule, Cluster, Collection, LiveBroker, LiveGroup, LiveTopic, SeriesChunk
from clusters.selectors.broker_figures import BROKER_LOOKS
from clusters.selectors.figures import Figure
from clusters.selectors.live import oldest, speaking
from clusters.selectors.packing import unpack
from console.core.rights import fits
from engine.protocol.names import is_system_group

STALE = timedelta(seconds=30)
GROWTH = timedelta(minutes=10)
"""Over which the growth of dead letters is counted."""
_NAMED_UNKNOWN = 5

Kind = AlertRule.Kind


@dataclass(frozen=True, slots=True)
class Observation:
    """What a rule saw: objects that it holds for; clusters where it cannot say, and why."""

    holding: tuple[Figure, ...]
    blind: dict[int, str] = field(default_factory=dict)


def observe(rule: AlertRule, clusters: Iterable[Cluster], now: datetime) -> Observation:
    holding: list[Figure] = []
    blind: dict[int, str] = {}
    for cluster in clusters:
        if not fits(rule.cluster_pattern, cluster.name):
            continue
        if why := _staleness(cluster, rule.kind, now):
            blind[cluster.pk] = why
            continue
        found = [one for one in _LOOKS[rule.kind](rule, cluster, now) if fits(rule.name_pattern, one.name)]
        holding += [one for one in found if one.value is not None]
        if unknown := sorted((one for one in found if one.value is None), key=lambda one: one.name):
            named = ", ".join(one.name for one in unknown[:_NAMED_UNKNOWN])
            blind[cluster.pk] = f"{len(unknown)} {unknown[0].why}: {named}"
    return Observation(tuple(holding), blind)


def _staleness(cluster: Cluster, kind: str, now: datetime) -> str:
    """Whether a broker answers is itself a figure: for that only the collector must be there."""
    if kind == Kind.BROKER_DOWN:
        row = Collection.objects.filter(cluster=cluster).first()
        at = None if row is None else row.sampled_at
    else:
        rows = speaking(LiveBroker.objects.filter(cluster=cluster)).values()
        at = oldest(row.sampled_at for row in rows)
    if at is None:
        return "nothing was collected yet"
    return "the figures are old" if now - at > STALE else ""


# -- one look per kind --------------------------------------------------------------------------------------


def _groups(rule: AlertRule, cluster: Cluster, holds: Q) -> Iterable[LiveGroup]:
    rows = LiveGroup.objects.filter(holds, cluster=cluster).order_by("name")
    return (row for row in rows.defer("members") if not is_system_group(row.name))


def _lag(rule: AlertRule, cluster: Cluster, now: datetime) -> Iterable[Figure]:
    for row in _groups(rule, cluster, Q(lag__gt=rule.threshold)):
        yield _of_group(row, row.lag, f"{row.lag} messages behind")


def _seconds(rule: AlertRule, cluster: Cluster, now: datetime) -> Iterable[Figure]:
    before = now - timedelta(seconds=rule.threshold)
    holds = Q(lag__gt=0) & (Q(oldest_unread_at__lt=before) | Q(oldest_unread_at=None))
    for row in _groups(rule, cluster, holds):
        if row.oldest_unread_at is None:
            yield _of_group(row, None, "")
        else:
            behind = round((now - row.oldest_unread_at).total_seconds(), 1)
            yield _of_group(row, behind, f"the oldest unread message is {behind:g} s old")


def _eta(rule: AlertRule, cluster: Cluster, now: datetime) -> Iterable[Figure]:
    holds = Q(lag__gt=0) & (Q(eta_s__gt=rule.threshold) | Q(eta_s=None))
    for row in _groups(rule, cluster, holds):
        if row.never_clears:
            yield _of_group(row, float(row.lag or 0), f"a backlog of {row.lag} does not shrink")
        elif row.eta_s is None:
            yield _of_group(row, None, "")
        else:
            yield _of_group(row, row.eta_s, f"its backlog takes {row.eta_s:g} s")


def _no_members(rule: AlertRule, cluster: Cluster, now: datetime) -> Iterable[Figure]:
    for row in _groups(rule, cluster, Q(member_count=0) | Q(member_count=None)):
        yield _of_group(row, None if row.member_count is None else 0.0, "nobody is online")


def _of_group(row: LiveGroup, value: float | None, text: str) -> Figure:
    return Figure(row.cluster_id, "group", row.name, value, f"{row.name}: {text}")


def _dlq_growth(rule: AlertRule, cluster: Cluster, now: datetime) -> Iterable[Figure]:
    rows = list(
        LiveTopic.objects.filter(
            cluster=cluster, kind=LiveTopic.Kind.DLQ, last_write_at__gte=now - GROWTH
        ).order_by("name")
    )
    before = _messages_before(cluster, [row.name for row in rows], now - GROWTH)
    for row in rows:
        if row.messages is None:
            yield Figure(cluster.pk, "topic", row.name, None, "")
            continue
        growth = row.messages - before.get(row.name, 0)
        if growth > rule.threshold:
            text = f"{row.name}: {growth} dead letters in {GROWTH.seconds // 60} minutes"
            yield Figure(cluster.pk, "topic", row.name, float(growth), text)


def _messages_before(cluster: Cluster, topics: list[str], at: datetime) -> dict[str, int]:
    """How many there were then; of a topic that has no history so far back, its first known number."""
    chunks = SeriesChunk.objects.filter(
        cluster=cluster,
        subject="topic",
        name__in=topics,
        metric="messages",
        resolution_s=10,
        starts_at__gt=at - timedelta(hours=1),
    ).order_by("starts_at")
    found: dict[str, int] = {}
    for chunk in chunks:
        start_s = chunk.starts_at.timestamp()
        for slot, value in unpack(bytes(chunk.points)):
            if value is not None and (chunk.name not in found or start_s + slot * 10 <= at.timestamp()):
                found[chunk.name] = int(value)
    return found


_LOOKS: dict[str, Any] = {
    Kind.LAG: _lag,
    Kind.SECONDS: _seconds,
    Kind.ETA: _eta,
    Kind.NO_MEMBERS: _no_members,
    Kind.DLQ_GROWTH: _dlq_growth,
    **BROKER_LOOKS,
}

"""History for charts: points of one series at one resolution, with gaps as None. Two queries, no broker.

A value holds until the next one (packing.py), but only in slots in which every broker that it comes from was
heard: a collector that was away, or a broker that did not answer, leaves a gap and not a flat line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Q

from clusters.models import Cluster, LiveBroker, LiveSubscription, LiveTopic, SeriesChunk
from clusters.selectors.packing import BUCKET_S, KEPT_S, RESOLUTIONS, SAMPLED, unpack
from console.core.problems import Problem

METRICS = {
    "cluster": ("put_rate", "got_rate", "lag"),
    "broker": ("put_rate", "got_rate", "disk_ratio", "slave_lag_bytes"),
    "topic": ("put_rate", "messages"),
    "group": ("lag", "seconds", "consume_rate"),
}
MOST_POINTS = 5_000

Points = list[tuple[int, float | None]]


@dataclass(frozen=True, slots=True)
class Range:
    start_s: int
    end_s: int
    resolution_s: int

    def slots(self) -> range:
        return range(self.start_s, self.end_s, self.resolution_s)


def choose_range(start: datetime, end: datetime, resolution_s: int | None, now: datetime) -> Range:
    """The finest resolution that still has the beginning, unless one was asked for."""
    if end <= start:
        raise Problem("invalid", "`to` is not after `from`", 400, field="to")
    age_s = (now - start).total_seconds()
    kept = [one for one in RESOLUTIONS if age_s <= KEPT_S[one]] or [RESOLUTIONS[-1]]
    chosen = resolution_s or next(
        (one for one in kept if (end - start).total_seconds() / one <= MOST_POINTS), kept[-1]
    )
    start_s, end_s = int(start.timestamp()), int(end.timestamp())
    found = Range(start_s - start_s % chosen, end_s, chosen)
    if len(found.slots()) > MOST_POINTS:
        raise Problem(
            "too_many_points",
            f"{MOST_POINTS} points at most: ask for less or coarser",
            400,
            field="resolution",
        )
    return found


def read_series(cluster: Cluster, subject: str, name: str, metric: str, wanted: Range) -> Points:
    brokers = _brokers(cluster, subject, name)
    heard = Q(subject="broker", name__in=brokers, metric=SAMPLED)
    if subject == "cluster":
        heard = Q(subject="cluster", name="", metric=SAMPLED)
    own = Q(subject=subject, name=name, metric=metric)
    first = datetime.fromtimestamp(wanted.start_s, UTC) - timedelta(seconds=BUCKET_S[wanted.resolution_s])
    chunks = SeriesChunk.objects.filter(
        own | heard,
        cluster=cluster,
        resolution_s=wanted.resolution_s,
        starts_at__gt=first,
        starts_at__lt=datetime.fromtimestamp(wanted.end_s, UTC),
    ).order_by("starts_at")
    values: list[SeriesChunk] = []
    sampled: dict[str, set[int]] = {broker: set() for broker in brokers}
    for chunk in chunks:
        if chunk.metric == SAMPLED:
            sampled.setdefault(chunk.name, set()).update(at for at, _ in _times(chunk))
        else:
            values.append(chunk)
    return points_of(values, list(sampled.values()), wanted)


def points_of(chunks: Iterable[SeriesChunk], sampled: Collection[set[int]], wanted: Range) -> Points:
    held: dict[int, float | None] = {}
    for chunk in chunks:
        start = int(chunk.starts_at.timestamp())
        changes = dict(_times(chunk))
        value: float | None = None
        for at in range(start, min(start + BUCKET_S[wanted.resolution_s], wanted.end_s), wanted.resolution_s):
            value = changes.get(at, value)
            held[at] = value
    is_heard = bool(sampled)
    return [
        (at, held.get(at) if is_heard and all(at in slots for slots in sampled) else None)
        for at in wanted.slots()
    ]


def _times(chunk: SeriesChunk) -> Iterable[tuple[int, float | None]]:
    start = int(chunk.starts_at.timestamp())
    return ((start + slot * chunk.resolution_s, value) for slot, value in unpack(bytes(chunk.points)))


def _brokers(cluster: Cluster, subject: str, name: str) -> list[str]:
    """Whose answers a figure is put together from."""
    if subject == "cluster":
        return []
    if subject == "broker":
        return [name]
    if subject == "topic":
        found = LiveTopic.objects.filter(cluster=cluster, name=name).values_list("brokers", flat=True).first()
        return sorted(found or _all_brokers(cluster))
    rows = LiveSubscription.objects.filter(cluster=cluster, group=name).values_list("queues", flat=True)
    return sorted({queue["broker"] for queues in rows for queue in queues} or _all_brokers(cluster))


def _all_brokers(cluster: Cluster) -> set[str]:
    return set(LiveBroker.objects.filter(cluster=cluster).values_list("broker_name", flat=True))

"""How long a disk still lasts: its history as a straight line, and the ratio at which something is lost.

Two slopes are worked out, of the last hour and of the last six, and the flatter one counts: a single large
write in the last hour is no trend, and neither is growth that has ended. Too little history is no trend
either, which the caller says as "not known".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q

from clusters.models import Cluster, SeriesChunk
from clusters.selectors.packing import BUCKET_S, SAMPLED, unpack
from clusters.selectors.series import Range, points_of

WINDOW = timedelta(hours=6)
RECENT = timedelta(hours=1)
LEAST_SPAN = timedelta(minutes=10)
LEAST_GROWTH = 0.002
"""Of the disk, over the window: less is noise (brokers round to a thousandth)."""
MINUTE_S, SLOT_S = 60, 10

# RocketMQ's diskSpaceCleanForciblyRatio: for brokers that do not say theirs.
_DEFAULT_FORCE_RATIO = 0.85

Known = list[tuple[int, float]]
"""Seconds since 1970, and the used part of the disk."""


@dataclass(frozen=True, slots=True)
class Limit:
    ratio: float
    ahead: str
    """What happens then."""
    reached: str
    """What happens now."""


@dataclass(frozen=True, slots=True)
class Trend:
    growth_per_hour: float


def limit_of(retention: dict[str, Any] | None) -> Limit:
    """Where messages are lost or refused, by what the broker says of itself."""
    if retention is None:
        guessed = "RocketMQ deletes messages there that have not expired, by default"
        return Limit(_DEFAULT_FORCE_RATIO, guessed, guessed)
    if retention["mayDeleteUnexpired"]:
        return Limit(
            retention["forceRatio"],
            "messages that have not expired are then deleted",
            "messages that have not expired are deleted",
        )
    return Limit(retention["refuseRatio"], "writes are then refused", "writes are refused")


def trend_of(points: Known) -> Trend | None:
    """None: too little is known. `points` are in order, without gaps between known ones being filled."""
    if not points or points[-1][0] - points[0][0] < LEAST_SPAN.total_seconds():
        return None
    recent = [point for point in points if point[0] > points[-1][0] - RECENT.total_seconds()]
    if recent[-1][0] - recent[0][0] < LEAST_SPAN.total_seconds():
        return None
    slope = min(_slope(points), _slope(recent))
    span_h = (points[-1][0] - points[0][0]) / 3600
    return Trend(slope if slope * span_h >= LEAST_GROWTH else 0.0)


def forecast(ratio: float, limit: float, trend: Trend) -> float | None:
    """Hours until the limit, coarser the further away; None: it does not grow."""
    if ratio >= limit:
        return 0.0
    if trend.growth_per_hour <= 0:
        return None
    hours = (limit - ratio) / trend.growth_per_hour
    return round(hours, 1 if hours < 2 else 0)


def _slope(points: Known) -> float:
    """Least squares, per hour."""
    count = len(points)
    mean_h = sum(at for at, _ in points) / count / 3600
    mean = sum(value for _, value in points) / count
    spread = sum((at / 3600 - mean_h) ** 2 for at, _ in points)
    return sum((at / 3600 - mean_h) * (value - mean) for at, value in points) / spread if spread else 0.0


def read_trends(cluster: Cluster, labels: Sequence[str], now: datetime) -> dict[str, Trend]:
    """One query. Who has too little history is not in it."""
    minutes, slots = _range(now, WINDOW, MINUTE_S), _range(now, RECENT, SLOT_S)
    chunks = SeriesChunk.objects.filter(
        _within(minutes) | _within(slots),
        cluster=cluster,
        subject=SeriesChunk.Subject.BROKER,
        name__in=labels,
        metric__in=(SAMPLED, "disk_ratio"),
    ).order_by("starts_at")
    by_label: dict[str, list[SeriesChunk]] = {}
    for chunk in chunks:
        by_label.setdefault(chunk.name, []).append(chunk)
    found = {}
    for label, own in by_label.items():
        # Minutes are stored every ten minutes only: the newest of them are made of slots.
        known = sorted({**_known(own, slots), **_known(own, minutes)}.items())
        is_recent = known and minutes.end_s - known[-1][0] <= LEAST_SPAN.total_seconds()
        if is_recent and (trend := trend_of(known)):
            found[label] = trend
    return found


def _range(now: datetime, length: timedelta, resolution_s: int) -> Range:
    end_s = int(now.timestamp())
    start_s = end_s - int(length.total_seconds())
    return Range(start_s - start_s % MINUTE_S, end_s, resolution_s)


def _within(wanted: Range) -> Q:
    """Chunks that reach into it."""
    first_s = wanted.start_s - BUCKET_S[wanted.resolution_s]
    first, last = (datetime.fromtimestamp(at_s, UTC) for at_s in (first_s, wanted.end_s))
    return Q(resolution_s=wanted.resolution_s, starts_at__gt=first, starts_at__lte=last)


def _known(chunks: Sequence[SeriesChunk], wanted: Range) -> dict[int, float]:
    """Minute and largest ratio in it, of chunks of one broker."""
    own = [chunk for chunk in chunks if chunk.resolution_s == wanted.resolution_s]
    heard = {
        int(chunk.starts_at.timestamp()) + slot * wanted.resolution_s
        for chunk in own
        if chunk.metric == SAMPLED
        for slot, _ in unpack(bytes(chunk.points))
    }
    found: dict[int, float] = {}
    for at_s, value in points_of([chunk for chunk in own if chunk.metric != SAMPLED], [heard], wanted):
        if value is not None:
            minute_s = at_s - at_s % MINUTE_S
            found[minute_s] = max(value, found.get(minute_s, 0.0))
    return found

"""A group's lag over the last minutes, from packed points. Points hold until the next one (packing.py)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from clusters.models import Cluster, SeriesChunk
from clusters.selectors.packing import bucket_start, unpack

METRIC = "lag"
_RESOLUTION_S = 10
_LOOK_BACK = timedelta(minutes=30)
_STEP_S = 60


def lag_points(cluster: Cluster, group: str, *, now: datetime) -> list[tuple[float, int]]:
    """(seconds since 1970, lag), a minute apart, oldest first; stretches that are not known are left out."""
    begin = now - _LOOK_BACK
    first = datetime.fromtimestamp(bucket_start(int(begin.timestamp()), _RESOLUTION_S), UTC)
    chunks = SeriesChunk.objects.filter(
        cluster=cluster,
        subject=SeriesChunk.Subject.GROUP,
        name=group,
        metric=METRIC,
        resolution_s=_RESOLUTION_S,
        starts_at__gte=first,
    ).order_by("starts_at")
    changes = [
        (chunk.starts_at.timestamp() + slot * _RESOLUTION_S, value)
        for chunk in chunks
        for slot, value in unpack(chunk.points)
    ]
    return sampled(changes, begin.timestamp(), now.timestamp())


def sampled(
    changes: list[tuple[float, float | None]], begin_s: float, end_s: float
) -> list[tuple[float, int]]:
    """What held at every step. Pure."""
    points: list[tuple[float, int]] = []
    value: float | None = None
    following = iter([*changes, (float("inf"), None)])
    at, upcoming = next(following)
    step = begin_s
    while step <= end_s:
        while at <= step:
            value = upcoming
            at, upcoming = next(following)
        if value is not None:
            points.append((step, int(value)))
        step += _STEP_S
    return points

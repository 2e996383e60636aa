"""What a minute or an hour was, from its points. Pure.

Means of rates, the largest of everything else. A value holds until the next one, but for `sampled`, which is
only where it was said.
"""

from __future__ import annotations

from clusters.selectors.packing import POINT, SAMPLED, unpack


def summary(metric: str, points: bytearray, first: int, end: int) -> float | None:
    """Of the slots from the first to before the end; None when none of them has a value."""
    values = _held(points, first, end, carries=metric != SAMPLED)
    if not values:
        return None
    return round(sum(values) / len(values), 3) if metric.endswith("rate") else max(values)


def _held(points: bytearray, first: int, end: int, *, carries: bool) -> list[float]:
    """The value of each slot that has one, from the first slot to before the end."""
    before, changes = _changes(points, first, end)
    if not carries:
        return [value for _, value in changes if value is not None]
    held: list[float] = []
    since = first
    for slot, value in (*changes, (end, None)):
        if before is not None:
            held += [before] * (slot - since)
        before, since = value, slot
    return held


def _changes(points: bytearray, first: int, end: int) -> tuple[float | None, list[tuple[int, float | None]]]:
    """What held before the first slot, and what changed until the end. Of the points only the last are read:
    what is asked for has only just ended, and a chunk may have hundreds."""
    if not points:
        return None, []
    last: int = POINT.unpack_from(points, len(points) - POINT.size)[0]
    count = max(0, last - first + 1) + 1
    before: float | None = None
    changes: list[tuple[int, float | None]] = []
    for slot, value in unpack(points[-count * POINT.size :]):
        if slot < first:
            before = value
        elif slot < end:
            changes.append((slot, value))
    return before, changes

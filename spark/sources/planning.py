"""Which parts of a log the tasks of a read look at, and how: by walking through it, or along the queues.

    walk     a range of one segment between two boundaries, every record of it
    look up  a range of which the wanted topics' queues say where their messages lie: nothing else is read

A range is left out when its times cannot be wanted. Store times never go back in our log; other brokers'
clocks may be set back, so a margin is kept on both sides.

Where queues can be believed is decided in `look_ups`; the rest is walked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pyspark.sql.datasource import InputPartition

from spark.sources.boundaries import CLOCK_MARGIN_MS, PART_BYTES, boundaries
from spark.sources.decoding import Owner
from spark.sources.files import File
from spark.sources.logs import Log
from spark.sources.look_ups import look_up_bytes, looked_up
from spark.sources.record_search import store_time_at
from spark.sources.segments import Segment, kept_segments
from spark.sources.wanted import FIRST, LAST, Span, Wanted

__all__ = ["LogPart", "Range", "plan_log"]


@dataclass(frozen=True, slots=True)
class Range:
    """[start, end) of one segment."""

    segment: Segment
    start: int
    end: int


@dataclass(frozen=True)
class LogPart(InputPartition):
    """What one task reads. With `queues` (their folders) it looks up, else it walks."""

    owner: Owner
    ranges: tuple[Range, ...]
    queues: tuple[str, ...] = ()


def plan_log(log: Log, wanted: Wanted, start: int, end: int, part_bytes: int = PART_BYTES) -> list[LogPart]:
    """The parts of [start, end), which are boundaries, in the order of the log."""
    if not wanted.wants_store(log.store) or start >= end:
        return []
    log = replace(log, segments=kept_segments(log.store.log_place, log.segments))
    owner = (log.store.cluster, log.store.broker, log.store.place)
    ranges = _wanted_ranges(log, wanted, start, end, part_bytes)
    if not ranges:
        return []
    span, folders = looked_up(log, wanted, Span(ranges[0].start, ranges[-1].end))
    walked = [piece for whole in ranges for piece in _outside(whole, span)]
    parts = [LogPart(owner, group) for group in _grouped(walked, part_bytes)]
    if not span.is_empty:
        looked = [piece for whole in ranges for piece in _inside(whole, span)]
        size = max(look_up_bytes(folders, span), part_bytes)
        parts += [LogPart(owner, group, folders) for group in _grouped(looked, size)]
    return sorted(parts, key=lambda part: part.ranges[0].start)


def _inside(whole: Range, span: Span) -> Iterator[Range]:
    piece = Range(whole.segment, max(whole.start, span.start), min(whole.end, span.end))
    if piece.start < piece.end:
        yield piece


def _outside(whole: Range, span: Span) -> Iterator[Range]:
    if span.is_empty:
        yield whole
        return
    yield from _inside(whole, Span(FIRST, span.start))
    yield from _inside(whole, Span(span.end, LAST))


def _grouped(ranges: Sequence[Range], part_bytes: int) -> Iterator[tuple[Range, ...]]:
    """Neighbours together, up to about that size: segments may be small."""
    group: list[Range] = []
    size = 0
    for piece in ranges:
        if group and size + piece.end - piece.start > part_bytes * 5 // 4:
            yield tuple(group)
            group, size = [], 0
        group.append(piece)
        size += piece.end - piece.start
    if group:
        yield tuple(group)


# Which ranges


def _wanted_ranges(log: Log, wanted: Wanted, start: int, end: int, part_bytes: int) -> list[Range]:
    segments = [
        segment for segment in log.segments if segment.end_offset > start and segment.base_offset < end
    ]
    times = _segment_times(segments, wanted)
    ranges: list[Range] = []
    for number, segment in enumerate(segments):
        if not _may_hold(wanted, times[number], times[number + 1]):
            continue
        first, last = max(start, segment.base_offset), min(end, segment.end_offset)
        ranges += _split(log, segment, first, last, times[number + 1], wanted, part_bytes)
    return ranges


def _segment_times(segments: Sequence[Segment], wanted: Wanted) -> list[int | None]:
    """When each segment's first record was stored, and None for what comes behind the last."""
    if wanted.times_ms == Span():
        return [None] * (len(segments) + 1)
    times: list[int | None] = []
    for segment in segments:
        with File(segment.place) as file:
            times.append(store_time_at(file, segment, segment.base_offset))
    return [*times, None]


def _may_hold(wanted: Wanted, first_ms: int | None, next_ms: int | None) -> bool:
    """Whether what was stored from the one to the other may be wanted; None is not known."""
    times = wanted.times_ms
    if first_ms is not None and first_ms - CLOCK_MARGIN_MS >= times.end:
        return False
    return next_ms is None or next_ms + CLOCK_MARGIN_MS >= times.start


def _split(
    log: Log, segment: Segment, start: int, end: int, end_ms: int | None, wanted: Wanted, part_bytes: int
) -> Iterator[Range]:
    """The ranges of one segment that may be wanted. A boundary that cannot be found is none."""
    with File(segment.place) as file:
        borders = [start, *boundaries(log.store, file, segment, start, end, part_bytes), end]
        times: list[int | None] = [None] * len(borders)
        if wanted.times_ms != Span():
            times = [store_time_at(file, segment, border) for border in borders[:-1]] + [end_ms]
    for number, (first, last) in enumerate(pairwise(borders)):
        overlaps = wanted.offsets.start < last and first < wanted.offsets.end
        if overlaps and _may_hold(wanted, times[number], times[number + 1]):
            yield Range(segment, first, last)

"""How far a store may be read: never further than its broker lets consumers read.

    the broker answers        its readable end, exactly
    it does not, and its      the checkpoint: what was on disk. Ours holds the exact offset; Apache's the
    store was not closed      store time of the last message that was
    the store was closed,     to the end of the log
    or is an archive

Whom to ask, and whether to believe the answer, is in `broker_answers`. `decide_end` is pure.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import CorruptRecord
from engine.protocol.layouts.checkpoints import CheckpointPage, decode_page
from spark.sources.broker_answers import Asking, BrokerSays, ask_broker
from spark.sources.files import inside, listed, read_whole
from spark.sources.log_end import cut_record_end, find_log_end, last_boundary
from spark.sources.segments import Segment, find_segments
from spark.sources.stores import Store

__all__ = ["END_MODES", "End", "Found", "Known", "decide_end", "find_end"]

END_MODES = ("auto", "checkpoint", "log")
"""`auto` as above; `checkpoint` asks nobody; `log` takes every whole record, also those that the broker might
yet drop."""


@dataclass(frozen=True, slots=True)
class Known:
    """What decides: the broker's answer, whether the store was closed, its checkpoint."""

    broker: BrokerSays | None
    was_closed: bool
    page: CheckpointPage


@dataclass(frozen=True, slots=True)
class End:
    """`offset`, else up to `last_ms`, else to the end of the log. The queues are complete for what lies
    before `dispatched_offset`, or was stored before `dispatched_ms`; for nothing when neither is known."""

    offset: int | None = None
    is_boundary: bool = False
    """Whether a record certainly ends at `offset`: a replica's log may end inside one."""
    last_ms: int | None = None
    dispatched_offset: int | None = None
    dispatched_ms: int | None = None
    was_closed: bool = True


def decide_end(mode: str, known: Known) -> End:
    offsets, times = known.page.offsets, known.page.times
    dispatched_ms = times.logics_msg_timestamp if times is not None and offsets is None else None
    says = known.broker if mode == "auto" else None
    if says is not None:
        if says.dispatched_offset is not None and says.dispatched_offset <= says.readable_offset:
            return End(says.dispatched_offset, True, dispatched_offset=says.dispatched_offset)
        dispatched = offsets.dispatched_offset if offsets is not None else None
        return End(says.readable_offset, dispatched_offset=dispatched, dispatched_ms=dispatched_ms)
    if offsets is not None:
        dispatched = offsets.dispatched_offset
        if mode == "log":
            return End(dispatched_offset=dispatched, was_closed=known.was_closed)
        return End(
            min(offsets.flushed_offset, dispatched), dispatched <= offsets.flushed_offset, None, dispatched
        )
    if mode == "log" or known.was_closed or times is None:
        return End(dispatched_ms=dispatched_ms, was_closed=known.was_closed)
    return End(last_ms=times.physic_msg_timestamp, dispatched_ms=dispatched_ms, was_closed=False)


@dataclass(frozen=True, slots=True)
class Found:
    """The decision, the boundary that it comes to, and the segments, which were listed after the question."""

    end: End
    offset: int
    segments: tuple[Segment, ...]
    due_offset: int | None = None
    """Where the log should end, when a file was cut before it."""


def find_end(store: Store, mode: str, asking: Asking, *, is_strict: bool = True) -> Found:
    """A file that was cut is an error, unless `is_strict` is off: then the log ends with it."""
    end = decide_end(mode, _look(store, _segments(store), mode, asking))
    # Again: what the broker called readable may lie in a segment that was not there before.
    segments = _segments(store)
    if not segments:
        return Found(end, 0, segments)
    if end.offset is None:
        found = find_log_end(segments, was_closed=end.was_closed, last_ms=end.last_ms, is_strict=is_strict)
        return Found(end, found, segments, cut_record_end(segments, found))
    last = segments[-1]
    if end.offset > last.end_offset:
        if not is_strict:
            return Found(end, last_boundary(segments, last.end_offset), segments, end.offset)
        raise CorruptRecord(
            f"{last.place} is cut: the log goes on to offset {end.offset}, the file ends at {last.end_offset}"
        )
    offset = end.offset if end.is_boundary else last_boundary(segments, end.offset)
    return Found(end, max(offset, segments[0].base_offset), segments)


def _segments(store: Store) -> tuple[Segment, ...]:
    return find_segments(store.log_place, listed(store.log_place) or {})


def _look(store: Store, segments: Sequence[Segment], mode: str, asking: Asking) -> Known:
    if store.is_archive:
        return Known(None, True, CheckpointPage(None, None))
    was_closed = "abort" not in (listed(store.place) or {})
    page = decode_page(read_whole(inside(store.place, "checkpoint")) or b"", int(time.time() * 1000))
    if was_closed or mode != "auto":
        return Known(None, was_closed, page)
    return Known(ask_broker(store, segments, asking), was_closed, page)

"""Where a log ends that nobody can be asked about: the first place at which no whole record lies.

Called for stores that were closed (everything in them is whole up to the end), for archived segments, and,
when the caller insists, for the tail that a crash left. There the body's CRC is not enough: it does not cover
topic and properties, so a last record whose properties end in a zero byte, as a lost page leaves them, is
left out too (the broker does the same when it opens such a store).

A record that the end of its file cuts is no torn tail: brokers allocate files in full. Somebody cut the file.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import CorruptRecord
from engine.protocol._places_cy import (
    SCAN_BAD,
    SCAN_BLANK,
    SPAN_END,
    SPAN_POS,
    SPAN_STORE,
    SPAN_TOPIC_END,
)
from engine.protocol.record_layout import MAGIC_V1, MAGIC_V2
from spark.sources._columns_cy import number_column
from spark.sources.chunks import Chunk, chunks
from spark.sources.files import File
from spark.sources.record_search import WINDOW_BYTES, find_record, store_time_at
from spark.sources.segments import Segment, segment_at

__all__ = ["cut_record_end", "find_log_end", "last_boundary"]

STEP_BYTES = 32 << 20
_MAGICS = (MAGIC_V1, MAGIC_V2)


def find_log_end(
    segments: Sequence[Segment], *, was_closed: bool, last_ms: int | None = None, is_strict: bool = True
) -> int:
    """The offset behind the last record; with `last_ms`, behind the last one that was stored by then. A cut
    file is an error only if `is_strict`."""
    for segment in reversed(segments):
        with File(segment.place) as file:
            first_ms = store_time_at(file, segment, segment.base_offset)
            if first_ms is not None and (last_ms is None or first_ms <= last_ms):
                return _Walk(file, segment, was_closed, last_ms, is_strict).run()
    return segments[0].base_offset if segments else 0


def last_boundary(segments: Sequence[Segment], limit: int) -> int:
    """The end of the last record that lies wholly before `limit`. Where the log is damaged just before it,
    `limit` itself: whoever reads there will say so."""
    segment = segment_at(segments, limit - 1)
    if segment is None:
        return limit
    with File(segment.place) as file:
        start = _boundary_before(file, segment, limit, None)
        for chunk in chunks(file, segment, start, limit):
            start = chunk.next_offset
        if chunk.stop == SCAN_BLANK:
            return limit if limit == segment.end_offset else start
        return start if start < limit and _is_longer(file, segment, start, limit) else limit


def cut_record_end(segments: Sequence[Segment], commit_log_offset: int) -> int | None:
    """Where the record there would end, when the end of its file cuts it; None when it does not."""
    segment = segment_at(segments, commit_log_offset)
    if segment is None or segment.end_offset - commit_log_offset < 8:
        return None
    with File(segment.place) as file:
        if not _is_longer(file, segment, commit_log_offset, segment.end_offset):
            return None
        size = file.read(commit_log_offset - segment.base_offset, 4)
    return commit_log_offset + int.from_bytes(size, "big")


def _is_longer(file: File, segment: Segment, commit_log_offset: int, limit: int) -> bool:
    """Whether the record there goes on behind the limit."""
    head = file.read(commit_log_offset - segment.base_offset, 8)
    if limit - commit_log_offset < 8:
        return any(head)
    size, magic = (int.from_bytes(head[pos : pos + 4], "big", signed=True) for pos in (0, 4))
    return magic in _MAGICS and size > limit - commit_log_offset


def _boundary_before(file: File, segment: Segment, limit: int, last_ms: int | None) -> int:
    """A boundary not far before the limit: to walk through a whole segment takes seconds."""
    for number in range((limit - segment.base_offset) // STEP_BYTES, 0, -1):
        at = segment.base_offset + number * STEP_BYTES
        found = find_record(file, segment, at, limit, look_bytes=WINDOW_BYTES)
        if found is None:
            continue
        stored_ms = store_time_at(file, segment, found)
        if last_ms is None or (stored_ms is not None and stored_ms <= last_ms):
            return found
    return segment.base_offset


class _Walk:
    """To the end of one segment's records."""

    def __init__(
        self, file: File, segment: Segment, was_closed: bool, last_ms: int | None, is_strict: bool
    ) -> None:
        self._file = file
        self._segment = segment
        self._was_closed = was_closed
        self._last_ms = last_ms
        self._is_strict = is_strict
        self._newest = segment.base_offset
        self._is_newest_torn = False

    def run(self) -> int:
        end = self._segment.end_offset
        start = _boundary_before(self._file, self._segment, end, self._last_ms)
        while start < end:
            for chunk in chunks(self._file, self._segment, start, end, check_crc=not self._was_closed):
                too_late = self._first_too_late(chunk)
                if too_late is not None:
                    return too_late
                self._note_newest(chunk)
            start = chunk.next_offset
            if chunk.stop == SCAN_BLANK:
                return end
            follower = self._behind(start) if chunk.stop == SCAN_BAD else None
            if follower is None:
                break
            # Damage inside the log: it is for whoever reads there to say so.
            start = follower
        return self._newest if self._is_newest_torn and not self._was_closed else start

    def _first_too_late(self, chunk: Chunk) -> int | None:
        if self._last_ms is None:
            return None
        times = memoryview(number_column(chunk.view, chunk.spans, SPAN_STORE, 0, 8)).cast("q")
        for number, stored_ms in enumerate(times):
            if stored_ms > self._last_ms:
                return chunk.offset + int(chunk.spans[number * 8 + SPAN_POS])
        return None

    def _note_newest(self, chunk: Chunk) -> None:
        if len(chunk.spans):
            span = chunk.spans[len(chunk.spans) - 8 :]
            end = span[SPAN_END]
            self._newest = chunk.offset + int(span[SPAN_POS])
            self._is_newest_torn = end > span[SPAN_TOPIC_END] + 2 and chunk.view[end - 1] == 0

    def _behind(self, commit_log_offset: int) -> int | None:
        """A record behind the bad one, where that cannot be a torn tail."""
        segment = self._segment
        is_cut = _is_longer(self._file, segment, commit_log_offset, segment.end_offset)
        if is_cut and self._is_strict:
            raise CorruptRecord(f"{segment.place} is cut: the record at {commit_log_offset} ends behind it")
        if not self._was_closed:
            return None
        return find_record(
            self._file, segment, commit_log_offset + 1, segment.end_offset, look_bytes=segment.size
        )

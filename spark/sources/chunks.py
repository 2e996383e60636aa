"""A stretch of one segment, read in chunks and measured: where its records and their parts lie.

Memory stays at one chunk, or at one record where that is larger. A record that a chunk cuts is read again
with the next one. Whether a stop is the end, a blank or damage is for the caller to judge: it knows where the
stretch must end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.protocol._places_cy import SCAN_BAD, SCAN_END, SCAN_MORE, measure_records
from engine.protocol.record_layout import MAGIC_V1, MAGIC_V2
from spark.sources.files import File
from spark.sources.segments import Segment

__all__ = ["CHUNK_BYTES", "MAX_RECORD_BYTES", "Chunk", "chunks"]

CHUNK_BYTES = 4 << 20
MAX_RECORD_BYTES = 256 << 20
"""A size field above this is damage: no broker is set to take such messages."""
_MAX_RECORDS = CHUNK_BYTES // 92 + 1
_MAGICS = (MAGIC_V1, MAGIC_V2)


@dataclass(frozen=True, slots=True)
class Chunk:
    """`view` is overwritten by the next chunk."""

    view: memoryview
    offset: int
    """Commit log offset of the view's first byte."""
    spans: memoryview
    next_offset: int
    """Behind the last whole record."""
    stop: int
    """SCAN_MORE when another chunk follows, else why there is none: see `_places_cy`."""


def chunks(file: File, segment: Segment, start: int, end: int, *, check_crc: bool = False) -> Iterator[Chunk]:
    """The records from `start` (a boundary) to `end`, or to the first place where no whole record is."""
    buffer = bytearray(min(CHUNK_BYTES, max(end - start, 0)))
    while start < end:
        room = min(len(buffer), end - start)
        view = memoryview(buffer)[:room]
        view = view[: file.read_into(view, start - segment.base_offset)]
        spans, pos, stop = measure_records(view, 0, len(view), check_crc, _MAX_RECORDS, start)
        is_last = start + len(view) >= end or len(view) < room
        if stop in (SCAN_BAD, SCAN_END) and not is_last:
            if pos:
                stop = SCAN_MORE
            elif size := _size_beyond(view, end - start):
                buffer = bytearray(size)
                continue
        yield Chunk(view, start, spans, start + pos, stop)
        if stop != SCAN_MORE:
            return
        start += pos


def _size_beyond(view: memoryview, room: int) -> int | None:
    """The size of a first record that is larger than the view, if there can be one."""
    size = int.from_bytes(view[:4], "big", signed=True)
    magic = int.from_bytes(view[4:8], "big", signed=True)
    return size if magic in _MAGICS and len(view) < size <= min(room, MAX_RECORD_BYTES) else None

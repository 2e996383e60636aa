"""What a task does with its part of a log: bytes in, Arrow batches out.

Damage (bytes that are no whole record, where one must be) ends the task with one line that names the place,
or is stepped over when the reader was told to: then it goes on with the next record that can be believed.
A segment that its broker deleted since the read was planned holds nothing more, and is no error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructType

from engine.errors import CorruptRecord, NotFound
from engine.protocol._places_cy import SCAN_BLANK, SCAN_END, SPAN_NUMBERS, SPAN_POS, measure_records
from engine.protocol.record_layout import RECORD_HEAD
from spark.sources.chunks import MAX_RECORD_BYTES, Chunk, chunks
from spark.sources.decoding import Decoder
from spark.sources.files import File
from spark.sources.planning import LogPart, Range
from spark.sources.queue_units import UNITS, QueueReader, open_queue
from spark.sources.record_search import find_record
from spark.sources.segments import Segment, kept_segments
from spark.sources.wanted import Wanted

__all__ = ["read_part"]

_WINDOW_BYTES = 4 << 20
_GAP_BYTES = 64 << 10
"""What lies between two looked-up records is read along with them up to this size."""


def read_part(
    part: LogPart, schema: StructType, wanted: Wanted, *, is_strict: bool
) -> Iterator[pa.RecordBatch]:
    decoder = Decoder(schema, part.owner, wanted)
    queues = [queue for queue in map(open_queue, part.queues) if queue is not None]
    for piece in part.ranges:
        try:
            file = File(piece.segment.place)
        except NotFound:
            if kept_segments(piece.segment.place.rpartition("/")[0], [piece.segment]):
                raise
            continue
        with file:
            if part.queues:
                yield from _look_up(file, piece, _positions(queues, piece, wanted), decoder, is_strict)
            else:
                yield from _walk(file, piece, decoder, is_strict)
    for queue in queues:
        queue.close()


# Walking


def _walk(file: File, piece: Range, decoder: Decoder, is_strict: bool) -> Iterator[pa.RecordBatch]:
    start = piece.start
    while start < piece.end:
        for chunk in chunks(file, piece.segment, start, piece.end):
            yield from _batches(chunk.view, chunk.spans, piece.segment, decoder, is_strict)
        if chunk.next_offset == piece.end or chunk.stop == SCAN_BLANK:
            return
        _report(_damage(piece.segment, chunk), is_strict)
        behind = chunk.next_offset + 1
        found = find_record(file, piece.segment, behind, piece.end, look_bytes=piece.segment.size)
        start = piece.end if found is None else found


def _batches(
    view: memoryview, spans: memoryview, segment: Segment, decoder: Decoder, is_strict: bool
) -> Iterator[pa.RecordBatch]:
    while len(spans):
        batch, looked = decoder.batch(view, spans)
        if batch is not None:
            yield batch
        spans = spans[looked * SPAN_NUMBERS :]
        if len(spans):
            offset = RECORD_HEAD.unpack_from(view, spans[SPAN_POS])[6]
            _report(
                f"{segment.place} is damaged: the topic of the record at offset {offset} cannot be one",
                is_strict,
            )
            spans = spans[SPAN_NUMBERS:]


def _damage(segment: Segment, chunk: Chunk) -> str:
    what = "nothing is written" if chunk.stop == SCAN_END else "no whole record lies"
    return f"{segment.place} is damaged: {what} at offset {chunk.next_offset}, where the log goes on"


def _report(text: str, is_strict: bool) -> None:
    if is_strict:
        raise CorruptRecord(text)
    print(f"skipped: {text}", file=sys.stderr)


# Looking up


def _positions(queues: Sequence[QueueReader], piece: Range, wanted: Wanted) -> Any:
    """Units of the wanted messages that begin in the range, in the order of the log."""
    found = [np.empty(0, UNITS)]
    for queue in queues:
        first = max(queue.search(piece.start), wanted.queue_offsets.start)
        found.append(queue.offsets(first, min(queue.search(piece.end), wanted.queue_offsets.end)))
    units = np.concatenate(found)
    units = units[(units["offset"] >= piece.start) & (units["offset"] < piece.end)]
    return units[np.argsort(units["offset"], kind="stable")]


def _look_up(
    file: File, piece: Range, units: Any, decoder: Decoder, is_strict: bool
) -> Iterator[pa.RecordBatch]:
    """Window by window; several small ones make one batch, because each batch has its price."""
    offsets = units["offset"].astype(np.int64)
    ends = offsets + np.minimum(units["size"].astype(np.int64), MAX_RECORD_BYTES)
    buffer, used, gathered = bytearray(_WINDOW_BYTES), 0, [np.empty(0, np.int64)]
    first = 0
    while first < len(offsets):
        behind = _window_end(offsets, ends, first)
        start, end = int(offsets[first]), int(ends[behind - 1])
        if used and used + end - start > len(buffer):
            yield from _gathered(buffer, gathered, piece.segment, decoder, is_strict)
            used, gathered = 0, gathered[:1]
        if end - start > len(buffer):
            buffer = bytearray(end - start)
        view = memoryview(buffer)[used : used + end - start]
        view = view[: file.read_into(view, start - piece.segment.base_offset)]
        positions = (offsets[first:behind] - start).tobytes()
        spans, _, _ = measure_records(view, 0, len(view), False, behind - first, start, positions)
        # They are counted from the window's beginning, which is not the buffer's.
        gathered.append(np.array(spans, np.int64) + used)
        used += len(view)
        first += len(spans) // SPAN_NUMBERS
        if first < behind:
            _report(_no_record(piece.segment, int(offsets[first])), is_strict)
            first += 1
    yield from _gathered(buffer, gathered, piece.segment, decoder, is_strict)


def _gathered(
    buffer: bytearray, gathered: list[Any], segment: Segment, decoder: Decoder, is_strict: bool
) -> Iterator[pa.RecordBatch]:
    spans: memoryview = np.concatenate(gathered).data
    yield from _batches(memoryview(buffer), spans, segment, decoder, is_strict)


def _no_record(segment: Segment, commit_log_offset: int) -> str:
    return f"{segment.place} is damaged: no whole record at offset {commit_log_offset}, as a queue says"


def _window_end(offsets: Any, ends: Any, first: int) -> int:
    """Behind the last unit that is read together with the first: near to each other, and not too much."""
    limit = int(np.searchsorted(offsets, offsets[first] + _WINDOW_BYTES // 4, "left"))
    limit = max(limit, first + 1)
    gaps = np.flatnonzero(offsets[first + 1 : limit] - ends[first : limit - 1] > _GAP_BYTES)
    return first + 1 + int(gaps[0]) if len(gaps) else limit

"""Finding records in a segment whose beginning is not known: boundaries to split at, the first whole record
behind damage.

A boundary is believed when a whole record with an intact body lies there, says that it lies there (its own
offset is part of every record, so that a copy inside a body does not count), and is followed by another one
or by nothing. Where the store has consume queues, these are asked first: they were written by the broker, not
by a producer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from struct import Struct

from engine.protocol._places_cy import SCAN_BAD, measure_records
from engine.protocol._records_cy import scan_records
from engine.protocol.record_layout import MAGIC_V1, MAGIC_V2, RECORD_HEAD, store_time_of
from spark.sources.files import File
from spark.sources.queue_units import QueueReader, open_queue, queue_folder
from spark.sources.segments import Segment

__all__ = ["Guide", "find_record", "make_guide", "store_time_at"]

WINDOW_BYTES = 1 << 20
LOOK_BYTES = 16 << 20
"""How far a boundary is looked for: much further than the largest message that brokers take by default."""
_FIRST_LOOK_BYTES = 64 << 10
_MAGICS = tuple(magic.to_bytes(4, "big", signed=True) for magic in (MAGIC_V1, MAGIC_V2))
_SIZE_AND_MAGIC = Struct(">i4s")
_HEAD_BYTES = 96


def store_time_at(file: File, segment: Segment, commit_log_offset: int) -> int | None:
    """When the record there was stored; None if none begins there. Looks at its head alone."""
    head = file.read(commit_log_offset - segment.base_offset, _HEAD_BYTES)
    if len(head) < _HEAD_BYTES or head[4:8] not in _MAGICS:
        return None
    return store_time_of(head) if RECORD_HEAD.unpack_from(head)[6] == commit_log_offset else None


def find_record(
    file: File, segment: Segment, start: int, end: int, *, look_bytes: int = LOOK_BYTES
) -> int | None:
    """Offset of the first believable record in [start, end); None when there is none near."""
    end = min(end, start + look_bytes)
    for at in range(start, end, WINDOW_BYTES):
        # The magic stands four bytes behind a record's beginning, and may cross the window's end.
        window = file.read(at - segment.base_offset, WINDOW_BYTES + 7)
        for pos in _candidates(window):
            if at + pos < end and _is_record(file, segment, at + pos):
                return at + pos
        if len(window) < WINDOW_BYTES:
            return None
    return None


def _candidates(window: bytes) -> Iterator[int]:
    """Positions at which a record may begin, ascending."""
    following = [window.find(magic, 4) for magic in _MAGICS]
    while any(found >= 0 for found in following):
        number = min((found, n) for n, found in enumerate(following) if found >= 0)[1]
        yield following[number] - 4
        following[number] = window.find(_MAGICS[number], following[number] + 1)


def _is_record(file: File, segment: Segment, commit_log_offset: int) -> bool:
    at = commit_log_offset - segment.base_offset
    head = file.read(at, 8)
    if len(head) < 8:
        return False
    size, _ = _SIZE_AND_MAGIC.unpack(head)
    if not 0 < size <= segment.size - at:
        return False
    record = file.read(at, size)
    spans, _, _ = measure_records(record, 0, len(record), True, 1, commit_log_offset)
    if not spans:
        return False
    following = file.read(at + size, _HEAD_BYTES)
    return not following or _is_believable_head(following, commit_log_offset + size)


def _is_believable_head(head: bytes, commit_log_offset: int) -> bool:
    """Whether a record of that offset, a blank or nothing at all may begin with these bytes."""
    if head[4:8] in _MAGICS:
        return len(head) >= RECORD_HEAD.size and RECORD_HEAD.unpack_from(head)[6] == commit_log_offset
    return measure_records(head, 0, len(head), False, 1)[2] != SCAN_BAD


class Guide:
    """A queue that knows where records of a segment begin."""

    def __init__(self, queue: QueueReader) -> None:
        self._queue = queue

    def find(self, file: File, segment: Segment, start: int, end: int) -> int | None:
        """The first record of the queue at or behind `start`, if the log agrees and it is near."""
        unit = self._queue.unit(self._queue.search(start))
        if unit is None or not start <= unit[0] < min(end, start + LOOK_BYTES):
            return None
        return unit[0] if _is_record(file, segment, unit[0]) else None

    def close(self) -> None:
        self._queue.close()


def make_guide(store_place: str, file: File, segment: Segment) -> Guide | None:
    """The queue that the segment's first records are mostly in; None where it has no files."""
    head = file.read(0, _FIRST_LOOK_BYTES)
    rows, _, _ = scan_records(head, 0, len(head), False, 1 << 16, segment.base_offset)
    if not rows:
        return None
    (topic, queue_id), _ = Counter((row[2], row[3]) for row in rows).most_common(1)[0]
    folder = queue_folder(store_place, topic, queue_id)
    queue = open_queue(folder) if folder is not None else None
    return Guide(queue) if queue is not None else None

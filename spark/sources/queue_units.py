"""The consume queues as files: where the messages of a topic lie in the log, without a look at the log.

Units are 20 bytes (`layouts.store_files`); behind the last one a file holds zeros, before the first one of a
queue that does not begin at 0 there are blanks. A unit is a promise of the broker, not a proof: whoever
follows it checks the record it finds. Read beside the broker that appends; nothing is ever written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.protocol.layouts.store_files import CQ_UNIT, CQ_UNIT_SIZE
from engine.protocol.names import is_valid_topic
from spark.sources.files import File, inside, listed
from spark.sources.segments import Segment, check_segments, find_segments

__all__ = ["QueueReader", "open_queue", "queue_folder", "queue_folders"]

BLANK_SIZE = 0x7FFF_FFFF
UNITS = np.dtype([("offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8")])
_SLICE_UNITS = 1 << 17
Unit = tuple[int, int, int]


class QueueReader:
    """One queue. Offsets are queue offsets unless their name says otherwise."""

    def __init__(self, files: tuple[Segment, ...]) -> None:
        check_segments(files)
        self._files = files
        self._open: tuple[int, File] | None = None
        self.first = files[0].base_offset // CQ_UNIT_SIZE
        self.end = self._search(self.first, files[-1].end_offset // CQ_UNIT_SIZE, lambda unit: unit[1] <= 0)

    def close(self) -> None:
        if self._open is not None:
            self._open[1].__exit__(None, None, None)
            self._open = None

    def _file(self, number: int) -> File:
        if self._open is None or self._open[0] != number:
            self.close()
            self._open = number, File(self._files[number].place)
        return self._open[1]

    def _read(self, offset: int, count: int) -> bytes:
        """Units of one file from the offset on."""
        at = offset * CQ_UNIT_SIZE
        for number, file in enumerate(self._files):
            if file.base_offset <= at < file.end_offset:
                return self._file(number).read(at - file.base_offset, count * CQ_UNIT_SIZE)
        return b""

    def unit(self, offset: int) -> Unit | None:
        """Commit log offset, size and tags code; None outside the queue."""
        data = self._read(offset, 1)
        if len(data) < CQ_UNIT_SIZE:
            return None
        commit_log_offset, size, tags_code = CQ_UNIT.unpack(data)
        return (commit_log_offset, size, tags_code) if size > 0 else None

    def search(self, commit_log_offset: int) -> int:
        """The first message at or behind that place of the log; `end` when there is none."""
        return self._search(
            self.first, self.end, lambda unit: unit[0] >= commit_log_offset and unit[1] != BLANK_SIZE
        )

    def _search(self, low: int, high: int, is_right: Callable[[Unit], bool]) -> int:
        while low < high:
            middle = (low + high) // 2
            data = self._read(middle, 1)
            if len(data) < CQ_UNIT_SIZE or is_right(CQ_UNIT.unpack(data)):
                high = middle
            else:
                low = middle + 1
        return low

    def offsets(self, start: int, end: int) -> Any:
        """Commit log offsets and sizes of the units in [start, end), as an array of UNITS without blanks."""
        pieces = []
        while start < end:
            data = self._read(start, min(end - start, _SLICE_UNITS))
            units = np.frombuffer(data[: len(data) // CQ_UNIT_SIZE * CQ_UNIT_SIZE], UNITS)
            if not len(units):
                break
            pieces.append(units[(units["size"] > 0) & (units["size"] < BLANK_SIZE)])
            start += len(units)
        return np.concatenate(pieces) if pieces else np.empty(0, UNITS)


def open_queue(folder: str) -> QueueReader | None:
    """None when the queue has no files."""
    entries = listed(folder)
    files = find_segments(folder, entries) if entries else ()
    return QueueReader(files) if files else None


def queue_folder(store_place: str, topic: str, queue_id: int) -> str | None:
    """None when no broker would have given a queue of this name a folder."""
    return inside(store_place, "consumequeue", topic, str(queue_id)) if is_valid_topic(topic) else None


def queue_folders(store_place: str, topic: str) -> list[str] | None:
    """The folders of a topic's queues; None when the store keeps none for it, or keeps them another way."""
    if not is_valid_topic(topic) or listed(inside(store_place, "batchconsumequeue", topic)) is not None:
        return None
    folder = inside(store_place, "consumequeue", topic)
    entries = listed(folder)
    if entries is None:
        return None
    return [inside(folder, name) for name, entry in entries.items() if entry.is_folder and name.isdigit()]

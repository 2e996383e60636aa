"""One topic-queue: 20-byte units (see `layouts.store_files`) that say where its messages lie in the log.

    consumequeue/<topic>/<queueId>/00000000000000000000    300,000 units, sparse, full length from the start

Units are written with pwrite at the place that their queue offset gives, so writing them twice changes
nothing. Behind the last unit everything is zeros: the end of a queue is found by looking for the first unit
without a size. A crash may leave units that point beyond the log or zeros where a page was lost; recovery
cuts the queue at a place known to be whole and writes the rest anew from the log.

A queue holds no descriptor and no map of its own, only numbers. One thread.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

from engine.durable_file import pwrite_all
from engine.protocol.layouts.store_files import CQ_BLANK, CQ_UNIT, CQ_UNIT_SIZE, segment_name
from engine.store.queues.descriptors import Descriptors
from engine.store.queues.queue_survey import QueueSurvey

BLANK_UNIT_SIZE = 0x7FFF_FFFF
Unit = tuple[int, int, int]


class ConsumeQueue:
    __slots__ = (
        "_descriptors",
        "_dirty",
        "_file_units",
        "_is_rest_durable",
        "_min_for_log",
        "_min_offset",
        "_tail",
        "_tail_from",
        "_written_end",
        "checked_from",
        "end",
        "first",
        "folder",
        "queue_id",
        "topic",
    )

    def __init__(
        self,
        topic: str,
        queue_id: int,
        folder: str,
        *,
        file_units: int,
        descriptors: Descriptors,
        dirty: set[str],
    ) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.folder = folder
        self.first = 0
        """Queue offset of the first unit of the first file; `first == end` means that there is no file."""
        self.end = 0
        self.checked_from = 0
        """Units from here on were written by this process, or compared with the log."""
        self._file_units = file_units
        self._descriptors = descriptors
        self._dirty = dirty
        self._min_offset = 0
        self._min_for_log = -1
        self._written_end = 0
        """Behind `end` only between `rewind` and `settle`: what lies there is compared, not trusted."""
        self._is_rest_durable = False
        self._tail = b""
        self._tail_from = 0

    def _path(self, queue_offset: int) -> str:
        number = queue_offset // self._file_units
        return f"{self.folder}/{segment_name(number * self._file_units * CQ_UNIT_SIZE)}"

    def take_survey(self, found: QueueSurvey) -> None:
        """At open: what the files hold. Until `settle`, its last units are looked at instead of the file."""
        self.first = found.first
        self.end = self._written_end = found.end
        self._tail, self._tail_from = found.tail, found.end - len(found.tail) // CQ_UNIT_SIZE

    def write(self, queue_offset: int, units: bytes | bytearray) -> None:
        """Write units from the offset on, and end the queue behind them: the log's order wins."""
        if self._written_end > self.end and self._holds_already(queue_offset, units):
            self.end += len(units) // CQ_UNIT_SIZE
            return
        if queue_offset < self._written_end:
            self.cut(min(queue_offset, self.end))
        if queue_offset > self.end or self.first == self.end:
            self._begin_at(queue_offset)
        self.end = self._written_end = self._write_units(queue_offset, memoryview(units))

    def _write_units(self, queue_offset: int, units: memoryview) -> int:
        """Write across files; the queue offset behind the last unit."""
        while units:
            room = self._file_units - queue_offset % self._file_units
            piece = units[: room * CQ_UNIT_SIZE]
            self._write_piece(queue_offset, piece)
            queue_offset += len(piece) // CQ_UNIT_SIZE
            units = units[len(piece) :]
        return queue_offset

    def _holds_already(self, queue_offset: int, units: bytes | bytearray) -> bool:
        """Whether the units that `rewind` stepped back over say the same: nothing to write then."""
        end = queue_offset + len(units) // CQ_UNIT_SIZE
        if queue_offset != self.end or end > self._written_end:
            return False
        paths = []
        while queue_offset < end:
            count = min(end - queue_offset, self._file_units - queue_offset % self._file_units)
            found = self._tail_piece(queue_offset, count) or self._read_piece(queue_offset, count)
            if found != units[: len(found)]:
                return False
            paths.append(self._path(queue_offset))
            units = units[len(found) :]
            queue_offset += count
        if not self._is_rest_durable:
            self._dirty.update(paths)
        return True

    def keep_units(self, start: int, end: int, limit: int | None = None) -> list[tuple[int, int]]:
        """Between `rewind` and `settle`: go on behind the units that lead into this part of the log, in its
        order, at most up to the queue offset `limit`. The parts of the log that they lead to."""
        kept: list[tuple[int, int]] = []
        last = start
        stop = self._written_end if limit is None else min(limit, self._written_end)
        while self.end < stop:
            offset, size, _ = self._stored_unit(self.end)
            if not (last <= offset and 0 < size <= end - offset):
                break
            last = offset + size
            kept.append((offset, last))
            self._keep_one()
        if kept:
            self._min_for_log = -1
        return kept

    def keep_if_at(self, commit_log_offset: int, size: int) -> bool:
        """Between `rewind` and `settle`: whether the next unit leads to this record; then it stays."""
        if self.end >= self._written_end or self._stored_unit(self.end)[:2] != (commit_log_offset, size):
            return False
        self._keep_one()
        return True

    def _keep_one(self) -> None:
        if not self._is_rest_durable:
            self._dirty.add(self._path(self.end))
        self.end += 1

    def _stored_unit(self, queue_offset: int) -> Unit:
        """Also behind the end, as far as the file goes."""
        found = self._read_piece(queue_offset, 1)
        offset, size, tags_code = CQ_UNIT.unpack(found) if len(found) == CQ_UNIT_SIZE else (-1, 0, 0)
        return offset, size, tags_code

    def _begin_at(self, queue_offset: int) -> None:
        """Blanks from the end (or from the file's start, for a queue's first message) up to the offset."""
        if self.first == self.end:
            self.first = self.end = queue_offset - queue_offset % self._file_units
            os.makedirs(self.folder, exist_ok=True)
        self._min_for_log = -1
        while self.end < queue_offset:
            count = min(queue_offset - self.end, self._file_units - self.end % self._file_units)
            self._write_piece(self.end, CQ_BLANK * count)
            self.end += count

    def _write_piece(self, queue_offset: int, piece: bytes | memoryview) -> None:
        path = self._path(queue_offset)
        pos = queue_offset % self._file_units * CQ_UNIT_SIZE
        if pos == 0:
            fd = self._descriptors.create(path, self._file_units * CQ_UNIT_SIZE)
            # The names of file, queue and topic are in folders, which a sync must cover too.
            topic_folder = os.path.dirname(self.folder)
            self._dirty.update((self.folder, topic_folder, os.path.dirname(topic_folder)))
        else:
            fd = self._descriptors.get(path)
        pwrite_all(fd, piece, pos)
        self._dirty.add(path)

    def read(self, queue_offset: int, count: int) -> bytes:
        """Units from the offset on, as many as one file holds of them; empty outside the queue."""
        count = min(count, self.end - queue_offset, self._file_units - queue_offset % self._file_units)
        if queue_offset < self.first or count <= 0:
            return b""
        return self._read_piece(queue_offset, count)

    def _read_piece(self, queue_offset: int, count: int) -> bytes:
        fd = self._descriptors.get(self._path(queue_offset))
        return os.pread(fd, count * CQ_UNIT_SIZE, queue_offset % self._file_units * CQ_UNIT_SIZE)

    def unit_place(self, queue_offset: int) -> tuple[str, int] | None:
        """The file of a unit and its position there, for a read in another thread; None outside the queue."""
        if not self.first <= queue_offset < self.end:
            return None
        return self._path(queue_offset), queue_offset % self._file_units * CQ_UNIT_SIZE

    def unit(self, queue_offset: int) -> Unit | None:
        data = self.read(queue_offset, 1)
        if len(data) < CQ_UNIT_SIZE:
            return None
        return _as_unit(data)

    def search(self, low: int, is_right: Callable[[Unit], bool], *, near_end: bool = False) -> int:
        """The first queue offset from `low` on whose unit is right of a border; the end when none is. With
        `near_end` the border is looked for from the end in growing steps, before halving."""
        high = self.end
        step = 1
        while near_end and high - step >= low:
            unit = self.unit(high - step)
            if unit is not None and not is_right(unit):
                low = high - step + 1
                break
            high -= step
            step *= 2
        while low < high:
            middle = (low + high) // 2
            unit = self.unit(middle)
            if unit is None or is_right(unit):
                high = middle
            else:
                low = middle + 1
        return low

    def min_offset(self, log_min_offset: int) -> int:
        """The first message that the log still holds. Searched anew only when the log has moved."""
        if self._min_for_log != log_min_offset:
            self._min_offset = self.search(
                self.first, lambda unit: unit[0] >= log_min_offset and unit[1] != BLANK_UNIT_SIZE
            )
            self._min_for_log = log_min_offset
        return self._min_offset

    def count_between(self, begin: int, end: int) -> int:
        """How many messages of this queue lie in the log from one commit-log offset to another."""

        def first_from(commit_log_offset: int) -> int:
            return self.search(
                self.first, lambda unit: unit[0] >= commit_log_offset and unit[1] != BLANK_UNIT_SIZE
            )

        return first_from(end) - first_from(begin)

    def patch(self, queue_offset: int, units: bytes) -> None:
        """Overwrite units inside the queue; its length stays."""
        inside = max(self.end - queue_offset, 0) * CQ_UNIT_SIZE
        self._write_units(queue_offset, memoryview(units)[:inside])
        self._min_for_log = -1

    def cut(self, queue_offset: int) -> None:
        """Drop the unit at the offset and all behind it, on disk too."""
        end = max(self.end, self._written_end)
        if queue_offset >= end:
            return
        self._tail = b""
        queue_offset = max(queue_offset, self.first)
        last_kept = (queue_offset - 1) // self._file_units if queue_offset > self.first else -1
        for number in range((end - 1) // self._file_units, queue_offset // self._file_units - 1, -1):
            path = self._path(number * self._file_units)
            if number == last_kept:
                # Shrinking and growing again leaves zeros behind the cut.
                fd = self._descriptors.get(path)
                os.ftruncate(fd, queue_offset % self._file_units * CQ_UNIT_SIZE)
                os.ftruncate(fd, self._file_units * CQ_UNIT_SIZE)
                self._dirty.add(path)
            else:
                self._delete_file(path)
        self.end = self._written_end = queue_offset
        self._min_for_log = -1

    def cut_from_log(self, commit_log_offset: int) -> None:
        """Drop all units of messages at or behind this place of the log."""
        self.cut(self._border(commit_log_offset))

    def rewind(self, commit_log_offset: int, *, is_durable: bool) -> None:
        """The same for the eye only: the units stay in the files, to be compared with what `write` brings.
        `is_durable`: they were synced before. `settle` ends this state."""
        border = self._border_in_tail(commit_log_offset)
        self.end = self.checked_from = self._border(commit_log_offset) if border is None else border
        self._is_rest_durable = is_durable
        self._min_for_log = -1

    def settle(self) -> None:
        """Drop what was rewound over and not written again."""
        self._tail = b""
        self.cut(self.end)

    def _tail_piece(self, queue_offset: int, count: int) -> bytes:
        """These units, if `take_survey` has left all of them."""
        at = (queue_offset - self._tail_from) * CQ_UNIT_SIZE
        end = at + count * CQ_UNIT_SIZE
        return self._tail[at:end] if at >= 0 and end <= len(self._tail) else b""

    def surveyed_unit(self, queue_offset: int) -> Unit | None:
        """`unit`, without a look at the file if there was one just now."""
        data = self._tail_piece(queue_offset, 1)
        return _as_unit(data) if data else self.unit(queue_offset)

    def _border(self, commit_log_offset: int) -> int:
        return self.search(
            self.first, lambda unit: unit[0] >= commit_log_offset or unit[1] <= 0, near_end=True
        )

    def _border_in_tail(self, commit_log_offset: int) -> int | None:
        """The same from what `take_survey` has left; None when the border lies before it."""
        units = list(CQ_UNIT.iter_unpack(self._tail))
        for number in range(len(units), 0, -1):
            if units[number - 1][0] < commit_log_offset:
                return self._tail_from + number
        return self.first if self._tail_from == self.first else None

    def drop_expired(self, log_min_offset: int) -> list[str]:
        """Delete the files whose messages have all left the log; the last file always stays."""
        dropped = []
        while self.first + self._file_units < self.end:
            unit = self.unit(self.first + self._file_units - 1)
            if unit is None or unit[0] >= log_min_offset:
                break
            path = self._path(self.first)
            self._delete_file(path)
            self.first += self._file_units
            dropped.append(path)
        return dropped

    def _delete_file(self, path: str) -> None:
        self._descriptors.forget(path)
        self._dirty.discard(path)
        if os.path.lexists(path):
            os.unlink(path)

    def delete(self) -> None:
        """Remove the queue from the disk; as a value it is empty afterwards."""
        for name in os.listdir(self.folder) if os.path.isdir(self.folder) else ():
            self._descriptors.forget(f"{self.folder}/{name}")
            self._dirty.discard(f"{self.folder}/{name}")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.first = self.end = self.checked_from = self._written_end = 0
        self._min_for_log = -1


def _as_unit(data: bytes) -> Unit:
    offset, size, tags_code = CQ_UNIT.unpack(data)
    return offset, size, tags_code

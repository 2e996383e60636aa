"""Opening a store: find where the log ends, and make queues and index agree with it.

Everything before the checkpoint's offsets is on disk and trusted as a place to start; from there the log is
read record by record with CRC. Queues are cut at that place and written anew from the records, so whatever a
crash or a damaged queue file left behind it disappears. Only a queue that contradicts the log before that
place is deleted and rebuilt from the log's beginning.

Where the log ends:
- nothing written there (a zero size), or a bad record with nothing whole behind it: that is the tail. It is
  cut, and the bytes behind it are zeroed so that they can never come back to life;
- a bad record behind which whole ones follow: cut as well if those were never known to be on disk (after a
  power loss pages of the unflushed tail survive in any order, and a log is a prefix or nothing); refused,
  naming file and offset, if they were: dropping acknowledged messages is not ours to decide.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.errors import StoreError
from engine.protocol._records_cy import SCAN_BLANK, SCAN_MORE, Row, scan_records
from engine.protocol.hosts import V4_SIZE, V6_SIZE
from engine.protocol.records import MAGIC_V1, MAGIC_V2, decode_record, record_size
from engine.protocol.sys_flags import (
    BORN_HOST_V6,
    STORE_HOST_V6,
    TRANSACTION_MASK,
    TRANSACTION_PREPARED,
    TRANSACTION_ROLLBACK,
)
from engine.store.checkpoint import CheckpointPage
from engine.store.commit_log import CommitLog
from engine.store.consume_queues import ConsumeQueues
from engine.store.dispatch import Dispatcher
from engine.store.index import Index
from engine.store.mapped_files import MappedFiles
from engine.store.queue_offsets import QueueKey

_SLICE = 4096
_CLEAN_SCAN_FILES = 3
_TIME_MARGIN_MS = 3_000
_STORE_TIME: Final = 7
_HEAD_SIZE = 36
_NOTHING = 1 << 63
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class RecoveryPlan:
    scan_from: int
    index_from: int
    known_end: int
    """Whole records before this offset were on disk: none of them may be dropped."""
    known_timestamp: int = 0
    """The same by store time, when another engine's checkpoint is all there is."""


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    end_offset: int
    scan_from: int
    scanned_count: int
    last_store_timestamp: int
    rebuilt_queues: tuple[QueueKey, ...]
    lost_bytes: int
    """Bytes of the tail that were known to be on disk and are damaged: only a failing disk does this."""


class Recovery:
    def __init__(
        self,
        log: CommitLog,
        queues: ConsumeQueues,
        index: Index | None,
        dispatcher: Dispatcher,
        *,
        check_crc: bool,
        on_progress: Progress | None,
    ) -> None:
        self._log = log
        self._queues = queues
        self._index = index
        self._dispatcher = dispatcher
        self._check_crc = check_crc
        self._on_progress = on_progress
        self._suspects: set[QueueKey] = set()
        self._scanned_count = 0
        self._last_store_timestamp = 0

    def run(self, page: CheckpointPage, *, was_closed: bool) -> RecoveryReport:
        self._suspects.update(self._queues.load())
        damaged_index_from = self._index.load() if self._index is not None else None
        plan = self._plan(page, was_closed=was_closed)
        index_from = plan.index_from
        if not was_closed and self._index is not None:
            index_from = self._cut_index(page, index_from)
        if damaged_index_from is not None:
            index_from = min(index_from, damaged_index_from)
        self._rewind_queues(plan.scan_from, is_durable=was_closed)
        if self._index is not None and index_from < plan.scan_from:
            self._feed_index(index_from, plan.scan_from)
        end = self._scan(plan, index_from)
        lost_bytes = self._settle_end(end, plan)
        for queue in self._queues.table.values():
            queue.settle()
        if self._suspects:
            self.rebuild_queues(self._suspects, end)
        return RecoveryReport(
            end,
            plan.scan_from,
            self._scanned_count,
            self._last_store_timestamp,
            tuple(self._suspects),
            lost_bytes,
        )

    # Where to start

    def _plan(self, page: CheckpointPage, *, was_closed: bool) -> RecoveryPlan:
        files = self._log.files
        capacity_end = files.files[-1].end_offset if files.files else 0
        offsets, log_min = page.offsets, files.min_offset
        if offsets is not None:
            if offsets.flushed_offset > capacity_end and offsets.flushed_offset > 0:
                raise StoreError(
                    f"the commit log ends at {capacity_end}, but was on disk up to {offsets.flushed_offset}: "
                    f"segments are missing in {files.directory}",
                    path=str(files.directory),
                )
            scan_from = offsets.scan_from
            index_from = offsets.dispatched_offset if was_closed else offsets.index_from
            if len(self._queues.table) < offsets.queue_count:
                scan_from = log_min
            return RecoveryPlan(max(scan_from, log_min), index_from, offsets.flushed_offset)
        if was_closed:
            number = max(len(files.files) - _CLEAN_SCAN_FILES, 0)
            scan_from = files.files[number].base_offset if files.files and self._queues.table else log_min
            return RecoveryPlan(scan_from, _NOTHING, self._queues_end())
        if page.times is not None:
            times = page.times
            usable = min(times.physic_msg_timestamp, times.logics_msg_timestamp) - _TIME_MARGIN_MS
            scan_from = self._segment_before(usable) if self._queues.table else log_min
            return RecoveryPlan(scan_from, scan_from, 0, times.physic_msg_timestamp)
        return RecoveryPlan(log_min, log_min, self._last_headed_segment())

    def _queues_end(self) -> int:
        """How far the queues say that the log reaches."""
        end = 0
        for queue in self._queues.table.values():
            unit = queue.unit(queue.end - 1)
            if unit is not None and unit[1] < self._log.file_size:
                end = max(end, unit[0] + unit[1])
        return end

    def _segment_before(self, store_timestamp: int) -> int:
        """Start of the newest segment that began no later than this."""
        for file in reversed(self._log.files.files):
            rows, _, _ = self._log.scan(file.base_offset, file.end_offset, 1, check_crc=False)
            if rows and rows[0][_STORE_TIME] <= store_timestamp:
                return file.base_offset
        return self._log.min_offset

    def _last_headed_segment(self) -> int:
        """Without any checkpoint: what lies before the last segment's first record was there before it."""
        for file in reversed(self._log.files.files):
            rows, _, _ = self._log.scan(file.base_offset, file.end_offset, 1, check_crc=self._check_crc)
            if rows:
                return file.base_offset + 1
        return 0

    # Cutting what is derived

    def _cut_index(self, page: CheckpointPage, index_from: int) -> int:
        """Forget entries that may not have reached the disk; the place in the log from which to feed
        again."""
        assert self._index is not None
        if page.offsets is not None:
            self._index.cut(index_from)
            return index_from
        self._index.drop_newer_than(page.times.index_msg_timestamp if page.times is not None else -1)
        return self._index.last_update[1] + 1 if self._index.files else self._log.min_offset

    def _rewind_queues(self, commit_log_offset: int, *, is_durable: bool) -> None:
        for key, queue in self._queues.table.items():
            queue.rewind(commit_log_offset, is_durable=is_durable)
            if queue.end > queue.first and not self._agrees(key, queue.end - 1):
                self._suspects.add(key)

    def _agrees(self, key: QueueKey, queue_offset: int) -> bool:
        """Whether the unit leads to a record of this queue and offset (or to one that retention took)."""
        unit = self._queues.table[key].unit(queue_offset)
        if unit is None:
            return False
        offset, size, _ = unit
        file = self._log.files.at(offset)
        if file is None:
            return offset < self._log.min_offset
        head = file.read(offset - file.base_offset, _HEAD_SIZE)
        return (
            len(head) == _HEAD_SIZE
            and int.from_bytes(head[:4], "big") == size
            and int.from_bytes(head[12:16], "big") == key[1]
            and int.from_bytes(head[20:28], "big") == queue_offset
            and int.from_bytes(head[28:36], "big") == offset
        )

    # Reading the log

    def _scan(self, plan: RecoveryPlan, index_from: int) -> int:
        """Dispatch every whole record; the offset at which the log ends (or is damaged)."""
        offset, log_min = plan.scan_from, self._log.min_offset
        newest: list[Row] = []
        while True:
            file = self._log.files.at(offset)
            if file is None:
                return offset
            rows, next_offset, stop = self._log.scan(
                offset, file.end_offset, _SLICE, check_crc=self._check_crc
            )
            if rows:
                if plan.scan_from > log_min:
                    self._note_gaps(rows)
                self._dispatcher.apply(rows, index_from=index_from)
                self._scanned_count += len(rows)
                self._last_store_timestamp = rows[-1][_STORE_TIME]
                self._tell(next_offset)
                newest = rows
            offset = next_offset
            if stop not in (SCAN_MORE, SCAN_BLANK) and offset < file.end_offset:
                return self._without_torn_record(newest, offset, plan)

    def _without_torn_record(self, rows: list[Row], end: int, plan: RecoveryPlan) -> int:
        """The CRC covers the body only. When a lost page took the end of the last record's properties, its
        last byte is zero where no client writes one: unless known to be on disk, such a record goes too."""
        if not rows or end <= plan.known_end:
            return end
        offset, size = rows[-1][5], rows[-1][1]
        if not _ends_torn(self._log.files, offset, size):
            return end
        queue = self._queues.get(rows[-1][2], rows[-1][3])
        if queue is not None:
            queue.cut_from_log(offset)
        if self._index is not None:
            self._index.cut(offset)
        return offset

    def _note_gaps(self, rows: list[Row]) -> None:
        """A record behind the end of its queue: the queue has lost units that lie before the scan."""
        ends: dict[QueueKey, int] = {}
        for row in rows:
            key, queue_offset = (row[2], row[3]), row[4]
            if row[6] & TRANSACTION_MASK in (TRANSACTION_PREPARED, TRANSACTION_ROLLBACK):
                continue
            end = ends.get(key)
            if end is None:
                queue = self._queues.get_or_make(*key)
                if queue is None:
                    continue
                end = queue.end
            if queue_offset > end:
                self._suspects.add(key)
            ends[key] = queue_offset + 1

    def _tell(self, offset: int) -> None:
        if self._on_progress is not None:
            last = self._log.files.last
            self._on_progress(offset, last.end_offset if last is not None else offset)

    def _feed_index(self, start: int, end: int) -> None:
        """Index entries for the records before the scan, from the segment that holds `start`."""
        file = self._log.files.at(max(start, self._log.min_offset))
        offset = file.base_offset if file is not None else end
        self._walk(offset, end, lambda rows: self._dispatcher.apply(rows, index_from=start, only=set()))

    def rebuild_queues(self, keys: set[QueueKey], end: int) -> None:
        """Delete these queues and write them anew from the whole log."""
        for key in keys:
            queue = self._queues.get_or_make(*key)
            if queue is not None:
                queue.delete()
        self._walk(
            self._log.min_offset,
            end,
            lambda rows: self._dispatcher.apply(rows, index_from=_NOTHING, only=keys),
        )

    def _walk(self, offset: int, end: int, act: Callable[[list[Row]], object]) -> None:
        while offset < end:
            rows, next_offset, _ = self._log.scan(offset, end, _SLICE, check_crc=False)
            if next_offset == offset:
                raise self._damage(offset)
            act(rows)
            offset = next_offset

    # The end

    def _settle_end(self, end: int, plan: RecoveryPlan) -> int:
        files = self._log.files
        file = files.at(end)
        is_plain_end = file is None or (
            file is files.last and _is_zero_head(file.read(end - file.base_offset, 8))
        )
        if not is_plain_end or end < plan.known_end:
            follower = self._record_after(end)
            if follower is not None and (
                follower[0] < plan.known_end or 0 < follower[1] <= plan.known_timestamp
            ):
                raise self._damage(end)
        files.drop_from(end if end % files.file_size else end + 1)
        if file is not None:
            file.zero_from(end - file.base_offset)
        self._sync_segments(plan.scan_from)
        return max(plan.known_end - end, 0) if plan.known_end < _NOTHING else 0

    def _record_after(self, commit_log_offset: int) -> tuple[int, int] | None:
        """Offset and store time of the first whole record behind a damaged place."""
        for file in self._log.files.files:
            if file.end_offset <= commit_log_offset:
                continue
            mapped = self._log.files.mapped(file)
            pos = max(commit_log_offset + 1 - file.base_offset, 0)
            for magic in (MAGIC_V1, MAGIC_V2):
                found = mapped.find(magic.to_bytes(4, "big", signed=True), pos + 4)
                while found >= 0:
                    rows, _, _ = scan_records(mapped, found - 4, file.size, True, 1, file.base_offset)
                    if rows:
                        return file.base_offset + found - 4, rows[0][_STORE_TIME]
                    found = mapped.find(magic.to_bytes(4, "big", signed=True), found + 1)
        return None

    def _damage(self, commit_log_offset: int) -> StoreError:
        file = self._log.files.at(commit_log_offset)
        name = file.path if file is not None else self._log.files.directory
        return StoreError(
            f"the commit log is damaged at offset {commit_log_offset} ({name}) and whole records follow: "
            "restore this file from a copy or from a replica",
            commit_log_offset=commit_log_offset,
            path=str(name),
        )

    def _sync_segments(self, scan_from: int) -> None:
        """What a killed process left in the page cache counts as on disk only after a sync."""
        for file in self._log.files.files:
            if file.end_offset > scan_from:
                _sync(file.path)
        os.fsync(self._log.files.directory_fd)


def _ends_torn(files: MappedFiles, commit_log_offset: int, size: int) -> bool:
    file = files.at(commit_log_offset)
    assert file is not None
    data = file.read(commit_log_offset - file.base_offset, size)
    record = decode_record(data, 0, False)
    bare_size = record_size(
        topic_bytes=len(record.topic.encode()),
        body_bytes=len(record.body),
        properties_bytes=0,
        born_host_bytes=V6_SIZE if record.sys_flag & BORN_HOST_V6 else V4_SIZE,
        store_host_bytes=V6_SIZE if record.sys_flag & STORE_HOST_V6 else V4_SIZE,
    )
    return size > bare_size and data[-1] == 0


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fdatasync(fd)
    finally:
        os.close(fd)


def _is_zero_head(head: bytes) -> bool:
    return not any(head[:4]) or not any(head[4:])

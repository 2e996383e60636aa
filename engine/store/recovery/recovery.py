"""Opening a store: find where the log ends, and make queues and index agree with it.

Everything before the checkpoint's offsets is on disk and trusted as a place to start; from there the log is
read record by record with CRC. Queues are cut at that place and written anew from the records, so whatever a
crash or a damaged queue file left behind it disappears. Only a queue that contradicts the log before that
place is deleted and rebuilt from the log's beginning. Damaged records that were on disk are passed over: the
units that lead to them stay, or lead to the damaged part (`queue_repair.gap_unit`). A disk without room for
units or index entries ends the writing, not the recovery: the rest is dispatched when there is room, as it is
while the broker runs.

Where the log ends, and whether damage is a torn tail or a reason to refuse, is decided in `log_end`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from engine.errors import StoreError
from engine.protocol._records_cy import SCAN_BLANK, SCAN_MORE, Derived, Newest, QueueRun
from engine.protocol.layouts.checkpoints import CheckpointPage
from engine.protocol.layouts.store_files import CQ_UNIT_SIZE
from engine.store.flushing.file_sync import PASSING
from engine.store.index.index import Index
from engine.store.log.commit_log import CommitLog
from engine.store.log.log_end import (
    damage_at,
    ends_torn,
    flushed_record_after,
    record_after,
    settle_end,
    sync_segments,
)
from engine.store.queues.consume_queues import ConsumeQueues
from engine.store.queues.dispatch import Dispatcher
from engine.store.queues.queue_repair import agrees
from engine.store.results import QueueKey

_SLICE = 4096
_CLEAN_SCAN_FILES = 3
_TIME_MARGIN_MS = 3_000
_STORE_TIME: Final = 7
_NOTHING = (1 << 63) - 1
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
    dispatched_offset: int
    """Queues and index are complete up to here: the log's end, unless the disk is full."""
    lost_bytes: int
    """Bytes of the tail that were known to be on disk and are damaged: only a failing disk does this."""
    damaged: tuple[tuple[int, int], ...] = ()
    """Parts [start, end) of the log that hold no whole record, and behind which whole ones follow."""


class Recovery:
    def __init__(
        self,
        log: CommitLog,
        queues: ConsumeQueues,
        index: Index | None,
        dispatcher: Dispatcher,
        *,
        check_crc: bool,
        is_strict: bool,
        on_progress: Progress | None,
    ) -> None:
        self._log = log
        self._queues = queues
        self._index = index
        self._dispatcher = dispatcher
        self._check_crc = check_crc
        self._is_strict = is_strict
        self._on_progress = on_progress
        self._suspects: set[QueueKey] = set()
        self._scanned_count = 0
        self._last_store_timestamp = 0
        self._halted_at: int | None = None
        self.undispatched: dict[QueueKey, int] = {}
        """The ends of queues whose last units found no room."""

    def run(self, page: CheckpointPage, *, was_closed: bool) -> RecoveryReport:
        self._suspects.update(self._queues.load())
        damaged_index_from = None
        if self._index is not None:
            damaged_index_from = self._index.load(self._log.min_offset, was_closed=was_closed)
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
        settle_end(self._log.files, end, plan.known_end, plan.known_timestamp)
        sync_segments(self._log.files, plan.scan_from)
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
            end if self._halted_at is None else self._halted_at,
            max(plan.known_end - end, 0),
            tuple(self._dispatcher.gaps),
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
            if queue.end > queue.first:
                last = queue.end - 1
                if not agrees(self._log, queue, last, queue.surveyed_unit(last)):
                    self._suspects.add(key)

    # Reading the log

    def _scan(self, plan: RecoveryPlan, index_from: int) -> int:
        """Dispatch every whole record; the offset at which the log ends (or is damaged)."""
        offset, log_min = plan.scan_from, self._log.min_offset
        newest: Newest | None = None
        while True:
            file = self._log.files.at(offset)
            if file is None:
                return offset
            derived = self._dispatcher.derive(
                offset, file.end_offset, _SLICE, check_crc=self._check_crc, index_from=index_from
            )
            if derived.newest is not None:
                if plan.scan_from > log_min and self._halted_at is None:
                    self._note_gaps(derived.runs)
                self._apply(derived, offset)
                self._scanned_count += derived.count
                self._last_store_timestamp = derived.newest.store_timestamp
                self._tell(derived.next)
                newest = derived.newest
            offset = derived.next
            if derived.stop not in (SCAN_MORE, SCAN_BLANK) and offset < file.end_offset:
                follower = self._follower(offset, plan)
                if follower is None:
                    return self._without_torn_record(newest, offset, plan)
                self._pass_over(offset, follower)
                offset = follower

    def _follower(self, offset: int, plan: RecoveryPlan) -> int | None:
        """The whole record at which the log goes on behind damage, if it may."""
        if self._is_strict:
            return None
        return flushed_record_after(self._log.files, offset, plan.known_end, plan.known_timestamp)

    def _pass_over(self, start: int, end: int) -> None:
        """The units that lead into [start, end) are believed: the records cannot contradict them."""
        self._dispatcher.note_gap(start, end)
        for queue in self._queues.table.values():
            queue.keep_units(start, end)

    def _apply(self, derived: Derived, offset: int) -> None:
        if self._halted_at is None:
            try:
                self._dispatcher.apply(derived, awaited=())
                return
            except OSError as error:
                if error.errno not in PASSING:
                    raise
            self._halted_at = offset
            if self._index is not None:
                self._index.cut(offset)
        for topic, queue_id, queue_offset, units in derived.runs:
            self.undispatched[topic, queue_id] = queue_offset + len(units) // CQ_UNIT_SIZE

    def _without_torn_record(self, newest: Newest | None, end: int, plan: RecoveryPlan) -> int:
        """The CRC covers the body only. When a lost page took the end of the last record's properties, its
        last byte is zero where no client writes one: unless known to be on disk, such a record goes too."""
        if newest is None or end <= plan.known_end:
            return end
        offset = newest.commit_log_offset
        if not ends_torn(self._log.files, offset, newest.size):
            return end
        queue = self._queues.get(newest.topic, newest.queue_id)
        if queue is not None:
            queue.cut_from_log(offset)
        if self._index is not None:
            self._index.cut(offset)
        if self._halted_at is not None:
            self.undispatched[newest.topic, newest.queue_id] -= 1
        return offset

    def _note_gaps(self, runs: list[QueueRun]) -> None:
        """A record behind the end of its queue: the queue has lost units that lie before the scan."""
        ends: dict[QueueKey, int] = {}
        for topic, queue_id, queue_offset, units in runs:
            key = topic, queue_id
            end = ends.get(key)
            if end is None:
                queue = self._queues.get_or_make(*key)
                if queue is None:
                    continue
                end = queue.end
            # Behind damage the missing units are those of damaged records (`Dispatcher.apply`).
            if queue_offset > end and not self._dispatcher.gaps:
                self._suspects.add(key)
            ends[key] = queue_offset + len(units) // CQ_UNIT_SIZE

    def _tell(self, offset: int) -> None:
        if self._on_progress is not None:
            last = self._log.files.last
            self._on_progress(offset, last.end_offset if last is not None else offset)

    def _feed_index(self, start: int, end: int) -> None:
        """Index entries for the records before the scan, from the segment that holds `start`."""
        file = self._log.files.at(max(start, self._log.min_offset))
        offset = file.base_offset if file is not None else end
        self._walk(offset, end, index_from=start, only=set())

    def rebuild_queues(self, keys: set[QueueKey], end: int) -> None:
        """Delete these queues and write them anew from the whole log."""
        for key in keys:
            queue = self._queues.get_or_make(*key)
            if queue is not None:
                queue.delete()
        self._walk(self._log.min_offset, end, index_from=_NOTHING, only=keys)

    def _walk(self, offset: int, end: int, *, index_from: int, only: set[QueueKey]) -> None:
        while offset < end:
            derived = self._dispatcher.derive(offset, end, _SLICE, index_from=index_from, only=only)
            self._dispatcher.apply(derived, awaited=())
            if derived.next == offset:
                if self._is_strict:
                    raise damage_at(self._log.files, offset)
                follower = record_after(self._log.files, offset, end)
                self._dispatcher.note_gap(offset, end if follower is None else follower[0])
                offset = end if follower is None else follower[0]
            else:
                offset = derived.next

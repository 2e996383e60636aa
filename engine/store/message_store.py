"""The store as the broker sees it: put, dispatch, get, query, flush, expire, close. No logic of its own.

Synchronous, one thread: only `FlushPlan.run`, `QueueFlushPlan.run`, `prepare_next_segment` and `read_cold`
may run in others. Time is an argument. The order of a message's life: `put` (in the log),
`plan_flush`/`finish_flush` (on disk), `dispatch` (in its queue, readable), `get`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain

from engine.errors import StoreError
from engine.protocol._batches_cy import Batch
from engine.protocol.layouts.store_files import CQ_UNIT
from engine.protocol.records import Record
from engine.store.flushing.flush import PASSING, FlushPlan, LogFlush, QueueFlush, QueueFlushPlan
from engine.store.index.index import Index
from engine.store.index.key_search import KeySearch
from engine.store.log.gate import Gate
from engine.store.log.log_front import LogFront
from engine.store.log.open_log import open_log
from engine.store.log.read_ahead import ReadAhead
from engine.store.log.replica_log import ReplicaLog
from engine.store.log.write_refusals import WriteRefusals
from engine.store.log.writer import Writer
from engine.store.options import StoreOptions
from engine.store.queues.consume_queues import ConsumeQueues
from engine.store.queues.dispatch import Dispatcher
from engine.store.queues.queue_offsets import QueueKey, QueueOffsets
from engine.store.queues.queue_repair import QueueRepair
from engine.store.reading.queries import Queries
from engine.store.reading.reader import Matches, Reader
from engine.store.reading.record_reads import Place, RecordReads, plan_record_reads
from engine.store.reading.store_times import StoreTimes, plan_store_times
from engine.store.reading.visible_reads import get_visible
from engine.store.recovery.checkpoint import read_checkpoint
from engine.store.recovery.record_repair import RecordRepair
from engine.store.recovery.recovery import Progress, Recovery, RecoveryReport
from engine.store.recovery.store_folder import StoreFolder
from engine.store.recovery.store_history import StoreLife
from engine.store.results import (
    Arrival,
    ColdBody,
    ColdRanges,
    GetResult,
    MessageDraft,
    PutResult,
    QueryResult,
    QueueUnit,
    RecordFilter,
    StoreStats,
)
from engine.store.retention import is_disk_writable

_PREPARE_AT = 0.5


class MessageStore:
    def __init__(self, options: StoreOptions, folder: StoreFolder) -> None:
        self.options = options
        self._folder = folder
        self._stats = StoreStats()
        self._log = open_log(options)
        self._life = StoreLife(options.root, self._log.files)
        self._read_ahead = ReadAhead(self._log, options.pretouch_bytes)
        self._gate = Gate(self._log, waits_for_flush=options.is_sync_flush)
        self._queues = ConsumeQueues(
            options.consume_queue_path, options.mapped_file_size_consume_queue, options.max_open_queue_files
        )
        self._index = (
            Index(options.index_path, options.max_hash_slot_num, options.max_index_num)
            if options.message_index_enable
            else None
        )
        self._dispatcher = Dispatcher(
            self._log,
            self._gate,
            self._queues,
            self._index,
            self._stats,
            delay_level_ms=options.delay_level_ms,
            verify_on_open_bytes=options.verify_on_open_bytes,
        )
        self._offsets = QueueOffsets()
        self._writer = Writer(
            self._log,
            self._offsets,
            self._stats,
            store_host=options.store_host,
            max_message_size=options.max_message_size,
        )
        self.put_plain = self._writer.put_plain
        repair = QueueRepair(self._log, self._queues, self._dispatcher)
        self._reader = Reader(self._log, self._queues, repair, options.reads, self._stats)
        self.repairs = self._new_repairs(repair)
        self._queries = Queries(self._log, self._gate, self._index)
        self._log_flush = LogFlush(
            self._log,
            self._gate,
            least_pages=options.flush_commit_log_least_pages,
            thorough_interval_ms=options.flush_commit_log_thorough_interval_ms,
        )
        self._queue_flush = QueueFlush(
            folder.checkpoint_path, self._log_flush, self._gate, self._dispatcher, self._queues, self._index
        )
        self.replica = ReplicaLog(
            self._log,
            self._gate,
            self._dispatcher,
            is_sync_flush=options.is_sync_flush,
            hot_bytes=options.reads.hot_window_bytes,
        )
        self.front = self._new_front()
        self.is_fenced = False
        self._refusals = WriteRefusals()
        self.recovery: RecoveryReport | None = None
        self.missing: str | None = None
        """In words, what was gone at the open."""

    def _new_front(self) -> LogFront:
        parts = self._log, self._queues, self._index
        front = LogFront(*parts, lambda: min(self.flushed_offset, self.dispatched_offset))
        front.before_start = self._life.note_start
        return front

    def _new_repairs(self, queues: QueueRepair) -> RecordRepair:
        damaged, root = self._reader.damaged, self.options.root
        self._dispatcher.when_damaged = damaged.add
        parts = self._log, self._gate, damaged, queues
        return RecordRepair(*parts, root, lambda: self._dispatcher.offset)

    @classmethod
    def open(cls, options: StoreOptions, now_ms: int, on_progress: Progress | None = None) -> MessageStore:
        """Lock, recover, and be ready for puts. Raises StoreLocked, UnsupportedStore or StoreError."""
        folder = StoreFolder(options.root)
        folder.open(options.commit_log_path)
        store = cls(options, folder)
        try:
            store._recover(now_ms, on_progress)
            folder.mark_running()
        except (StoreError, OSError):
            store._release()
            raise
        return store

    def _recover(self, now_ms: int, on_progress: Progress | None) -> None:
        self._log.files.load()
        self.missing = self._life.check(is_strict=self.options.is_strict)
        self._log.next_segment.sweep()
        page = read_checkpoint(self._folder.checkpoint_path, now_ms)
        recovery = self._new_recovery(on_progress)
        report = self.recovery = recovery.run(page, was_closed=self._folder.was_closed)
        self._log.start_at(report.end_offset)
        known = page.times.physic_msg_timestamp if page.offsets is not None and page.times is not None else 0
        self._log.last_store_timestamp = max(report.last_store_timestamp, known)
        self._gate.flushed_offset = report.end_offset
        self._log_flush.store_timestamp = self._log.last_store_timestamp
        self._dispatcher.start_at(report.dispatched_offset, report.scan_from)
        if report.dispatched_offset == report.end_offset:
            self._dispatcher.store_timestamp = self._log.last_store_timestamp
        self._reader.checked_from = report.scan_from
        self._offsets.adopt(chain(self._queues.ends(), recovery.undispatched.items()))
        if page.offsets is None:
            # Before the first put: a store without a checkpoint is then one that lost it, not a young one
            # whose segments a power cut may have brought to the disk in any order.
            self._write_checkpoint()

    def _new_recovery(self, on_progress: Progress | None = None) -> Recovery:
        return Recovery(
            self._log,
            self._queues,
            self._index,
            self._dispatcher,
            check_crc=self.options.check_crc_on_recover,
            is_strict=self.options.is_strict,
            on_progress=on_progress,
        )

    # Writing

    def put(self, draft: MessageDraft, now_ms: int) -> PutResult:
        return self._writer.put(draft, now_ms)

    def put_batch(self, draft: MessageDraft, batch: Batch, now_ms: int) -> PutResult:
        return self._writer.put_batch(draft, batch, now_ms)

    @property
    def refusal(self) -> PutResult | None:
        """Why nothing is taken just now, if it is known before trying."""
        return self._writer.refusal

    def dispatch(self, max_records: int, awaited: Container[QueueKey] | None = None) -> list[Arrival]:
        """Build queue units and index entries for the next readable records; arrivals of `awaited` queues
        (None: of all). Empty also when the disk is full: puts are then refused, and a later call tries
        again. Any other error of the disk fences the store."""
        try:
            arrivals = self._dispatcher.step(max_records, awaited)
        except OSError as error:
            if error.errno not in PASSING:
                self.fence()
            self._note_full(True)
            return []
        self._note_full(False)
        return arrivals

    def _note_full(self, is_full: bool) -> None:
        if self._refusals.is_full != is_full:
            self._refusals.is_full = is_full
            self._writer.refusal = self._refusals.first()

    def take_touched_queues(self) -> set[QueueKey]:
        """The queues that messages came to since it was last asked."""
        touched, self._dispatcher.touched = self._dispatcher.touched, set()
        return touched

    def queue_bounds(self, topics: Iterable[str]) -> list[list[tuple[int, int, int]]]:
        """For each topic: id, lowest offset and end of its queues, those that hold or held a message."""
        return self._queues.bounds(topics, self._log.min_offset)

    def has_undispatched(self) -> bool:
        return self._dispatcher.has_work()

    def needs_next_segment(self) -> bool:
        """Whether `prepare_next_segment` should be run in a thread now."""
        used = self._log.end_offset % self._log.file_size
        return not self._log.next_segment.is_ready and used > self._log.file_size * _PREPARE_AT

    def prepare_next_segment(self) -> bool:
        """Any thread. OSError (no room, no descriptor) leaves the store as it was."""
        return self._log.next_segment.prepare()

    def plan_read_ahead(self) -> Callable[[], None] | None:
        """What to run in a thread now, so that the next puts find the log's pages in memory. Ask often. A
        slave's log is not written through its map."""
        return None if self._refusals.closed_for is not None else self._read_ahead.plan()

    def commit_transient(self, now_ms: int) -> int:
        """With a transient pool, every 200 ms at the latest: what is committed survives the process. The
        new committed offset."""
        self._log.commit()
        return self._log.written_end_offset

    # Reading

    def get(
        self,
        topic: str,
        queue_id: int,
        queue_offset: int,
        max_messages: int,
        max_bytes: int | None = None,
        matches: Matches | None = None,
        wanted: RecordFilter | None = None,
    ) -> GetResult:
        if self._dispatcher.offset <= self._gate.readable_end():
            return self._reader.get(topic, queue_id, queue_offset, max_messages, max_bytes, matches, wanted)
        queue, limit, log_min = self._queues.get(topic, queue_id), self.readable_end(), self._log.min_offset
        place = (topic, queue_id, queue_offset, max_messages, max_bytes, matches, wanted)
        return get_visible(self._reader, queue, limit, log_min, *place)

    def wanted_at(self, topic: str, queue_id: int, queue_offset: int, wanted: RecordFilter) -> bool:
        return self._reader.wanted_at(topic, queue_id, queue_offset, wanted)

    def read_cold(self, cold: ColdRanges) -> ColdBody:
        """Any thread. Empty when the messages were deleted meanwhile; cut in front of a damaged one."""
        return self._reader.read_cold(cold)

    def is_hot(self, topic: str, queue_id: int, queue_offset: int) -> bool:
        queue = self._queues.get(topic, queue_id)
        unit = queue.unit(queue_offset) if queue is not None else None
        return unit is not None and self._log.end_offset - unit[0] <= self.options.reads.hot_window_bytes

    def record_at(self, commit_log_offset: int) -> Record | None:
        return self._queries.record_at(commit_log_offset)

    def raw_record_at(self, commit_log_offset: int, size: int | None = None) -> bytes | None:
        return self._queries.raw_record_at(commit_log_offset, size)

    def plan_record_reads(self, places: Sequence[Place]) -> RecordReads:
        """`run` it in any thread; at once only when it is hot."""
        hot_from = self._log.end_offset - self.options.reads.hot_window_bytes
        return plan_record_reads(self._log, places, max(hot_from, self._reader.checked_from))

    def commits_from(self, commit_log_offset: int) -> Iterator[int]:
        return self._queries.commits_from(commit_log_offset)

    def query(
        self, topic: str, key: str, max_num: int, begin_ms: int, end_ms: int, continuation: str | None = None
    ) -> QueryResult:
        return self.search(topic, key, max_num, begin_ms, end_ms, continuation).run()

    def search(
        self, topic: str, key: str, max_num: int, begin_ms: int, end_ms: int, continuation: str | None = None
    ) -> KeySearch:
        """`query` in two steps: `run` it in any thread."""
        return self._queries.search(topic, key, max_num, begin_ms, end_ms, continuation)

    def plan_record(self, commit_log_offset: int) -> Callable[[], bytes | None]:
        """`raw_record_at` in two steps: call the second in any thread."""
        return self._queries.plan_record(commit_log_offset)

    def min_offset(self, topic: str, queue_id: int) -> int:
        queue = self._queues.get(topic, queue_id)
        return queue.min_offset(self._log.min_offset) if queue is not None else 0

    def max_offset(self, topic: str, queue_id: int) -> int:
        queue = self._queues.get(topic, queue_id)
        return queue.end if queue is not None else 0

    def offset_by_time(self, topic: str, queue_id: int, timestamp_ms: int, upper: bool = False) -> int:
        queue = self._queues.get(topic, queue_id)
        return self._queries.offset_by_time(queue, timestamp_ms, upper=upper) if queue is not None else 0

    def earliest_store_time(self, topic: str, queue_id: int) -> int:
        """Store time of the queue's first message; -1 when it has none."""
        return self.store_time_at(topic, queue_id, self.min_offset(topic, queue_id))

    def store_time_at(self, topic: str, queue_id: int, queue_offset: int) -> int:
        queue = self._queues.get(topic, queue_id)
        found = self._queries.store_time_at(queue, queue_offset) if queue is not None else None
        return -1 if found is None else found

    def plan_store_times(self, places: Sequence[tuple[str, int, int]]) -> StoreTimes:
        """`store_time_at` of many (topic, queue id, queue offset): `run` it in any thread."""
        return plan_store_times(self._queues, self._queries.log_view(), places)

    def queue_units(self, topic: str, queue_id: int, index: int, count: int) -> list[QueueUnit]:
        queue = self._queues.get(topic, queue_id)
        data = queue.read(index, count) if queue is not None else b""
        return [QueueUnit(index + n, *unit) for n, unit in enumerate(CQ_UNIT.iter_unpack(data))]

    def queue_table(self) -> dict[str, list[int]]:
        return self._queues.queue_ids()

    def stats(self) -> StoreStats:
        return self._stats

    # Offsets

    @property
    def commit_log_min_offset(self) -> int:
        return self._log.min_offset

    @property
    def commit_log_max_offset(self) -> int:
        return self._log.end_offset

    @property
    def flushed_offset(self) -> int:
        return self._gate.flushed_offset

    @property
    def dispatched_offset(self) -> int:
        return self._dispatcher.offset

    @property
    def confirmed_offset(self) -> int | None:
        return self._gate.confirmed_offset

    @confirmed_offset.setter
    def confirmed_offset(self, commit_log_offset: int | None) -> None:
        self._gate.confirmed_offset = commit_log_offset

    @property
    def was_closed(self) -> bool:
        """Whether the last owner closed the store, as far as could be seen at open."""
        return self._folder.was_closed

    def readable_end(self) -> int:
        return self._gate.readable_end()

    # Flushing

    def plan_flush(self, now_ms: int, force: bool = False) -> FlushPlan | None:
        if self.is_fenced:
            return None
        return self._log_flush.plan(now_ms, force=force or self.options.is_sync_flush)

    def plan_flush_queues(self, now_ms: int) -> QueueFlushPlan | None:
        return None if self.is_fenced else self._queue_flush.plan()

    def finish_flush(self, plan: FlushPlan | QueueFlushPlan, error: OSError | None) -> None:
        """Success raises the flushed offset (or notes the checkpoint); failure fences the store for good."""
        if isinstance(plan, FlushPlan):
            is_good = self._log_flush.finish(plan, error)
        else:
            is_good = self._queue_flush.finish(plan, error)
            self._life.note()
        self._stats.flush_count += 1
        if not is_good:
            self.fence()

    def fence(self) -> None:
        self.is_fenced = self._refusals.is_fenced = True
        self._writer.refusal = self._refusals.first()

    def _flush_log(self, now_ms: int) -> None:
        plan = self._log_flush.plan(now_ms, force=True)
        if plan is not None:
            plan.run()
            self._log_flush.finish(plan, None)

    def _write_checkpoint(self, *, is_closing: bool = False) -> None:
        plan = self._queue_flush.plan(is_closing=is_closing)
        if plan is not None:
            plan.run()
            self._queue_flush.finish(plan, None)

    # Retention

    def expire(self, now_ms: int, hour: int, disk_usage_ratio: float, manual: bool = False) -> list[str]:
        """Delete what may go, log first; the paths deleted."""
        rules = self.options.retention
        usage = disk_usage_ratio
        start = self.front.plan(rules, now_ms, hour=hour, disk_usage_ratio=usage, manual=manual)
        return list(self.front.delete_to(start, rules, now_ms).paths)

    def is_writable(self, disk_usage_ratio: float) -> bool:
        return not self.is_fenced and is_disk_writable(self.options.retention, disk_usage_ratio)

    def when_queue_made(self, tell: Callable[[str], object]) -> None:
        self._queues.when_made = tell

    def delete_topic_queues(self, topic: str) -> int:
        """Forget a topic: its queues go at once, its records with their segments."""
        self._offsets.forget_topic(topic)
        return self._queues.delete_topic(topic)

    def clean_expired_queues(self) -> list[tuple[str, int]]:
        """Delete the files of queues of which the log holds nothing any more; their offsets go on."""
        return self._queues.delete_dead(self._log.min_offset)

    def rebuild_queue(self, topic: str, queue_id: int) -> None:
        """Write a damaged queue anew from the log. Reads the whole log."""
        self._new_recovery().rebuild_queues({(topic, queue_id)}, self._dispatcher.offset)

    # Replication

    def close_writes(self, reason: str) -> None:
        """Until `open_writes`: puts are refused, only `append_raw` adds to the log."""
        self._refusals.closed_for = reason
        self._writer.refusal = self._refusals.first()

    def open_writes(self) -> None:
        self._refusals.closed_for = None
        self._writer.refusal = self._refusals.first()

    def append_raw(self, data: bytes, commit_log_offset: int) -> bool:
        """Slave: take a master's bytes. False when they do not continue this log."""
        return not self.is_fenced and self.replica.append(data, commit_log_offset)

    def adopt_queue_offsets(self) -> None:
        """A slave becomes master: continue each queue behind its last unit. All must be dispatched."""
        self._offsets.adopt(self._queues.ends())
        self._log.last_store_timestamp = max(self._log.last_store_timestamp, self._dispatcher.store_timestamp)

    def truncate(self, commit_log_offset: int) -> None:
        """Drop the log from this record boundary on, and everything derived from it. No flush may be
        running."""
        if commit_log_offset >= self._log.end_offset:
            return
        self._log.commit()
        for queue in self._queues.table.values():
            queue.cut_from_log(commit_log_offset)
        if self._index is not None:
            self._index.cut(commit_log_offset)
        self._gate.flushed_offset = min(self._gate.flushed_offset, commit_log_offset)
        self._dispatcher.start_at(min(self._dispatcher.offset, commit_log_offset), commit_log_offset)
        # The checkpoint goes first: it must never claim more than the log has.
        self._write_checkpoint()
        self._log.cut(commit_log_offset)
        self._reader.damaged.drop_from(commit_log_offset)
        self._offsets.adopt(self._queues.ends())

    # The end

    def close(self, now_ms: int = 0) -> None:
        """Flush all, write the checkpoint, say that all is well, let go. A fenced store stays marked as
        open."""
        try:
            if not self.is_fenced:
                self._log.commit()
                self._flush_log(now_ms)
                while self._dispatcher.has_work() and self.dispatch(4096):
                    pass
                self._write_checkpoint(is_closing=True)
                self._folder.mark_closed()
        finally:
            self._release()

    def _release(self) -> None:
        self._log.close()
        self._queues.close()
        if self._index is not None:
            self._index.close()
        self._folder.unlock()

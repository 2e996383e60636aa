"""The store: opens, recovers and closes it, and holds its ports, one for each concern.

    log       puts, why they are refused, single records, offsets of the commit log
    queues    pulls, dispatch, bounds and units of consume queues
    search    by key and by time
    flush     what is to be synced, and the outcome
    replica   the log as bytes between members of a group
    growth    the room that the log grows into
    front     where the log starts, and what may be deleted
    repairs   damaged records

Synchronous, one thread; only what a plan's `run` does, `growth.prepare_segment` and `queues.read_cold` may
run in others. Time is an argument. The order of a message's life: `log.put` (in the log), `flush.plan_log`
and `flush.finish` (on disk), `queues.dispatch` (in its queue, readable), `queues.get`.
"""

from __future__ import annotations

from itertools import chain

from engine.errors import StoreError
from engine.store.flushing.flush import StoreFlush
from engine.store.index.index import Index
from engine.store.log.commit_log import CommitLog
from engine.store.log.log_front import LogFront
from engine.store.log.log_growth import LogGrowth
from engine.store.log.message_log import MessageLog
from engine.store.log.replica_log import ReplicaLog
from engine.store.options import StoreOptions
from engine.store.queues.consume_queues import ConsumeQueues
from engine.store.queues.dispatch import Dispatcher
from engine.store.queues.message_queues import MessageQueues
from engine.store.queues.queue_repair import QueueRepair
from engine.store.reading.message_search import MessageSearch
from engine.store.reading.reader import Reader
from engine.store.recovery.checkpoint import read_checkpoint
from engine.store.recovery.damaged_ranges import DamagedRanges
from engine.store.recovery.log_start import LogStart
from engine.store.recovery.record_repair import RecordRepair
from engine.store.recovery.recovery import Progress, Recovery, RecoveryReport
from engine.store.recovery.store_folder import StoreFolder
from engine.store.results import StoreStats


class MessageStore:
    def __init__(self, options: StoreOptions, folder: StoreFolder) -> None:
        self.options = options
        self._folder = folder
        self.stats = StoreStats()
        log = self._commit_log = CommitLog(options)
        self._log_start = LogStart(options.root, log.files)
        table = self._queue_table = ConsumeQueues(
            options.consume_queue_path, options.mapped_file_size_consume_queue, options.max_open_queue_files
        )
        index = self._index = (
            Index(options.index_path, options.max_hash_slot_num, options.max_index_num)
            if options.message_index_enable
            else None
        )
        self.log = MessageLog(
            log, self.stats, store_host=options.store_host, max_message_size=options.max_message_size
        )
        dispatcher = self._dispatcher = Dispatcher(
            log,
            self.log,
            table,
            index,
            self.stats,
            delay_level_ms=options.delay_level_ms,
            verify_on_open_bytes=options.verify_on_open_bytes,
        )
        repair, damaged = QueueRepair(log, table, dispatcher), DamagedRanges()
        dispatcher.when_damaged = damaged.add
        reader = Reader(log, table, dispatcher, repair, damaged, options.reads, self.stats)
        self.queues = MessageQueues(log, table, self.log.queue_offsets, dispatcher, reader)
        self.search = MessageSearch(log, table, index)
        flush = self.flush = StoreFlush(
            log,
            self.log,
            dispatcher,
            table,
            index,
            folder.checkpoint_path,
            self._log_start,
            self.stats,
            options,
        )
        is_sync = options.is_sync_flush
        self.replica = ReplicaLog(
            log, self.log, dispatcher, table, index, flush, damaged, is_sync_flush=is_sync
        )
        self.growth = LogGrowth(log, self.log, options.pretouch_bytes)
        self.front = LogFront(log, table, index, dispatcher, self._log_start, options.retention)
        self.repairs = RecordRepair(log, damaged, repair, dispatcher, options.root)
        self.recovery: RecoveryReport | None = None
        self.missing: str | None = None
        """A text about what was gone at the open."""

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
        log, dispatcher = self._commit_log, self._dispatcher
        log.files.load()
        self.missing = self._log_start.check(is_strict=self.options.is_strict)
        log.next_segment.sweep()
        page = read_checkpoint(self._folder.checkpoint_path, now_ms)
        recovery = Recovery(
            log,
            self._queue_table,
            self._index,
            dispatcher,
            check_crc=self.options.check_crc_on_recover,
            is_strict=self.options.is_strict,
            on_progress=on_progress,
        )
        report = self.recovery = recovery.run(page, was_closed=self._folder.was_closed)
        log.start_at(report.end_offset)
        known = page.times.physic_msg_timestamp if page.offsets is not None and page.times is not None else 0
        log.last_store_timestamp = max(report.last_store_timestamp, known)
        log.flushed_offset = report.end_offset
        self.flush.store_timestamp = log.last_store_timestamp
        dispatcher.start_at(report.dispatched_offset, report.scan_from)
        if report.dispatched_offset == report.end_offset:
            dispatcher.store_timestamp = log.last_store_timestamp
        log.checked_from = report.scan_from
        self.log.queue_offsets.adopt(chain(self._queue_table.ends(), recovery.undispatched.items()))
        if page.offsets is None:
            # Before the first put: a store without a checkpoint is then one that lost it, not a new one
            # whose segments a power cut may have brought to the disk in any order.
            self.flush.write_checkpoint()

    @property
    def was_closed(self) -> bool:
        """Whether the last owner closed the store, as far as could be seen at open."""
        return self._folder.was_closed

    def close(self, now_ms: int = 0) -> None:
        """Flush all, write the checkpoint, mark the store as closed, let go of its files. A fenced store
        stays marked as open."""
        try:
            if not self.log.is_fenced:
                self._commit_log.commit()
                self.flush.flush_log_now(now_ms)
                while self._dispatcher.has_work() and self._dispatcher.dispatch(4096):
                    pass
                self.flush.write_checkpoint(is_closing=True)
                self._folder.mark_closed()
        finally:
            self._release()

    def _release(self) -> None:
        self._commit_log.close()
        self._queue_table.close()
        if self._index is not None:
            self._index.close()
        self._folder.unlock()

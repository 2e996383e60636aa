"""Syncs (`store.flush`): first the log, then what is derived from it, then the checkpoint that says so.

A flush is planned and finished on the writer's thread and run in another one: `plan` says what to sync,
`run` blocks in fdatasync (which releases the interpreter lock; `mmap.flush` would hold it), `finish` takes
note. One sync serves all that wait for it (group commit).

When a sync fails the kernel may already have dropped the dirty pages, so a second try could succeed without
the bytes: the store is fenced for good, and nothing later is acknowledged.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from engine.protocol.layouts.checkpoints import Checkpoint, DurableOffsets
from engine.store.flushing.file_sync import PASSING, FileSync
from engine.store.index.index import Index
from engine.store.index.index_seals import IndexSeal, write_seals
from engine.store.log.commit_log import CommitLog
from engine.store.log.mapped_file import MappedFile
from engine.store.log.message_log import MessageLog
from engine.store.options import StoreOptions
from engine.store.queues.consume_queues import ConsumeQueues
from engine.store.queues.dispatch import Dispatcher
from engine.store.recovery.checkpoint import write_checkpoint
from engine.store.recovery.log_start import LogStart
from engine.store.results import StoreStats

_PAGE_SIZE = 4096


@dataclass(frozen=True, slots=True)
class FlushPlan:
    """Segments to sync so that the log is on disk up to `target_offset`."""

    files: tuple[MappedFile, ...]
    directory_fd: int
    target_offset: int
    store_timestamp: int

    def run(self) -> None:
        for file in self.files:
            os.fdatasync(file.fd)
        if self.directory_fd >= 0:
            os.fsync(self.directory_fd)


@dataclass(frozen=True, slots=True)
class QueueFlushPlan:
    """Queue files, index files and folders to sync, and the checkpoint that is true afterwards."""

    paths: frozenset[str]
    file_sync: FileSync
    checkpoint_path: Path
    times: Checkpoint
    offsets: DurableOffsets
    seals_path: Path | None = None
    seals: tuple[IndexSeal, ...] = ()

    def run(self) -> None:
        self.file_sync.run(self.paths)
        if self.seals_path is not None:
            write_seals(self.seals_path, self.seals)
        write_checkpoint(self.checkpoint_path, self.times, self.offsets)


class StoreFlush:
    """`plan_log` or `plan_queues`, the plan's `run` in a thread, `finish`."""

    def __init__(
        self,
        log: CommitLog,
        messages: MessageLog,
        dispatcher: Dispatcher,
        queues: ConsumeQueues,
        index: Index | None,
        checkpoint_path: Path,
        log_start: LogStart,
        stats: StoreStats,
        options: StoreOptions,
    ) -> None:
        self._log = log
        self._messages = messages
        self._dispatcher = dispatcher
        self._queues = queues
        self._index = index
        self._checkpoint_path = checkpoint_path
        self._log_start = log_start
        self._stats = stats
        self._is_sync = options.is_sync_flush
        self._least_bytes = options.flush_commit_log_least_pages * _PAGE_SIZE
        self._thorough_interval_ms = options.flush_commit_log_thorough_interval_ms
        self._last_ms = 0
        self._is_log_running = self._is_queues_running = False
        self._written: DurableOffsets | None = None
        self._sealed: tuple[IndexSeal, ...] = ()
        self.store_timestamp = 0
        """Store time of the newest record that is on disk."""

    def plan_log(self, now_ms: int, force: bool = False) -> FlushPlan | None:
        """None when there is nothing to do yet, while another plan runs, or when the store is fenced."""
        return None if self._messages.is_fenced else self._plan_log(now_ms, force=force or self._is_sync)

    def _plan_log(self, now_ms: int, *, force: bool) -> FlushPlan | None:
        files, start, end = self._log.files, self._log.flushed_offset, self._log.written_end_offset
        if self._is_log_running or start >= end:
            return None
        is_late = now_ms - self._last_ms >= self._thorough_interval_ms
        if not force and end - start < self._least_bytes and not is_late:
            return None
        self._last_ms = now_ms
        dirty = tuple(file for file in files.files if file.end_offset > start and file.fd >= 0)
        directory_fd = files.directory_fd if files.is_directory_dirty else -1
        files.is_directory_dirty = False
        self._is_log_running = True
        return FlushPlan(dirty, directory_fd, end, self._log.last_store_timestamp)

    def plan_queues(self) -> QueueFlushPlan | None:
        """Everything dirty; None when the last checkpoint is still true, while another plan runs, or when
        the store is fenced."""
        return None if self._messages.is_fenced else self._plan_queues()

    def _plan_queues(self, *, is_closing: bool = False) -> QueueFlushPlan | None:
        offsets = self._offsets()
        is_unchanged = offsets == self._written and not self._queues.dirty
        if self._is_queues_running or (is_unchanged and not is_closing):
            return None
        paths = frozenset(self._queues.dirty)
        self._queues.dirty.clear()
        seals: tuple[IndexSeal, ...] = ()
        if self._index is not None:
            paths |= self._index.take_dirty()
            seals = self._index.seals(is_closing=is_closing)
        self._is_queues_running = True
        seals_path = self._index.seals_path if self._index is not None and seals != self._sealed else None
        return QueueFlushPlan(
            paths, self._queues.file_sync, self._checkpoint_path, self._times(), offsets, seals_path, seals
        )

    def _offsets(self) -> DurableOffsets:
        dispatcher = self._dispatcher
        return DurableOffsets(
            self._log.flushed_offset, dispatcher.offset, dispatcher.verify_from, len(self._queues.table)
        )

    def _times(self) -> Checkpoint:
        # As in RocketMQ a time of the past is always safe: it only makes the next scan start earlier.
        dispatched = self._dispatcher.store_timestamp
        return Checkpoint(
            physic_msg_timestamp=self.store_timestamp,
            logics_msg_timestamp=dispatched,
            index_msg_timestamp=dispatched,
            confirm_offset=self._log.confirmed_offset or 0,
        )

    def finish(self, plan: FlushPlan | QueueFlushPlan, error: OSError | None) -> None:
        """Success raises the flushed offset (or notes the checkpoint); failure fences the store for good."""
        if isinstance(plan, FlushPlan):
            is_good = self._finish_log(plan, error)
        else:
            is_good = self._finish_queues(plan, error)
            self._log_start.note()
        self._stats.flush_count += 1
        if not is_good:
            self._messages.fence()

    def _finish_log(self, plan: FlushPlan, error: OSError | None) -> bool:
        """False means that the store must be fenced."""
        self._is_log_running = False
        if error is not None:
            return False
        self._log.flushed_offset = max(self._log.flushed_offset, plan.target_offset)
        self.store_timestamp = plan.store_timestamp
        for file in plan.files:
            if file.end_offset <= plan.target_offset and file is not self._log.files.last:
                file.close_descriptor()
        return True

    def _finish_queues(self, plan: QueueFlushPlan, error: OSError | None) -> bool:
        """False means that the store must be fenced."""
        self._is_queues_running = False
        if error is None:
            self._written = plan.offsets
            self._sealed = plan.seals
            return True
        self._queues.dirty |= plan.paths
        return error.errno in PASSING

    def commit_transient(self) -> None:
        """With a transient pool, every 200 ms at the latest: what is committed survives the process."""
        self._log.commit()

    def flush_log_now(self, now_ms: int) -> None:
        """Blocks."""
        plan = self._plan_log(now_ms, force=True)
        if plan is not None:
            plan.run()
            self._finish_log(plan, None)

    def write_checkpoint(self, *, is_closing: bool = False) -> None:
        """Sync what is dirty in queues and index, then write the checkpoint. Blocks."""
        plan = self._plan_queues(is_closing=is_closing)
        if plan is not None:
            plan.run()
            self._finish_queues(plan, None)

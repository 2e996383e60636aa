"""Bringing bytes to the disk: first the log, then what is derived from it, then the checkpoint that says so.

A flush is planned and finished on the writer's thread and run in another one: `plan` says what to sync,
`run` blocks in fdatasync (which releases the interpreter lock; `mmap.flush` would hold it), `finish` takes
note. One sync serves all that wait for it (group commit).

When a sync fails the kernel may already have dropped the dirty pages, so a second try could succeed without
the bytes: the store is fenced for good, and nothing later is acknowledged.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from engine.protocol.layouts.checkpoints import Checkpoint
from engine.store.flushing.file_sync import FileSync
from engine.store.index.index import Index
from engine.store.index.index_seals import IndexSeal, write_seals
from engine.store.log.commit_log import CommitLog
from engine.store.log.gate import Gate
from engine.store.log.mapped_file import MappedFile
from engine.store.queues.consume_queues import ConsumeQueues
from engine.store.queues.dispatch import Dispatcher
from engine.store.recovery.checkpoint import DurableOffsets, write_checkpoint

_PAGE_SIZE = 4096
# Out of descriptors, memory or room is no lost write: nothing was dropped, the next round tries again.
PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT)


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


class LogFlush:
    def __init__(self, log: CommitLog, gate: Gate, *, least_pages: int, thorough_interval_ms: int) -> None:
        self._log = log
        self._gate = gate
        self._least_bytes = least_pages * _PAGE_SIZE
        self._thorough_interval_ms = thorough_interval_ms
        self._last_ms = 0
        self._running: FlushPlan | None = None
        self.store_timestamp = 0
        """Store time of the newest record that is on disk."""

    @property
    def is_running(self) -> bool:
        return self._running is not None

    def plan(self, now_ms: int, *, force: bool) -> FlushPlan | None:
        """None when there is nothing to do yet, or while another plan runs."""
        files, start, end = self._log.files, self._gate.flushed_offset, self._log.written_end_offset
        if self._running is not None or start >= end:
            return None
        is_late = now_ms - self._last_ms >= self._thorough_interval_ms
        if not force and end - start < self._least_bytes and not is_late:
            return None
        self._last_ms = now_ms
        dirty = tuple(file for file in files.files if file.end_offset > start and file.fd >= 0)
        directory_fd = files.directory_fd if files.is_directory_dirty else -1
        files.is_directory_dirty = False
        self._running = FlushPlan(dirty, directory_fd, end, self._log.last_store_timestamp)
        return self._running

    def finish(self, plan: FlushPlan, error: OSError | None) -> bool:
        """Take note of the outcome; False means that the store must be fenced."""
        self._running = None
        if error is not None:
            return False
        self._gate.flushed_offset = max(self._gate.flushed_offset, plan.target_offset)
        self.store_timestamp = plan.store_timestamp
        for file in plan.files:
            if file.end_offset <= plan.target_offset and file is not self._log.files.last:
                file.close_descriptor()
        return True


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


class QueueFlush:
    def __init__(
        self,
        checkpoint_path: Path,
        log_flush: LogFlush,
        gate: Gate,
        dispatcher: Dispatcher,
        queues: ConsumeQueues,
        index: Index | None,
    ) -> None:
        self._checkpoint_path = checkpoint_path
        self._log_flush = log_flush
        self._gate = gate
        self._dispatcher = dispatcher
        self._queues = queues
        self._index = index
        self._written: DurableOffsets | None = None
        self._sealed: tuple[IndexSeal, ...] = ()
        self._running = False

    def plan(self, *, is_closing: bool = False) -> QueueFlushPlan | None:
        """Everything dirty; None when the last checkpoint is still true, or while another plan runs."""
        offsets = self._offsets()
        if self._running or (offsets == self._written and not self._queues.dirty and not is_closing):
            return None
        paths = frozenset(self._queues.dirty)
        self._queues.dirty.clear()
        seals: tuple[IndexSeal, ...] = ()
        if self._index is not None:
            paths |= self._index.take_dirty()
            seals = self._index.seals(is_closing=is_closing)
        self._running = True
        seals_path = self._index.seals_path if self._index is not None and seals != self._sealed else None
        return QueueFlushPlan(
            paths, self._queues.file_sync, self._checkpoint_path, self._times(), offsets, seals_path, seals
        )

    def _offsets(self) -> DurableOffsets:
        dispatcher = self._dispatcher
        return DurableOffsets(
            self._gate.flushed_offset, dispatcher.offset, dispatcher.verify_from, len(self._queues.table)
        )

    def _times(self) -> Checkpoint:
        # As in RocketMQ a time of the past is always safe: it only makes the next scan start earlier.
        dispatched = self._dispatcher.store_timestamp
        return Checkpoint(
            physic_msg_timestamp=self._log_flush.store_timestamp,
            logics_msg_timestamp=dispatched,
            index_msg_timestamp=dispatched,
            confirm_offset=self._gate.confirmed_offset or 0,
        )

    def finish(self, plan: QueueFlushPlan, error: OSError | None) -> bool:
        """False means that the store must be fenced."""
        self._running = False
        if error is None:
            self._written = plan.offsets
            self._sealed = plan.seals
            return True
        self._queues.dirty |= plan.paths
        return error.errno in PASSING

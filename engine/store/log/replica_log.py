"""The log as bytes between members of a group (`store.replica`): what a slave is sent, and what it takes.

A stream cuts records anywhere, so a slave's log may end inside one; only whole records are ever dispatched.
Loop thread, except that `read` may run in any thread for what is no longer hot.
"""

from __future__ import annotations

from engine.store.flushing.flush import StoreFlush
from engine.store.index.index import Index
from engine.store.log.commit_log import CommitLog
from engine.store.log.message_log import MessageLog
from engine.store.queues.consume_queues import ConsumeQueues
from engine.store.queues.dispatch import Dispatcher
from engine.store.recovery.damaged_ranges import DamagedRanges

_SCAN_RECORDS = 65_536


class ReplicaLog:
    def __init__(
        self,
        log: CommitLog,
        messages: MessageLog,
        dispatcher: Dispatcher,
        queues: ConsumeQueues,
        index: Index | None,
        flush: StoreFlush,
        damaged: DamagedRanges,
        *,
        is_sync_flush: bool,
    ) -> None:
        self._log = log
        self._messages = messages
        self._dispatcher = dispatcher
        self._queues = queues
        self._index = index
        self._flush = flush
        self._damaged = damaged
        self.is_sync_flush = is_sync_flush
        self.segment_size = log.file_size

    @property
    def confirmed_offset(self) -> int | None:
        """Up to where the members of the group have the log; None: it is not replicated."""
        return self._log.confirmed_offset

    @confirmed_offset.setter
    def confirmed_offset(self, commit_log_offset: int | None) -> None:
        self._log.confirmed_offset = commit_log_offset

    @property
    def durable_end(self) -> int:
        """What survives the crash that the flush mode guards against: this replica's log end."""
        return self._log.flushed_offset if self.is_sync_flush else self._log.written_end_offset

    @property
    def kept_end(self) -> int:
        """What neither a power cut nor another master takes back: on disk here and confirmed. Progress that
        rests on messages behind it must not be noted down."""
        flushed, confirmed = self._log.flushed_offset, self._log.confirmed_offset
        return flushed if confirmed is None else min(flushed, confirmed)

    def read(self, commit_log_offset: int, size: int) -> bytes:
        """Raw bytes of one segment, as far as they are written."""
        return self._log.read(commit_log_offset, min(size, self._log.written_end_offset - commit_log_offset))

    def append(self, data: bytes, commit_log_offset: int) -> bool:
        """Take a master's bytes. False when they do not continue this log, or when the store is fenced; an
        empty log begins anywhere."""
        if self._messages.is_fenced:
            return False
        if self._log.files.last is None and self._log.end_offset == 0:
            self._begin_at(commit_log_offset)
        if commit_log_offset != self._log.end_offset:
            return False
        self._log.write_raw(data)
        return True

    def _begin_at(self, commit_log_offset: int) -> None:
        self._log.start_at(commit_log_offset)
        self._log.flushed_offset = commit_log_offset
        self._dispatcher.start_at(commit_log_offset, commit_log_offset)

    def whole_end(self) -> int:
        """Where the last whole record ends; behind it may lie a piece whose rest the master never sent."""
        offset, end = self._dispatcher.offset, self._log.end_offset
        while offset < end:
            begin = offset
            _, offset, _ = self._log.scan(begin, end, _SCAN_RECORDS, check_crc=False)
            if offset == begin:
                break
        return min(offset, end)

    def ends_in_partial_record(self) -> bool:
        """All is dispatched but the first bytes of a record whose rest has not come."""
        end, dispatched = self._log.end_offset, self._dispatcher.offset
        is_all = dispatched < end == self._log.readable_end()
        return is_all and self._dispatcher.is_partial(dispatched, end)

    def adopt_queue_offsets(self) -> None:
        """A slave becomes master: continue each queue behind its last unit. All must be dispatched."""
        self._messages.queue_offsets.adopt(self._queues.ends())
        self._log.last_store_timestamp = max(self._log.last_store_timestamp, self._dispatcher.store_timestamp)

    def truncate(self, commit_log_offset: int) -> None:
        """Drop the log from this record boundary on, and everything derived from it. No flush may be
        running."""
        log, dispatcher = self._log, self._dispatcher
        if commit_log_offset >= log.end_offset:
            return
        log.commit()
        for queue in self._queues.table.values():
            queue.cut_from_log(commit_log_offset)
        if self._index is not None:
            self._index.cut(commit_log_offset)
        log.flushed_offset = min(log.flushed_offset, commit_log_offset)
        dispatcher.start_at(min(dispatcher.offset, commit_log_offset), commit_log_offset)
        # The checkpoint goes first: it must never claim more than the log has.
        self._flush.write_checkpoint()
        log.cut(commit_log_offset)
        self._damaged.drop_from(commit_log_offset)
        self._messages.queue_offsets.adopt(self._queues.ends())

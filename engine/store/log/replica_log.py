"""The log as bytes between members of a group: what a slave is sent, and what it takes.

A stream cuts records anywhere, so a slave's log may end inside one; only whole records are ever dispatched.
Loop thread, but for `read`, which may run in any for what is no longer hot.
"""

from __future__ import annotations

from engine.store.log.commit_log import CommitLog
from engine.store.log.gate import Gate
from engine.store.queues.dispatch import Dispatcher

_SCAN_RECORDS = 65_536


class ReplicaLog:
    def __init__(
        self, log: CommitLog, gate: Gate, dispatcher: Dispatcher, *, is_sync_flush: bool, hot_bytes: int
    ) -> None:
        self._log = log
        self._gate = gate
        self._dispatcher = dispatcher
        self._is_sync_flush = is_sync_flush
        self._hot_bytes = hot_bytes

    @property
    def durable_end(self) -> int:
        """What survives the crash that the flush mode guards against: this replica's log end."""
        return self._gate.flushed_offset if self._is_sync_flush else self._log.written_end_offset

    @property
    def kept_end(self) -> int:
        """What neither a power cut nor another master takes back: on disk here and confirmed. Progress that
        rests on messages behind it must not be noted down."""
        flushed, confirmed = self._gate.flushed_offset, self._gate.confirmed_offset
        return flushed if confirmed is None else min(flushed, confirmed)

    def is_hot(self, commit_log_offset: int) -> bool:
        return self._log.end_offset - commit_log_offset <= self._hot_bytes

    def read(self, commit_log_offset: int, size: int) -> bytes:
        """Raw bytes of one segment, as far as they are written."""
        return self._log.read(commit_log_offset, min(size, self._log.written_end_offset - commit_log_offset))

    def append(self, data: bytes, commit_log_offset: int) -> bool:
        """Take a master's bytes. False when they do not continue this log; an empty log begins anywhere."""
        if self._log.files.last is None and self._log.end_offset == 0:
            self._begin_at(commit_log_offset)
        if commit_log_offset != self._log.end_offset:
            return False
        self._log.write_raw(data)
        return True

    def _begin_at(self, commit_log_offset: int) -> None:
        self._log.start_at(commit_log_offset)
        self._gate.flushed_offset = commit_log_offset
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
        is_all = dispatched < end == self._gate.readable_end()
        return is_all and self._dispatcher.is_partial(dispatched, end)

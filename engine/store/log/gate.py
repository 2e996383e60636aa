"""The one gate of visibility: nothing else decides what may be read.

A message is readable once it is in the files, on disk when flushing is synchronous, and confirmed by replicas
when the log is replicated. Dispatch follows the log up to here, and everything a consumer can see (queue
lengths, searches, wake-ups) follows dispatch.
"""

from __future__ import annotations

from engine.store.log.commit_log import CommitLog


class Gate:
    def __init__(self, log: CommitLog, *, waits_for_flush: bool) -> None:
        self._log = log
        self._waits_for_flush = waits_for_flush
        self.flushed_offset = 0
        self.confirmed_offset: int | None = None
        """Set by replication; None means that the log is not replicated."""

    def readable_end(self) -> int:
        end = self._log.written_end_offset
        if self._waits_for_flush and self.flushed_offset < end:
            end = self.flushed_offset
        if self.confirmed_offset is not None and self.confirmed_offset < end:
            end = self.confirmed_offset
        return end

"""The room that the log grows into: the next segment, and the pages of this one (`store.growth`).

A segment's blocks are there from the start, its pages are not: the first write to each is a fault in the
writer's thread, which fills as many pages with zeros as the device reads ahead (8 MiB take some 20 ms, during
which nobody is served). So a thread has them brought into memory first. Only advice is given, nothing is
written, so it cannot come too late or do harm. How far it looks follows from how fast the log grows: an idle
broker fills no memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from engine.store.log.commit_log import CommitLog
from engine.store.log.message_log import MessageLog

_LEAST_GROWTH_BYTES = 256 << 10
_TURNS_AHEAD = 4
_PREPARE_AT = 0.5


class LogGrowth:
    def __init__(self, log: CommitLog, messages: MessageLog, max_bytes: int) -> None:
        self._log = log
        self._messages = messages
        self._max_bytes = max_bytes
        self._last_end = 0
        self._reached = 0
        self.prepare_segment = log.next_segment.prepare
        """Any thread. OSError (no room, no descriptor) leaves the store as it was."""

    def needs_segment(self) -> bool:
        """Whether `prepare_segment` should be run in a thread now."""
        used = self._log.end_offset % self._log.file_size
        return not self._log.next_segment.is_ready and used > self._log.file_size * _PREPARE_AT

    def plan_read_ahead(self) -> Callable[[], None] | None:
        """What to run in a thread now, so that the next puts find the log's pages in memory; None while the
        log grows slowly. Ask at regular intervals."""
        # A slave's log, and one with a transient pool, are not written through the map.
        if self._messages.closed_for is not None:
            return None
        end = self._log.end_offset
        grown, self._last_end = end - self._last_end, end
        file = self._log.files.last
        if file is None or self._log.pool is not None or grown < _LEAST_GROWTH_BYTES:
            return None
        start = max(end, self._reached)
        stop = min(end + min(_TURNS_AHEAD * grown, self._max_bytes), file.end_offset)
        if start >= stop or start < file.base_offset:
            return None
        self._reached = stop
        return partial(file.read_ahead, start - file.base_offset, stop - file.base_offset)

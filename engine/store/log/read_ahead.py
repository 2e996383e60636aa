"""Has the pages that the log will grow into brought into memory, in a thread, before the writer needs them.

A segment's blocks are there from the start, its pages are not: the first write to each is a fault in the
writer's thread, which fills as many pages with zeros as the device reads ahead (8 MiB take some 20 ms, during
which nobody is served). Only advice is given, nothing is written, so it cannot come too late or do harm. How
far it looks follows from how fast the log grows: an idle broker fills no memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from engine.store.log.commit_log import CommitLog

_LEAST_GROWTH_BYTES = 256 << 10
_TURNS_AHEAD = 4


class ReadAhead:
    def __init__(self, log: CommitLog, max_bytes: int) -> None:
        self._log = log
        self._max_bytes = max_bytes
        self._last_end = 0
        self._reached = 0

    def plan(self) -> Callable[[], None] | None:
        """What to run in a thread now; None while the log grows slowly. Asked at regular intervals."""
        end = self._log.end_offset
        grown, self._last_end = end - self._last_end, end
        file = self._log.files.last
        # With a transient pool it is not the map that is written to.
        if file is None or self._log.pool is not None or grown < _LEAST_GROWTH_BYTES:
            return None
        start = max(end, self._reached)
        stop = min(end + min(_TURNS_AHEAD * grown, self._max_bytes), file.end_offset)
        if start >= stop or start < file.base_offset:
            return None
        self._reached = stop
        return partial(file.read_ahead, start - file.base_offset, stop - file.base_offset)

"""Gives memory back to the system after an attack, or after any other peak.

Two allocators keep what was freed, because it may be used again:

- The C library: after thousands of connections have held frames and answers, most of a hundred megabytes. It
  is asked to return unused memory (malloc_trim, in a thread; only with glibc on Linux).
- Python keeps thousands of freed tuples, floats and lists in free lists. They are small, but each of them
  keeps a whole arena of a megabyte. A full garbage collection empties the free lists. It runs on the loop's
  thread, so it is left out while so many objects exist that it would take long; what existed at the start is
  frozen and costs nothing.

Both happen at most every few seconds: when connections hold half of what they held at most, and the first
one also when this process holds clearly more than after the last time.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
from collections.abc import Callable
from pathlib import Path

EVERY_S = 2.0
WORTH_BYTES = 16 * 1024 * 1024
PEAK_BYTES = 4 * 1024 * 1024
"""A peak of what connections hold that is worth looking after."""

MOST_SEARCHED = 200_000
"""Objects that a garbage collection may look at: about 20 ms."""

_STATM = Path("/proc/self/statm")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def held_bytes() -> int:
    """Memory of this process that is no file's; 0 where that is not known."""
    try:
        resident, shared = _STATM.read_text().split()[1:3]
    except OSError:
        return 0
    return (int(resident) - int(shared)) * _PAGE_BYTES


class Heap:
    """Call `note` every second or so."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        held: Callable[[], int] = held_bytes,
        trim: Callable[[], object] | None = None,
        empty_free_lists: Callable[[], object] | None = None,
    ) -> None:
        self._loop = loop
        self._held = held
        self._trim = trim or _malloc_trim()
        self._empty_free_lists = empty_free_lists or _empty_free_lists
        self._least_bytes = held()
        self._next_at = 0.0
        self._peak_bytes = 0
        self._trimming: asyncio.Future[object] | None = None

    def note(self, now: float, connections_bytes: int = 0) -> None:
        """What connections hold, about."""
        self._peak_bytes = max(self._peak_bytes, connections_bytes)
        if self._trim is None or now < self._next_at:
            return
        self._next_at = now + EVERY_S
        if self._trimming is not None:
            # What is held right after a trim is in use: the next one is for what comes on top of it.
            self._least_bytes = self._held()
            self._trimming = None
        has_fallen = self._peak_bytes >= PEAK_BYTES and connections_bytes <= self._peak_bytes // 2
        if has_fallen or self._held() > self._least_bytes + WORTH_BYTES:
            self._peak_bytes = connections_bytes
            if has_fallen:
                self._empty_free_lists()
            self._trimming = self._loop.run_in_executor(None, self._trim)


def _empty_free_lists() -> None:
    if len(gc.get_objects(generation=2)) <= MOST_SEARCHED:
        gc.collect()


def _malloc_trim() -> Callable[[], object] | None:
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    return lambda: trim(0)

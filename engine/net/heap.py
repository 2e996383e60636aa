"""Gives memory back to the system after an attack, or after any other peak.

The C library keeps what was freed, because it may be wanted again: after thousands of connections have held
frames and answers, most of a hundred megabytes. So the library is asked to give back what nobody uses, at
most every few seconds: when connections hold half of what they held at most, and when this process holds
clearly more than after the last time (malloc_trim, in a thread; elsewhere than with glibc on Linux nothing is
done).
"""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import Callable
from pathlib import Path

EVERY_S = 5.0
WORTH_BYTES = 16 * 1024 * 1024
PEAK_BYTES = 4 * 1024 * 1024
"""A peak of what connections hold that is worth looking after."""

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
    ) -> None:
        self._loop = loop
        self._held = held
        self._trim = trim or _malloc_trim()
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
            self._trimming = self._loop.run_in_executor(None, self._trim)


def _malloc_trim() -> Callable[[], object] | None:
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    return lambda: trim(0)

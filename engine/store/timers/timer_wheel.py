"""The timer wheel: a file of slots (`layouts.timer_files`), one per second, each the head of a chain.

A slot belongs to the second that it names: whatever it held for another round of the wheel is void. The file
is sparse and made at the first use; a crash may leave slots that are ahead of the timer log or behind it, so
after one the wheel is emptied and filled again from the log. One thread, except for syncs of the file.
"""

from __future__ import annotations

import os
from pathlib import Path

from engine.protocol.layouts.timer_files import (
    WHEEL_FILE_SIZE,
    WHEEL_SLOT_SIZE,
    WheelSlot,
    decode_wheel_slot,
    encode_wheel_slot,
    wheel_position,
)

PRECISION_MS = 1000
NO_UNIT = -1


class TimerWheel:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1

    def open(self) -> None:
        """An existing wheel; a missing one is made by the first `put`."""
        if self.path.exists():
            self._fd = os.open(self.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            os.ftruncate(self._fd, WHEEL_FILE_SIZE)

    def _make(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(self.path, flags, 0o600)
        os.ftruncate(self._fd, WHEEL_FILE_SIZE)

    def empty(self) -> None:
        if self._fd >= 0:
            os.ftruncate(self._fd, 0)
            os.ftruncate(self._fd, WHEEL_FILE_SIZE)

    def slot(self, time_ms: int) -> WheelSlot | None:
        """The slot of this second; None when nothing was put there."""
        if self._fd < 0:
            return None
        data = os.pread(self._fd, WHEEL_SLOT_SIZE, wheel_position(time_ms, PRECISION_MS))
        slot = decode_wheel_slot(data)
        return slot if slot.time == time_ms // PRECISION_MS and slot.num > 0 else None

    def put(self, time_ms: int, place: int) -> None:
        """The unit at `place` of the timer log is the newest of this second."""
        old = self.slot(time_ms)
        first, count = (place, 1) if old is None else (old.first_pos, old.num + 1)
        self.set(time_ms, first, place, count)

    def set(self, time_ms: int, first: int, last: int, count: int) -> None:
        if self._fd < 0:
            self._make()
        slot = WheelSlot(time_ms // PRECISION_MS, first, last, count)
        os.pwrite(self._fd, encode_wheel_slot(slot), wheel_position(time_ms, PRECISION_MS))

    def clear(self, time_ms: int) -> None:
        """The second is over and done with, even if the clock comes by again."""
        if self.slot(time_ms) is not None:
            self.set(time_ms, NO_UNIT, NO_UNIT, 0)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

"""The timer log: one unit of 52 bytes (`layouts.timer_files`) per message put on the wheel.

    timerlog/00000000000000000000    full length from the start, sparse; a blank closes a file

Only ever appended to; a unit names the one before it in its slot. Written with pwrite, so that a full disk is
an error and not the end of the process. Behind the end everything is zeros: `open` cuts what a crash left
behind the last checkpoint, and the timer queue brings it again. One thread, except for `sync`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from engine.durable_file import pwrite_all
from engine.errors import CorruptRecord
from engine.protocol.layouts.store_files import parse_segment_name, segment_name
from engine.protocol.layouts.timer_files import (
    TIMER_LOG_BLANK_SIZE,
    TIMER_LOG_UNIT,
    TIMER_LOG_UNIT_SIZE,
    TimerLogUnit,
    decode_timer_log_unit,
    encode_timer_log_blank,
)

_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_SCAN_UNITS = 4096


class TimerLog:
    def __init__(self, directory: Path, file_size: int) -> None:
        self._directory = directory
        self._file_size = file_size
        self._descriptors: dict[int, int] = {}
        self.end = 0

    def open(self, end: int) -> bool:
        """Go on at `end`: drop everything behind it. False when there was anything, or less than that."""
        self.end = end
        is_exact = True
        for base in self.bases():
            path = self._path(base)
            if base >= end:
                path.unlink()
                is_exact = False
            elif end < base + self._file_size:
                is_exact &= not any(os.pread(self._descriptor(base), TIMER_LOG_UNIT_SIZE, end - base))
                # Shrinking and growing again leaves zeros behind the cut.
                os.truncate(path, end - base)
                os.truncate(path, self._file_size)
        return is_exact

    def bases(self) -> list[int]:
        if not self._directory.is_dir():
            return []
        names = (parse_segment_name(entry.name) for entry in self._directory.iterdir())
        return sorted(base for base in names if base is not None)

    def _path(self, base: int) -> Path:
        return self._directory / segment_name(base)

    def _descriptor(self, base: int) -> int:
        fd = self._descriptors.get(base)
        if fd is None:
            fd = self._descriptors[base] = os.open(self._path(base), _FLAGS)
        return fd

    def _begin_file(self, base: int) -> int:
        self._directory.mkdir(parents=True, exist_ok=True)
        fd = os.open(self._path(base), _FLAGS | os.O_CREAT, 0o600)
        os.ftruncate(fd, self._file_size)
        self._descriptors[base] = fd
        return fd

    def place_next(self) -> int:
        """Where the next unit will lie; closes a file that has no room for it."""
        pos = self.end % self._file_size
        room = self._file_size - pos
        if pos and room < TIMER_LOG_UNIT_SIZE + TIMER_LOG_BLANK_SIZE:
            pwrite_all(self._descriptor(self.end - pos), encode_timer_log_blank(room), pos)
            self.end += room
            pos = 0
        if pos == 0:
            self._begin_file(self.end)
        return self.end

    def append(self, unit: bytes) -> None:
        """At the place that `place_next` gave."""
        pos = self.end % self._file_size
        pwrite_all(self._descriptor(self.end - pos), unit, pos)
        self.end += TIMER_LOG_UNIT_SIZE

    def unit(self, place: int) -> TimerLogUnit | None:
        """None where there is none, or none that can be read."""
        if not 0 <= place < self.end:
            return None
        pos = place % self._file_size
        try:
            data = os.pread(self._descriptor(place - pos), TIMER_LOG_UNIT_SIZE, pos)
            return decode_timer_log_unit(data)
        except (FileNotFoundError, CorruptRecord):
            return None

    def scan(self) -> Iterator[tuple[int, TimerLogUnit]]:
        """All units with their places, oldest first."""
        for base in self.bases():
            pos = 0
            while base + pos < self.end:
                data = os.pread(self._descriptor(base), _SCAN_UNITS * TIMER_LOG_UNIT_SIZE, pos)
                whole = len(data) - len(data) % TIMER_LOG_UNIT_SIZE
                count = 0
                for values in TIMER_LOG_UNIT.iter_unpack(data[:whole]):
                    place = base + pos + count * TIMER_LOG_UNIT_SIZE
                    if values[0] != TIMER_LOG_UNIT_SIZE or place >= self.end:
                        break
                    yield place, TimerLogUnit(*values[1:])
                    count += 1
                if count * TIMER_LOG_UNIT_SIZE < _SCAN_UNITS * TIMER_LOG_UNIT_SIZE:
                    break
                pos += count * TIMER_LOG_UNIT_SIZE

    def drop_before(self, write_time_ms: int) -> list[str]:
        """Delete files all of whose units were written before this time; the last file stays."""
        dropped: list[str] = []
        bases = self.bases()
        for base, following in pairwise(bases):
            first = self.unit(following)
            if first is None or first.write_time_ms >= write_time_ms:
                break
            fd = self._descriptors.pop(base, None)
            if fd is not None:
                os.close(fd)
            self._path(base).unlink()
            dropped.append(str(self._path(base)))
        return dropped

    def files_to_sync(self, since: int) -> list[Path]:
        """Files that hold anything written from this place on, and their folder."""
        paths = [self._path(base) for base in self.bases() if base + self._file_size > since]
        return [*paths, self._directory] if paths else []

    def close(self) -> None:
        for fd in self._descriptors.values():
            os.close(fd)
        self._descriptors.clear()

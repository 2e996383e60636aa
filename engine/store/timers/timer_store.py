"""Wheel and timer log together: messages put under the second of their delivery, and read when it has passed.

    timerwheel · timerlog/… · config/timercheck        (RocketMQ's own files)

timercheck says how much is known to be on disk: the timer log up to FLUSHPOS holds the messages of the timer
queue up to QUEUEOFFSET, and every second before READTIME is delivered, in a log that is on disk too. After a
crash everything behind that is forgotten and done again: the log is cut, the wheel filled from it, the queue
read on from QUEUEOFFSET. Another engine's timercheck does not promise that much (its FLUSHPOS may lie behind
its QUEUEOFFSET): of it only READTIME counts, and the whole queue is read again. Ours is known by a checksum
in the counter of its version. Synchronous, one thread; only `TimerSync.run` may run in another.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

from engine.durable_file import read_durable, write_durable
from engine.errors import CorruptRecord
from engine.protocol.layouts.checkpoints import TimerCheck, decode_timer_check, encode_timer_check
from engine.protocol.layouts.timer_files import TimerLogUnit, encode_timer_log_unit
from engine.store.timers.timer_log import TimerLog
from engine.store.timers.timer_wheel import NO_UNIT, PRECISION_MS, TimerWheel

DEFAULT_LOG_FILE_SIZE = 100 << 20
_MAX_CHAIN = 1 << 31


@dataclass(frozen=True, slots=True)
class TimerSync:
    """Sync the files, then say so in timercheck: in this order, in any thread."""

    paths: tuple[Path, ...]
    check_path: Path
    check: TimerCheck

    def run(self) -> None:
        for path in self.paths:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
        write_durable(self.check_path, encode_timer_check(self.check))


class TimerStore:
    def __init__(self, root: Path, file_size: int = DEFAULT_LOG_FILE_SIZE) -> None:
        self._check_path = root / "config" / "timercheck"
        self._wheel = TimerWheel(root / "timerwheel")
        self._log = TimerLog(root / "timerlog", file_size)
        self._synced = TimerCheck()
        self._candidate: tuple[TimerCheck, int] | None = None
        self.read_time_ms = 0
        """All seconds before this one are delivered."""
        self.queue_offset = 0
        """All messages of the timer queue before this one are on the wheel."""
        self.delivered_before_ms = 0
        """What waited for a second before this one, another engine has delivered."""

    def open(self, now_ms: int, *, was_closed: bool) -> None:
        check, _ = read_durable(self._check_path, _parse)
        if check is not None and check.version_counter != _checksum(check):
            self.delivered_before_ms = check.last_read_time_ms
            check = TimerCheck(last_read_time_ms=check.last_read_time_ms)
        self._synced = check or TimerCheck(last_read_time_ms=now_ms)
        self.read_time_ms = self._synced.last_read_time_ms - self._synced.last_read_time_ms % PRECISION_MS
        self.queue_offset = self._synced.timer_queue_offset
        is_exact = self._log.open(self._synced.timer_log_flush_pos)
        self._wheel.open()
        if not (was_closed and is_exact):
            self._fill_wheel()

    def start_over(self, now_ms: int) -> None:
        """Forget what is on the wheel: the log that it was read from is another's now, and may be cut. The
        queue is read again from its start, and whoever delivers next knows from where on. No sync may run."""
        fresh = TimerCheck(last_read_time_ms=now_ms)
        self._synced = replace(fresh, version_counter=_checksum(fresh))
        # timercheck goes first: it must never claim what the files no longer have.
        write_durable(self._check_path, encode_timer_check(self._synced))
        self._candidate = None
        self.read_time_ms = now_ms - now_ms % PRECISION_MS
        self.queue_offset = self.delivered_before_ms = 0
        self._log.close()
        self._log.open(0)
        self._wheel.empty()

    def follow(self, read_time_ms: int) -> None:
        """A master has delivered every second before this one, and this broker has the log that says so."""
        read_time_ms -= read_time_ms % PRECISION_MS
        self.read_time_ms = self.delivered_before_ms = read_time_ms

    def _fill_wheel(self) -> None:
        self._wheel.empty()
        chains: dict[int, tuple[int, int, int]] = {}
        for place, unit in self._log.scan():
            time_ms = unit.write_time_ms + unit.delay_ms
            if time_ms >= self.read_time_ms:
                first, _, count = chains.get(time_ms, (place, place, 0))
                chains[time_ms] = first, place, count + 1
        for time_ms, (first, last, count) in chains.items():
            self._wheel.set(time_ms, first, last, count)

    def add(
        self,
        time_ms: int,
        magic: int,
        commit_log_offset: int,
        size: int,
        topic_hash: int,
        now_ms: int,
        exact_ms: int = 0,
    ) -> None:
        """Put a message under a second that is not read yet. OSError: it is not there, try again.
        `exact_ms` comes back in the unit's reserved field."""
        slot = self._wheel.slot(time_ms)
        previous = NO_UNIT if slot is None else slot.last_pos
        place = self._log.place_next()
        unit = TimerLogUnit(
            previous, magic, now_ms, time_ms - now_ms, commit_log_offset, size, topic_hash, exact_ms
        )
        self._log.append(encode_timer_log_unit(unit))
        self._wheel.put(time_ms, place)

    def chain(self, time_ms: int) -> Iterator[TimerLogUnit]:
        """The units of a second, newest first."""
        slot = self._wheel.slot(time_ms)
        if slot is None:
            return
        place = slot.last_pos
        for _ in range(min(slot.num, _MAX_CHAIN)):
            unit = self._log.unit(place)
            if unit is None or (unit.write_time_ms + unit.delay_ms) // PRECISION_MS != slot.time:
                return
            yield unit
            place = unit.prev_pos

    def clear(self, time_ms: int) -> None:
        self._wheel.clear(time_ms)

    def count(self, time_ms: int) -> int:
        slot = self._wheel.slot(time_ms)
        return 0 if slot is None else slot.num

    @property
    def check(self) -> TimerCheck:
        """Where all stands now (60)."""
        check = TimerCheck(self.read_time_ms, self._log.end, self.queue_offset, self.queue_offset)
        return replace(check, version_counter=_checksum(check))

    def plan_sync(self, log_end: int, kept_end: int, slack_ms: int = 0) -> TimerSync | None:
        """What may be noted: a state that was taken before a commit log end that is on disk by now."""
        now = self.check
        if self._candidate is None and _differs(now, self._synced, slack_ms):
            self._candidate = now, log_end
        if self._candidate is None or kept_end < self._candidate[1]:
            return None
        (check, _), self._candidate = self._candidate, None
        paths = self._log.files_to_sync(self._synced.timer_log_flush_pos)
        if self._wheel.path.exists():
            paths.append(self._wheel.path)
        return TimerSync(tuple(paths), self._check_path, check)

    def finish_sync(self, sync: TimerSync) -> None:
        self._synced = sync.check

    def drop_before(self, write_time_ms: int) -> list[str]:
        return self._log.drop_before(write_time_ms)

    def close(self) -> None:
        self._log.close()
        self._wheel.close()


def _checksum(check: TimerCheck) -> int:
    numbers = (check.last_read_time_ms, check.timer_log_flush_pos, check.timer_queue_offset)
    return crc32(repr(numbers).encode())


def _differs(now: TimerCheck, synced: TimerCheck, slack_ms: int) -> bool:
    """Time goes on by itself: that alone is worth a sync only now and then."""
    return (
        now.timer_log_flush_pos != synced.timer_log_flush_pos
        or now.timer_queue_offset != synced.timer_queue_offset
        or now.last_read_time_ms - synced.last_read_time_ms > slack_ms
    )


def _parse(data: bytes) -> TimerCheck:
    try:
        return decode_timer_check(data)
    except CorruptRecord as error:
        raise ValueError(error.text) from None

"""What a broker does at intervals: expire clients and locks, clean segments, watch the disk, save offsets,
sample the statistics.

Also keeps the next segment ready. Asyncio tasks that call pure steps; what blocks goes to a thread.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import datetime

from engine.broker.clients.membership_io import Membership
from engine.broker.clients.queue_assignment import QueueLocks
from engine.broker.settings.options import LiveOptions
from engine.broker.stats.broker_stats import TICK_MS, BrokerStats
from engine.broker.stats.put_times import PutTimes, TimedAppends
from engine.broker.storage.disk_room import DiskRoom, DiskSpace
from engine.daemon.running import start_task, stop_tasks
from engine.errors import EngineError
from engine.store.log.log_front import Deletion, LogFront
from engine.store.log.log_growth import LogGrowth
from engine.store.log.message_log import MessageLog
from engine.store.retention import is_disk_writable

log = logging.getLogger(__name__)

SCAN_S = 10.0
_END = object()
_PREPARE_S = 0.2
_FULL_DISK_S = 1.0
"""How often a full disk is checked: sends resume within five seconds after space was freed."""
_MANUAL_ROUNDS = 20
"""How often a deletion requested by an administrator is tried, as in RocketMQ."""


SettleStart = Callable[[Callable[[], int]], Awaitable[int | None]]
"""From the log start that this broker's settings ask for to the one that may be; None: delete nothing."""


@dataclass(eq=False, repr=False)
class Housekeeping:
    log: MessageLog
    growth: LogGrowth
    front: LogFront
    membership: Membership
    locks: QueueLocks
    disk: DiskRoom
    live: LiveOptions
    threads: Executor
    clean_s: float
    now_ms: Callable[[], int]
    save_changed: Callable[[], None]
    settle_start: SettleStart
    _manual_rounds: int = field(default=0, init=False)
    _last_warning: str = field(default="", init=False)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list, init=False)

    def start(self) -> None:
        self._tasks = [
            start_task(self._scan_clients(), "scan clients"),
            start_task(self._clean_forever(), "clean segments"),
            start_task(self._prepare_segments(), "prepare segments"),
            start_task(self._save_forever(), "save offsets and pop orders"),
        ]

    async def stop(self) -> None:
        await stop_tasks(*self._tasks)

    def delete_expired_soon(self) -> None:
        """For an administrator: delete expired segments at any hour."""
        self._manual_rounds = _MANUAL_ROUNDS

    async def _scan_clients(self) -> None:
        while True:
            await asyncio.sleep(SCAN_S)
            now_ms = self.now_ms()
            self.membership.close_expired(now_ms)
            self.locks.expire(now_ms)

    async def _clean_forever(self) -> None:
        while True:
            await self.clean()
            await asyncio.sleep(self.clean_s if self.disk.is_writable else min(self.clean_s, _FULL_DISK_S))

    async def clean(self) -> None:
        loop = asyncio.get_running_loop()
        path = str(self.front.directory)
        self.disk.usage_ratio = (await loop.run_in_executor(self.threads, disk_space, path)).usage_ratio
        now_ms = self.now_ms()
        hour = datetime.fromtimestamp(now_ms / 1000).hour
        is_manual = self._manual_rounds > 0
        self._manual_rounds = max(0, self._manual_rounds - 1)
        await self._delete(now_ms, hour, is_manual=is_manual)
        is_writable = is_disk_writable(self.front.rules, self.disk.usage_ratio)
        self._note_writable(is_writable or self.log.is_fenced)

    async def _delete(self, now_ms: int, hour: int, *, is_manual: bool) -> None:
        front, usage = self.front, self.disk.usage_ratio

        def planned_start() -> int:
            return front.plan(now_ms, hour=hour, disk_usage_ratio=usage, manual=is_manual)

        try:
            start = await self.settle_start(planned_start)
        except (EngineError, OSError) as error:
            self._warn_once(f"nothing is deleted: the new start of the log cannot be written: {error}")
            return
        self._last_warning = ""
        if start is not None:
            self._log_deletion(front.delete_to(start, now_ms))

    def _warn_once(self, text: str) -> None:
        """A full disk is checked every second."""
        if text != self._last_warning:
            log.warning("%s", text)
        self._last_warning = text

    def _log_deletion(self, deletion: Deletion) -> None:
        for path in deletion.paths:
            log.info("deleted %s", path)
        if deletion.unexpired_segments:
            log.warning(
                "deleted %d segments that had not expired, commit-log offsets %d to %d, because the disk is "
                "full here or at this slave's master (cleanFileForciblyEnable=true); %.0f %% are used here",
                deletion.unexpired_segments,
                deletion.unexpired_from,
                deletion.unexpired_to,
                self.disk.usage_ratio * 100,
            )

    def _note_writable(self, is_writable: bool) -> None:
        if is_writable != self.disk.is_writable:
            word = "again" if is_writable else "no more"
            log.warning("the disk is %.0f %% full: messages are taken %s", self.disk.usage_ratio * 100, word)
        self.disk.is_writable = is_writable

    async def _prepare_segments(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_PREPARE_S)
            if read_ahead := self.growth.plan_read_ahead():
                await loop.run_in_executor(self.threads, read_ahead)
            if self.growth.needs_segment():
                try:
                    await loop.run_in_executor(self.threads, self.growth.prepare_segment)
                except OSError as error:
                    log.warning("the next commit-log segment cannot be prepared: %s", error)
                    await asyncio.sleep(min(self.clean_s, _FULL_DISK_S))

    async def _save_forever(self) -> None:
        while True:
            await asyncio.sleep(self.live.flush_consumer_offset_interval / 1000)
            self.save_changed()


@dataclass(eq=False, repr=False)
class Sampling:
    """Every ten seconds: note the counters and begin new put times, one slice per turn of the loop."""

    loop: asyncio.AbstractEventLoop
    stats: BrokerStats
    put_times: PutTimes
    appends: TimedAppends
    now_ms: Callable[[], int]
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)

    def start(self) -> None:
        self._note_counters(self.stats.tick(self.now_ms()))
        self.put_times.tick()
        self.appends.arm()
        self._timer = self.loop.call_later(TICK_MS / 1000, self.start)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _note_counters(self, slices: Iterator[None]) -> None:
        if next(slices, _END) is not _END:
            self.loop.call_soon(self._note_counters, slices)


def disk_space(path: str) -> DiskSpace:
    """What this process may use, as `df` counts it; nothing of a folder that is not there yet. Blocking."""
    try:
        disk = os.statvfs(path)
    except FileNotFoundError:
        return DiskSpace(0, 0, 0.0)
    used = disk.f_blocks - disk.f_bfree
    ratio = used / max(1, used + disk.f_bavail)
    return DiskSpace(disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize, ratio)

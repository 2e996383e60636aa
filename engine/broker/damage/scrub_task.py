"""Checks the whole log in the background, slowly, again and again.

Reads a slice in a thread, then rests as long as the rate asks for, or longer while the loop is late:
consumers come first. One round covers everything that is on disk; the next begins `interval_s` after the
last one did. How far a round is survives a restart:

    config/signalboxScrub.json   {"offset":1048576,"roundStartedMs":…}

After a restart the round continues at the beginning of that segment, which is always a record boundary.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import orjson

from engine.broker.damage.repair_task import RepairTask
from engine.broker.settings.options import LiveOptions
from engine.daemon.running import start_task, stop_tasks
from engine.protocol.layouts.store_files import segment_name
from engine.store.log.message_log import MessageLog
from engine.store.queues.message_queues import MessageQueues
from engine.store.recovery.record_repair import RecordRepair
from engine.store.recovery.scrub import DamagedPart, Scrubbed
from engine.store.results import Damage

log = logging.getLogger(__name__)

SCRUB_FILE = "signalboxScrub.json"
SLICE_BYTES = 256 << 10
_IDLE_S = 1.0
_SAVE_S = 60.0
_BUSY_LAG_MS = 50.0


def rest_s(byte_count: int, bytes_per_second: int, took_s: float) -> float:
    """How long to rest after a slice. Pure."""
    return max(0.0, byte_count / max(bytes_per_second, 1) - took_s)


def is_round_due(now_ms: int, started_ms: int, interval_s: int) -> bool:
    """Also when the clock was set back. Pure."""
    return not 0 <= now_ms - started_ms < interval_s * 1000


@dataclass(eq=False, repr=False)
class ScrubTask:
    log: MessageLog
    queues: MessageQueues
    record_repair: RecordRepair
    repairs: RepairTask
    live: LiveOptions
    threads: Executor
    loop_lag_ms: Callable[[], float]
    save: Callable[[str], None]
    now_ms: Callable[[], int]
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _saved_ms: int = field(default=0, init=False)
    offset: int | None = field(default=None, init=False)
    """Where the round is; None between rounds."""
    round_started_ms: int = field(default=0, init=False)
    byte_count: int = field(default=0, init=False)
    rounds: int = field(default=0, init=False)

    def start(self) -> None:
        self._task = start_task(self._scrub_forever(), "scrub the log")

    async def stop(self) -> None:
        await stop_tasks(self._task)

    def load(self, content: Any) -> None:
        match content:
            case {"offset": int(offset), "roundStartedMs": int(started_ms)}:
                self.round_started_ms = started_ms
                self.offset = self.record_repair.segment_start(offset) if offset >= 0 else None

    def snapshot(self) -> bytes:
        offset = -1 if self.offset is None else self.offset
        return orjson.dumps({"offset": offset, "roundStartedMs": self.round_started_ms})

    async def _scrub_forever(self) -> None:
        while True:
            rate = self.live.signalbox_scrub_bytes_per_second
            if rate == 0 or self.loop_lag_ms() > _BUSY_LAG_MS:
                await asyncio.sleep(_IDLE_S)
                continue
            begun = asyncio.get_running_loop().time()
            try:
                byte_count = await self.step()
            except OSError as error:
                log.warning("the scrub pauses: %s", error)
                byte_count = 0
            took_s = asyncio.get_running_loop().time() - begun
            await asyncio.sleep(rest_s(byte_count, rate, took_s) if byte_count else _IDLE_S)

    async def step(self) -> int:
        """The next slice; how many bytes it had. 0: there is nothing to do now."""
        if self.offset is None and not self._begin_round():
            return 0
        assert self.offset is not None
        start = max(self.offset, self.log.min_offset)
        plan = self.record_repair.plan_scrub(start, SLICE_BYTES)
        if plan is None:
            self._end_round()
            return 0
        found: Scrubbed = await asyncio.get_running_loop().run_in_executor(self.threads, plan.run)
        self.byte_count += found.byte_count
        for part in found.damaged:
            self._report(part)
        self.offset = found.next_offset
        if self.now_ms() - self._saved_ms > _SAVE_S * 1000:
            self._save_progress()
        return found.byte_count

    def _begin_round(self) -> bool:
        now_ms = self.now_ms()
        if not is_round_due(now_ms, self.round_started_ms, self.live.signalbox_scrub_interval_seconds):
            return False
        self.offset, self.round_started_ms = self.log.min_offset, now_ms
        return True

    def _end_round(self) -> None:
        self.offset = None
        self.rounds += 1
        self._save_progress()

    def _save_progress(self) -> None:
        self._saved_ms = self.now_ms()
        self.save(SCRUB_FILE)

    def _report(self, part: DamagedPart) -> None:
        start, size = part.start, part.end - part.start
        message = part.message
        if message is not None:
            units = self.queues.units(*message, 1)
            if not units or (units[0].commit_log_offset, units[0].size) != (start, size):
                message = None
        file = segment_name(self.record_repair.segment_start(start))
        damage = Damage(*(message or ("", -1, -1)), start, size, file)
        self.record_repair.damaged.add(start, part.end)
        record = self.repairs.note(damage)
        if not self.repairs.is_given_up(record):
            self.repairs.begin(record)

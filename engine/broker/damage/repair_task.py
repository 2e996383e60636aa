"""Repairs damaged records in the background: from the bytes of another member, or by finding them sound
again.

A reader of a damaged record asks for its repair and waits under `wait_key` for a bounded time; nothing
here runs on the path of a read. A record that no reachable member has is *given up* for a while, and
tried again every RETRY_S: a member may come back, and an operator may restore the file. A repaired record
is redelivered at once. Loop thread only; files are read and synced in threads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field

from engine.broker.damage.damaged_records import (
    DAMAGE_FILE,
    WAIT_MS,
    DamagedRecord,
    DamagedRecords,
    describe,
    wait_key,
)
from engine.daemon.running import start_task, stop_tasks
from engine.store.log.message_log import MessageLog
from engine.store.recovery.record_repair import LogRange, RecordRepair
from engine.store.results import Damage

log = logging.getLogger(__name__)

RETRY_S = 60.0
ATTEMPT_S = 10.0
"""How long members that do not answer are asked again."""
DELIVERY_WAIT_S = 3.0
"""How long the delivery of delayed messages waits: all other due messages wait with it."""
_PAUSE_S = 1.0
_AT_ONCE = 4
_PER_ROUND = 100

Fetch = Callable[[LogRange], Awaitable[tuple[bytes, bool]]]
"""The bytes that a member has of the range (empty: none has them), and whether all members have answered."""


@dataclass(eq=False, repr=False)
class RepairTask:
    log: MessageLog
    repairs: RecordRepair
    records: DamagedRecords
    threads: Executor
    fetch: Fetch
    save: Callable[[str], None]
    wake: Callable[[Hashable], None]
    redeliver: Callable[[], Awaitable[bool]]
    now_ms: Callable[[], int]
    _running: dict[tuple[int, int], asyncio.Task[None]] = field(default_factory=dict, init=False)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE), init=False)
    _is_look_wanted: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _is_redelivery_wanted: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list, init=False)

    def start(self) -> None:
        for record in self._adopt_known():
            self.begin(record)
        self._tasks = [
            start_task(self._retry_forever(), "repair damaged records"),
            start_task(self._redeliver_forever(), "redeliver repaired records"),
        ]
        # Listed records may have been restored while the broker was down.
        self.look_soon()

    async def stop(self) -> None:
        await stop_tasks(*self._tasks, *self._running.values())

    def look_soon(self) -> None:
        """Listed records may have changed."""
        self._is_look_wanted.set()

    def redeliver_soon(self) -> None:
        """This broker is master (again), or a record was repaired."""
        self._is_redelivery_wanted.set()

    # -- found damage ---------------------------------------------------------------------------------------

    def note(self, damage: Damage) -> DamagedRecord:
        """Add it to the list and, the first time, to the log."""
        record, is_new = self.records.note(damage, self.now_ms())
        if is_new:
            self.save(DAMAGE_FILE)
            log.warning("%s", describe(damage))
        return record

    def _adopt_known(self) -> list[DamagedRecord]:
        """Damage that the store found at its start, or while it copied from a master, and no client has
        read yet."""
        listed = {record.damage.commit_log_offset for record in self.records.broken()}
        repairs = self.repairs
        found = [item for item in repairs.damaged if item[0] not in listed]
        return [self.note(repairs.damage_at(start, end - start)) for start, end in found]

    def is_given_up(self, record: DamagedRecord) -> bool:
        """Whether no member had it at the last attempt, a short while ago."""
        if record.damage.commit_log_offset < 0:
            return True
        return bool(record.tried_ms) and self.now_ms() - record.tried_ms < RETRY_S * 2_000

    def begin(self, record: DamagedRecord) -> asyncio.Task[None]:
        """Try to repair it, once at a time."""
        place = record.damage.commit_log_offset, record.damage.size
        task = self._running.get(place)
        if task is None:
            task = self._running[place] = start_task(
                self._attempt(record), f"repair the record at {place[0]}"
            )
            task.add_done_callback(lambda _: self._ended(place, record.damage))
        return task

    def _ended(self, place: tuple[int, int], damage: Damage) -> None:
        self._running.pop(place, None)
        self.wake(wait_key(damage))

    async def wait(self, damage: Damage, timeout_s: float = WAIT_MS / 1000) -> bool:
        """For tasks that read records: whether to read again."""
        if self.repairs.mend_queue(damage.topic, damage.queue_id, damage.queue_offset):
            return True
        record = self.note(damage)
        if not self.is_given_up(record):
            await asyncio.wait([self.begin(record)], timeout=timeout_s)
        return bool(record.repaired_ms)

    async def wait_for_delivery(self, damage: Damage) -> bool:
        return await self.wait(damage, DELIVERY_WAIT_S)

    # -- the repair -----------------------------------------------------------------------------------------

    async def _attempt(self, record: DamagedRecord) -> None:
        async with self._turns:
            try:
                is_whole = await self._repair(record.damage)
            except OSError as error:
                log.error("the record at commit-log offset %d: %s", record.damage.commit_log_offset, error)
                is_whole = False
        if not is_whole:
            record.tried_ms = self.now_ms()

    async def _repair(self, damage: Damage) -> bool:
        place = self.repairs.locate(damage.commit_log_offset, damage.size)
        if place is None:
            return False
        old = await self._in_thread(place.read)
        if place.accepts(old):
            self._finish(place, "is sound again")
            return True
        self.note(damage)
        self.repairs.damaged.add(place.commit_log_offset, place.commit_log_offset + place.size)
        data = await self._ask(place)
        if not data:
            return False
        await self._in_thread(lambda: self.repairs.keep_aside(place, old))
        sync = self.repairs.write(place, data)
        if sync is None:
            return False
        await self._in_thread(sync)
        self._finish(place, "was repaired from another member")
        return True

    async def _ask(self, place: LogRange) -> bytes:
        """Until a member sends it, or all have answered that they lack it, or the time is up."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + ATTEMPT_S
        while True:
            data, is_final = await self.fetch(place)
            if data or is_final or loop.time() + _PAUSE_S > deadline:
                return data
            await asyncio.sleep(_PAUSE_S)

    def _finish(self, place: LogRange, how: str) -> None:
        self.repairs.repaired(place)
        end = place.commit_log_offset + place.size
        found = self.records.repaired(place.commit_log_offset, end, self.now_ms())
        if found:
            self.save(DAMAGE_FILE)
        if any(record.found_ms for record in found):
            where = place.commit_log_offset, place.file, place.size
            log.warning("the record at commit-log offset %d (%s, %d bytes) %s", *where, how)
        if any(record.is_owed for record in found):
            self.redeliver_soon()

    async def _retry_forever(self) -> None:
        while True:
            await _set_within(self._is_look_wanted, RETRY_S)
            await self.repair_again()

    async def _redeliver_forever(self) -> None:
        is_done = True
        while True:
            await _set_within(self._is_redelivery_wanted, RETRY_S if is_done else _PAUSE_S)
            is_done = await self.redeliver()

    async def repair_again(self) -> None:
        """Another attempt at what was given up."""
        log_min_offset = self.log.min_offset
        self.repairs.damaged.drop_before(log_min_offset)
        if self.records.forget_expired(log_min_offset):
            self.save(DAMAGE_FILE)
        self._adopt_known()
        oldest = sorted(self.records.broken(), key=lambda record: record.tried_ms)
        for record in oldest[:_PER_ROUND]:
            if record.damage.commit_log_offset >= 0:
                await asyncio.wait([self.begin(record)])

    async def _in_thread(self, work: Callable[[], bytes | None]) -> bytes:
        found = await asyncio.get_running_loop().run_in_executor(self.threads, work)
        return found or b""


async def _set_within(event: asyncio.Event, timeout_s: float) -> None:
    """Returns when the event is set, or after that time, and clears it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
    event.clear()

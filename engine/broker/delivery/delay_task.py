"""Delivers delayed messages when their level's time has passed: one task that looks ten times a second.

Never early: a message goes out once the broker's clock has reached its store time plus the level's delay. At
least once: the offset moves after the append, and is saved only as far as the log is on disk. A message that
is damaged when it is due is listed, and delivered once it is whole again (`damaged_deliveries`).

`WaitingMessages` is delay levels and timers together. Stopping has an order: first nothing is delivered any
more, then (once the log is on disk) the progress of deliveries is noted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field

from engine.broker.delivery.delay_levels import DelayOffsets, due_units
from engine.broker.delivery.deliverer_io import Deliverer
from engine.broker.delivery.parked_messages import restored
from engine.broker.delivery.timed_messages import TimerCounts
from engine.broker.delivery.timer_task import TIMER_KEYS, TimerDelivery
from engine.broker.settings.options import BrokerOptions
from engine.daemon.running import start_task, stop_tasks
from engine.protocol.names import SCHEDULE_TOPIC, TIMER_TOPIC
from engine.protocol.records import Record, decode_record
from engine.store.log.message_log import MessageLog
from engine.store.log.replica_log import ReplicaLog
from engine.store.message_store import MessageStore
from engine.store.queues.message_queues import MessageQueues
from engine.store.recovery.record_repair import RecordRepair
from engine.store.results import Damage, QueueUnit
from engine.store.timers.timer_store import TimerStore
from engine.store.timers.timer_wheel import PRECISION_MS

log = logging.getLogger(__name__)

POLL_S = 0.1
_SLICE = 32
_RETRY_MS = 10_000
_PAUSE_S = 1.0


@dataclass(eq=False, repr=False)
class DelayDelivery:
    log: MessageLog
    queues: MessageQueues
    replica: ReplicaLog
    repairs: RecordRepair
    offsets: DelayOffsets
    level_ms: tuple[int, ...]
    deliverer: Deliverer
    flush_interval_s: float
    now_ms: Callable[[], int]
    save: Callable[[], None]
    _heads: dict[int, tuple[int, int]] = field(default_factory=dict, init=False)
    """By level: queue offset of its first waiting message, and when that is due."""
    _tasks: list[asyncio.Task[None]] = field(default_factory=list, init=False)

    def start(self) -> None:
        self._heads.clear()
        self._tasks = [
            start_task(self._deliver_forever(), "deliver delayed messages"),
            start_task(self._save_forever(), "save delay offsets"),
        ]

    async def stop(self) -> None:
        await stop_tasks(*self._tasks)

    def settle(self) -> None:
        """Mark the offsets that may be saved; at shutdown, once the log is on disk, that is all of them."""
        for _ in range(2):
            self.offsets.settle(self.log.max_offset, self.replica.kept_end)

    async def _deliver_forever(self) -> None:
        while True:
            has_more = False
            try:
                for level in range(1, len(self.level_ms) + 1):
                    has_more |= await self.deliver_some(level)
            except OSError as error:
                log.error("delayed messages are paused for %g s: %s", _PAUSE_S, error)
                await asyncio.sleep(_PAUSE_S)
            self.settle()
            await asyncio.sleep(0 if has_more else POLL_S)

    async def _save_forever(self) -> None:
        while True:
            await asyncio.sleep(self.flush_interval_s)
            if self.offsets.is_dirty:
                self.save()

    async def deliver_some(self, level: int) -> bool:
        """Deliver a slice of what is due on this level; returns whether there may be more."""
        offset = self.offsets.get(level)
        end = self.queues.max_offset(SCHEDULE_TOPIC, level - 1)
        now_ms = self.now_ms()
        head_offset, head_due_ms = self._heads.get(level, (-1, None))
        if offset == end or (head_offset == offset and head_due_ms is not None and now_ms < head_due_ms):
            return False
        units = self.queues.units(SCHEDULE_TOPIC, level - 1, offset, _SLICE)
        if not units or offset > end:
            return self._correct(level, offset, end)
        known_due_ms = head_due_ms if head_offset == offset else None
        due = due_units(units, known_due_ms, self.level_ms[level - 1], now_ms)
        if due.next_due_ms is not None:
            self._heads[level] = due.next_offset, due.next_due_ms
        if not await self._deliver(level, due.units):
            return level not in self._heads
        self.offsets.set(level, due.next_offset)
        return due.next_due_ms is None

    async def _deliver(self, level: int, units: tuple[QueueUnit, ...]) -> bool:
        """False: retry, at once if the level has no head, else when the head is due."""
        raws = await self.deliverer.read([(unit.commit_log_offset, unit.size) for unit in units])
        for unit, raw in zip(units, raws, strict=True):
            record = None if raw is None else decode_record(raw, 0, False)
            if record is None or (record.topic, record.queue_offset) != (SCHEDULE_TOPIC, unit.queue_offset):
                is_done = await self._skip_damaged(level, unit)
            else:
                is_done = self._deliver_one(level, unit, record)
            if not is_done:
                return False
            self.offsets.set(level, unit.queue_offset + 1)
        return True

    def _deliver_one(self, level: int, unit: QueueUnit, record: Record) -> bool:
        draft = restored(record, ())
        if draft is None:
            log.error("the delayed message at offset %d of level %d names no topic", unit.queue_offset, level)
        elif not self.deliverer.deliver(draft, unit.tags_code, self.now_ms()):
            self._put_off(level, unit)
            return False
        return True

    async def _skip_damaged(self, level: int, unit: QueueUnit) -> bool:
        """The unit does not lead to the message: the unit is wrong, or the message is deleted or damaged."""
        queue_id, place = level - 1, (unit.commit_log_offset, unit.size)
        if self.repairs.mend_queue(SCHEDULE_TOPIC, queue_id, unit.queue_offset):
            self._heads.pop(level, None)
            return False
        damaged = self.deliverer.damaged
        if not damaged.is_in_log(place):
            log.error("the delayed message at offset %d of level %d is gone", unit.queue_offset, level)
            return True
        file = self.repairs.damage_at(*place).file
        damage = Damage(SCHEDULE_TOPIC, queue_id, unit.queue_offset, *place, file)
        if not await damaged.skip_delivery(damage, "delay"):
            self._put_off(level, unit)
            return False
        return True

    def _put_off(self, level: int, unit: QueueUnit) -> None:
        """The store accepts nothing at the moment."""
        self._heads[level] = unit.queue_offset, self.now_ms() + _RETRY_MS

    def _correct(self, level: int, offset: int, end: int) -> bool:
        """The offset is outside the queue: its start was deleted, or a power cut removed its end."""
        start = self.queues.min_offset(SCHEDULE_TOPIC, level - 1)
        corrected = min(max(offset, start), end)
        if corrected == offset:
            return False
        log.warning("delay level %d continues at offset %d instead of %d", level, corrected, offset)
        self.offsets.set(level, corrected)
        return True

    def progress(self) -> dict[str, str]:
        """For the runtime info: delivered offset and end of each level that was ever used."""
        ends = {
            level: self.queues.max_offset(SCHEDULE_TOPIC, level - 1)
            for level in range(1, len(self.level_ms) + 1)
        }
        return {
            f"scheduleMessageOffset_{level}": f"{self.offsets.get(level)},{end}"
            for level, end in ends.items()
            if end or self.offsets.get(level)
        }


class WaitingMessages:
    def __init__(
        self,
        store: MessageStore,
        options: BrokerOptions,
        delays: DelayOffsets,
        counts: TimerCounts,
        deliverer: Deliverer,
        threads: Executor,
        *,
        now_ms: Callable[[], int],
        save_delays: Callable[[], None],
    ) -> None:
        self._store = store
        self.delays = DelayDelivery(
            store.log,
            store.queues,
            store.replica,
            store.repairs,
            delays,
            store.options.delay_level_ms,
            deliverer,
            flush_interval_s=options.flush_delay_offset_interval / 1000,
            now_ms=now_ms,
            save=save_delays,
        )
        self.timer_store = TimerStore(store.options.root, options.mapped_file_size_timer_log)
        self.timer_store.open(now_ms(), was_closed=store.was_closed)
        window_ms = options.timer_roll_window_slot * PRECISION_MS
        self.timers = TimerDelivery(
            store.log,
            store.queues,
            store.search,
            store.replica,
            store.repairs,
            self.timer_store,
            deliverer,
            counts,
            threads,
            window_ms,
            now_ms=now_ms,
        )
        self._has_timers = options.timer_wheel_enable

    def start(self) -> None:
        self.delays.start()
        if self._has_timers:
            self.timers.start()

    async def stop(self) -> None:
        await self.delays.stop()
        await self.timers.stop()

    def start_over(self, now_ms: int) -> None:
        """After a change of master: state that the log does not confirm is dropped."""
        self.delays.offsets.start_over()
        self.timer_store.start_over(now_ms)

    def log_was_cut(self, now_ms: int) -> None:
        """Timers of a truncated part of the log are dropped: other records are at their offsets now."""
        if self.timer_store.queue_offset > self._store.queues.max_offset(TIMER_TOPIC, 0):
            self.start_over(now_ms)

    async def settle(self) -> None:
        """At shutdown, when all deliveries are on disk: save the progress."""
        self.delays.settle()
        try:
            # The first call may finish an older state; the second saves the newest.
            await self.timers.sync()
            await self.timers.sync()
        except OSError as error:
            log.error("timerwheel and timercheck could not be saved: %s", error)

    def close(self) -> None:
        self.timer_store.close()

    def progress(self) -> dict[str, str]:
        timers = self.timers.progress() if self._has_timers else dict.fromkeys(TIMER_KEYS, "0")
        return {**self.delays.progress(), **timers}

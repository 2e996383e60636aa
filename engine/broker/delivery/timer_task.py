"""Puts timed messages on the wheel and delivers them when they are due: one task, in slices.

A second is delivered only after every message stored until then is on the wheel: a recall is accepted only
before its second begins, so it is always seen. Only the messages of the current second are read, however many
wait. At least once: a second is finished when all of it is appended, and saved as such only when the log is
on disk; messages appended before a crash are found through the index. A damaged message goes on the wheel if
its time is readable, and is listed when it is due; without a readable time it is listed at once
(`damaged_deliveries`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import islice

from engine.broker.delivery.deliverer_io import Deliverer
from engine.broker.delivery.parked_messages import draft_of, timed_draft
from engine.broker.delivery.timed_messages import (
    TimerCounts,
    TimerSecond,
    delete_keys,
    exact_time_ms,
    out_time_ms,
    rolled,
    wheel_time,
)
from engine.daemon.running import start_task, stop_tasks
from engine.protocol.hashes import java_hash
from engine.protocol.layouts.timer_files import TIMER_DELETE, TIMER_ROLL, TimerLogUnit
from engine.protocol.names import TIMER_TOPIC
from engine.protocol.properties import Property, encode_properties
from engine.protocol.records import Record, decode_record
from engine.store.log.message_log import MessageLog
from engine.store.log.replica_log import ReplicaLog
from engine.store.queues.message_queues import MessageQueues
from engine.store.reading.message_search import MessageSearch
from engine.store.recovery.record_repair import RecordRepair
from engine.store.results import Damage, QueueUnit
from engine.store.timers.timer_store import TimerStore
from engine.store.timers.timer_wheel import PRECISION_MS

log = logging.getLogger(__name__)

TIMER_KEYS = ("timerReadBehind", "timerOffsetBehind", "timerCongestNum")
POLL_S = 0.05
SYNC_S = 1.0
_DISPATCH_S = 0.005
_SLICE = 32
_CHAIN_SLICE = 1024
_RETRY_S = 1.0
_SECONDS_PER_ROUND = 512
_SYNC_SLACK_MS = 10_000
_KEEP_MS = 86_400_000


@dataclass(eq=False, repr=False)
class TimerDelivery:
    log: MessageLog
    queues: MessageQueues
    search: MessageSearch
    replica: ReplicaLog
    repairs: RecordRepair
    timers: TimerStore
    deliverer: Deliverer
    counts: TimerCounts
    threads: Executor
    window_ms: int
    now_ms: Callable[[], int]
    _seconds: dict[int, TimerSecond] = field(default_factory=dict, init=False)
    """The current second; more than one after the clock was set back."""
    _sync_turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list, init=False)

    def start(self) -> None:
        self._seconds.clear()
        end = self.queues.max_offset(TIMER_TOPIC, 0)
        if self.timers.queue_offset > end:
            log.warning("the timer queue ends at %d, timercheck has offset %d", end, self.timers.queue_offset)
            self.timers.queue_offset = end
        self._begin_early_enough()
        self._tasks = [
            start_task(self._run(), "deliver timed messages"),
            start_task(self._sync_forever(), "sync timers"),
        ]

    def _begin_early_enough(self) -> None:
        """No second may be skipped while a message for it, or its recall, is still in the queue. (That only
        matters if timercheck is lost or older than the log.)"""
        start = max(self.timers.queue_offset, self.queues.min_offset(TIMER_TOPIC, 0))
        first_ms = self.search.store_time_at(TIMER_TOPIC, 0, start)
        if first_ms >= 0:
            earliest_ms = max(
                first_ms - first_ms % PRECISION_MS - PRECISION_MS, self.timers.delivered_before_ms
            )
            self.timers.read_time_ms = min(self.timers.read_time_ms, earliest_ms)

    async def stop(self) -> None:
        """Waits for a running sync: two must not write timercheck at once."""
        async with self._sync_turn:
            await stop_tasks(*self._tasks)

    async def _run(self) -> None:
        while True:
            try:
                await self._round()
                await asyncio.sleep(POLL_S)
            except OSError as error:
                log.error("timed messages are paused for %g s: %s", _RETRY_S, error)
                await asyncio.sleep(_RETRY_S)

    async def _round(self) -> None:
        """Put all new messages on the wheel, then deliver all that is due."""
        while True:
            now_ms, log_end = self.now_ms(), self.log.max_offset
            has_begun = now_ms > self.timers.read_time_ms
            while has_begun and self.queues.dispatched_offset < log_end:
                await asyncio.sleep(_DISPATCH_S)
            end = self.queues.max_offset(TIMER_TOPIC, 0)
            while await self._enqueue_some(end):
                await asyncio.sleep(0)
            if not has_begun or self.timers.queue_offset < end or not await self._pass_seconds(now_ms):
                return

    async def _pass_seconds(self, now_ms: int) -> bool:
        """Deliver what is due until now; returns whether there is more to do at once."""
        for _ in range(_SECONDS_PER_ROUND):
            time_ms = self.timers.read_time_ms
            if now_ms <= time_ms:
                return False
            second = self._seconds.get(time_ms) or self._seconds.setdefault(time_ms, TimerSecond(time_ms))
            await self._take_new(second)
            if not await self._deliver_due(second, now_ms):
                await asyncio.sleep(_RETRY_S)
                return True
            if second.has_waiting or now_ms < time_ms + PRECISION_MS:
                return False
            del self._seconds[time_ms]
            self.timers.clear(time_ms)
            self.timers.read_time_ms += PRECISION_MS
        await asyncio.sleep(0)
        return True

    # -- onto the wheel -------------------------------------------------------------------------------------

    async def _enqueue_some(self, end: int) -> bool:
        """Put a slice of the timer queue, up to `end`, on the wheel; returns whether there may be more."""
        timers = self.timers
        if timers.queue_offset >= end:
            return False
        units = self.queues.units(TIMER_TOPIC, 0, timers.queue_offset, _SLICE)
        if not units:
            start = self.queues.min_offset(TIMER_TOPIC, 0)
            is_behind = start > timers.queue_offset
            timers.queue_offset = max(timers.queue_offset, start)
            return is_behind
        raws = await self.deliverer.read([(unit.commit_log_offset, unit.size) for unit in units])
        for unit, raw in zip(units, raws, strict=True):
            record = None if raw is None else decode_record(raw, 0, False)
            if record is None or (record.topic, record.queue_offset) != (TIMER_TOPIC, unit.queue_offset):
                is_done = await self._enqueue_damaged(unit)
            else:
                is_done = self._enqueue(record)
            if not is_done:
                return False
            timers.queue_offset = unit.queue_offset + 1
        return True

    async def _enqueue_damaged(self, unit: QueueUnit) -> bool:
        """The queue unit is wrong, or the message is deleted, or it is damaged: then its time is readable if
        only the body is damaged."""
        if self.repairs.mend_queue(TIMER_TOPIC, 0, unit.queue_offset):
            return False
        place, damaged = (unit.commit_log_offset, unit.size), self.deliverer.damaged
        if not damaged.is_in_log(place):
            log.error("the timed message at queue offset %d is no longer in the log", unit.queue_offset)
            return True
        record = await damaged.claimed(place)
        if record is not None and (record.topic, record.queue_offset) == (TIMER_TOPIC, unit.queue_offset):
            out_ms = out_time_ms(record.properties)
            if out_ms is not None and out_ms < self.timers.delivered_before_ms:
                return True
            if out_ms is not None and out_ms > self.now_ms():
                return self._enqueue(record)
        file = self.repairs.damage_at(*place).file
        return await damaged.skip_delivery(Damage(TIMER_TOPIC, 0, unit.queue_offset, *place, file), "timer")

    def _enqueue(self, record: Record) -> bool:
        """False: its delivery failed and must be retried."""
        out_ms = out_time_ms(record.properties)
        if out_ms is None:
            log.error("the timer message at log offset %d has no time: dropped", record.commit_log_offset)
            return True
        now_ms = self.now_ms()
        topic = record.properties.get(Property.REAL_TOPIC, "")
        exact_ms = exact_time_ms(record.properties, out_ms, record.store_timestamp)
        time_ms, magic = wheel_time(record.properties, out_ms, now_ms, self.window_ms)
        if time_ms < self.timers.delivered_before_ms:
            return True
        if time_ms < self.timers.read_time_ms and exact_ms <= now_ms:
            # Its second is already over: it is due.
            return bool(magic & TIMER_DELETE) or self._deliver(record, exact_ms, now_ms)
        # Only if the clock was set back: that second is passed again.
        self.timers.read_time_ms = min(self.timers.read_time_ms, time_ms)
        place, size = record.commit_log_offset, record.size
        self.timers.add(time_ms, magic, place, size, java_hash(topic), now_ms, exact_ms)
        if not magic & TIMER_DELETE:
            self.counts.add(topic, 1, now_ms)
        return True

    # -- off the wheel --------------------------------------------------------------------------------------

    async def _take_new(self, second: TimerSecond) -> None:
        """Read the units that were added to this second since the last call."""
        count = self.timers.count(second.time_ms)
        if count <= second.taken:
            return
        units: list[TimerLogUnit] = []
        chain = islice(self.timers.chain(second.time_ms), count - second.taken)
        while some := list(islice(chain, _CHAIN_SLICE)):
            units += some
            await asyncio.sleep(0)
        units.reverse()
        second.recalled |= await self._recalled([unit for unit in units if unit.magic & TIMER_DELETE])
        if len(units) < count - second.taken:
            missing = count - second.taken - len(units)
            log.error("%d timed messages of second %d are not in the timer log", missing, second.time_ms)
        second.take(units, count)

    async def _deliver_due(self, second: TimerSecond, now_ms: int) -> bool:
        """Deliver what is due, in the order of its times. False: the store accepts nothing at the moment."""
        while entries := second.due(now_ms, _SLICE):
            places = [(unit.commit_log_offset, unit.record_size) for _, _, unit in entries]
            try:
                raws = await self.deliverer.read(places)
            except OSError:
                second.put_back(entries)
                raise
            for number, raw in enumerate(raws):
                due_ms, _, unit = entries[number]
                if raw is None and self.deliverer.damaged.is_in_log(places[number]):
                    is_done = await self._skip_damaged(unit)
                else:
                    is_done = self._settle(unit, raw, second.recalled, due_ms)
                if not is_done:
                    second.put_back(entries[number:])
                    return False
            await asyncio.sleep(0)
        return True

    async def _recalled(self, units: list[TimerLogUnit]) -> set[str]:
        """The keys of the recalls of this second."""
        keys: set[str] = set()
        for start in range(0, len(units), _SLICE):
            places = [(unit.commit_log_offset, unit.record_size) for unit in units[start : start + _SLICE]]
            for raw in await self.deliverer.read(places):
                if raw is not None:
                    properties = decode_record(raw, 0, False).properties
                    keys.add(properties.get(Property.TIMER_DEL_UNIQKEY, ""))
        return keys - {""}

    async def _skip_damaged(self, unit: TimerLogUnit) -> bool:
        """List a damaged message; a damaged recall has no effect."""
        if unit.magic & TIMER_DELETE:
            return True
        damage = self.repairs.damage_at(unit.commit_log_offset, unit.record_size)
        return await self.deliverer.damaged.skip_delivery(damage, "timer")

    def _settle(self, unit: TimerLogUnit, raw: bytes | None, recalled: set[str], due_ms: int) -> bool:
        """Deliver, roll or drop one message; False: try again later."""
        record = None if raw is None else decode_record(raw, 0, False)
        if record is None or record.topic != TIMER_TOPIC:
            log.error("the timed message at log offset %d is gone", unit.commit_log_offset)
            return True
        now_ms = self.now_ms()
        if unit.magic & TIMER_ROLL:
            return self._roll(record, due_ms, now_ms)
        if unit.magic & TIMER_DELETE:
            return True
        is_recalled = not recalled.isdisjoint(delete_keys(record.properties))
        if not is_recalled and not self._deliver(record, due_ms, now_ms):
            return False
        self.counts.add(record.properties.get(Property.REAL_TOPIC, ""), -1, now_ms)
        return True

    def _deliver(self, record: Record, due_ms: int, now_ms: int) -> bool:
        draft = timed_draft(record, now_ms)
        if draft is None:
            log.error("the timed message at log offset %d names no topic: dropped", record.commit_log_offset)
            return True
        return self.deliverer.deliver(draft, due_ms, now_ms)

    def _roll(self, record: Record, due_ms: int, now_ms: int) -> bool:
        """At the end of a window: append a new record to the timer queue."""
        properties = encode_properties(dict(rolled(record.properties))).encode()
        draft = draft_of(record, TIMER_TOPIC, 0, properties)
        is_done = self.deliverer.deliver(draft, due_ms, now_ms)
        if is_done and Property.TIMER_DEL_UNIQKEY not in record.properties:
            self.counts.add(record.properties.get(Property.REAL_TOPIC, ""), -1, now_ms)
        return is_done

    # -- files ----------------------------------------------------------------------------------------------

    async def _sync_forever(self) -> None:
        while True:
            await asyncio.sleep(SYNC_S)
            try:
                await self.sync(_SYNC_SLACK_MS)
            except OSError as error:
                log.error("timerwheel and timercheck could not be saved: %s", error)

    async def sync(self, slack_ms: int = 0) -> None:
        sync = self.timers.plan_sync(self.log.max_offset, self.replica.kept_end, slack_ms)
        if sync is None:
            return
        async with self._sync_turn:
            await asyncio.get_running_loop().run_in_executor(self.threads, sync.run)
        self.timers.finish_sync(sync)
        self.timers.drop_before(self.timers.read_time_ms - self.window_ms - _KEEP_MS)

    def progress(self) -> dict[str, str]:
        """For the runtime info: seconds behind, messages not yet on the wheel, messages that wait."""
        behind_ms = self.now_ms() - self.timers.read_time_ms - PRECISION_MS
        end = self.queues.max_offset(TIMER_TOPIC, 0)
        figures = (behind_ms // 1000, end - self.timers.queue_offset, self.counts.total())
        return {key: str(max(0, figure)) for key, figure in zip(TIMER_KEYS, figures, strict=True)}

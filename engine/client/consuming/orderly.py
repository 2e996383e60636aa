"""Consuming one after the other: per queue one call at a time, in the order of the queue.

In a cluster only the holder of the queue's lock works on it; locks are renewed every 20 s. A failure suspends
the queue for a moment and then calls the listener again with the same messages; only a message that failed
more often than `max_reconsume_times` (no limit by default) is put to the dead letters, and only if its broker
takes it. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import time

from engine.client.consuming.consume_rates import ConsumeRates
from engine.client.consuming.listeners import ListenerCalls
from engine.client.consuming.offset_stores import OffsetStore
from engine.client.consuming.queue_locks import QueueLocks
from engine.client.consuming.queue_pulls import QueueWork
from engine.client.consuming.send_backs import TO_DEAD_LETTERS, SendBacks
from engine.client.instance.periodic import Periodic, end_task
from engine.client.messages import ReceivedMessage
from engine.client.options import ConsumerOptions
from engine.errors import EngineError

log = logging.getLogger(__name__)

LOCK_RETRY_S = 3.0


class OrderlyConsuming:
    """`locks=None` and `send_backs=None` mean broadcasting: every consumer has all queues to itself."""

    def __init__(
        self,
        calls: ListenerCalls,
        offsets: OffsetStore,
        locks: QueueLocks | None,
        send_backs: SendBacks | None,
        rates: ConsumeRates,
        options: ConsumerOptions,
    ) -> None:
        self._calls = calls
        self._offsets = offsets
        self._locks = locks
        self._send_backs = send_backs
        self._rates = rates
        self._options = options
        self._slots = asyncio.Semaphore(options.threads)
        self._tasks: dict[QueueWork, asyncio.Task[None]] = {}
        self._calling = 0
        self._is_draining = False
        self._renewal = Periodic("queue locks", options.lock_interval_s, self._renew)

    def start(self) -> None:
        self._renewal.start()

    async def admit(self, work: QueueWork) -> None:
        """The lock first, the offset and the messages then."""
        while self._locks is not None and not work.process.is_locked(_now_ms()):
            if work.queue in await self._locks.lock([work.queue]):
                work.process.locked_at_ms = _now_ms()
            else:
                await asyncio.sleep(LOCK_RETRY_S)
        if work not in self._tasks:
            self._tasks[work] = asyncio.get_running_loop().create_task(self._consume(work))

    def accept(self, work: QueueWork, messages: list[ReceivedMessage]) -> None:
        work.process.add(messages, waiting=True)
        work.arrived.set()

    async def release(self, work: QueueWork) -> None:
        """Wait for the call that runs, then give the lock away: nobody else begins before."""
        work.arrived.set()
        task = self._tasks.pop(work, None)
        if task is not None:
            await asyncio.wait((task,))
        if self._locks is not None:
            await self._locks.unlock([work.queue])

    async def drain(self, timeout_s: float) -> None:
        self._is_draining = True
        deadline = asyncio.get_running_loop().time() + timeout_s
        while self._calling and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        # A call that is still running must not keep its queue from being released.
        await asyncio.gather(*map(end_task, self._tasks.values()))

    async def close(self) -> None:
        await self._renewal.stop()
        await asyncio.gather(*map(end_task, self._tasks.values()))

    # -- inside ---------------------------------------------------------------------------------------------

    async def _renew(self) -> None:
        if self._locks is None:
            return
        works = {work.queue: work for work in self._tasks}
        granted = await self._locks.lock(works)
        for queue, work in works.items():
            if queue in granted:
                work.process.locked_at_ms = _now_ms()
            else:
                log.info("the lock of %s is not ours now", queue)
                work.process.locked_at_ms = None

    async def _consume(self, work: QueueWork) -> None:
        process = work.process
        while not process.is_dropped:
            work.arrived.clear()
            pause_s: float | None
            async with self._slots:
                if self._may_call(work) and (batch := process.take(self._options.consume_batch_size or 1)):
                    is_success = await self._call(batch)
                    if process.is_dropped:
                        return
                    if is_success or await self._gave_up(batch):
                        self._commit(work)
                        continue
                    process.put_back()
                    pause_s = self._options.suspend_ms / 1000.0
                else:
                    pause_s = None if self._may_call(work) else LOCK_RETRY_S
            if pause_s is None:
                await work.arrived.wait()
            else:
                await asyncio.sleep(pause_s)

    def _may_call(self, work: QueueWork) -> bool:
        if self._is_draining or work.process.is_dropped:
            return False
        return self._locks is None or work.process.is_locked(_now_ms())

    async def _call(self, batch: list[ReceivedMessage]) -> bool:
        self._calling += 1
        try:
            outcome = await self._calls.call(batch)
        finally:
            self._calling -= 1
        self._rates.record(batch[0].topic, len(batch), outcome)
        return outcome.is_success

    async def _gave_up(self, batch: list[ReceivedMessage]) -> bool:
        """Whether every message of a failed batch has failed often enough and was taken by its broker."""
        limit = self._options.max_reconsume_times
        for message in batch:
            message.reconsume_times += 1
        if (
            self._send_backs is None
            or limit < 0
            or any(message.reconsume_times <= limit for message in batch)
        ):
            return False
        try:
            for message in batch:
                await self._send_backs.send_back(message, TO_DEAD_LETTERS)
        except EngineError as error:
            log.warning("%s stays, its broker does not take it: %s", batch, error.text)
            return False
        return True

    def _commit(self, work: QueueWork) -> None:
        offset = work.process.commit_taken()
        work.finish([])
        if offset is not None:
            self._offsets.update(work.queue, offset)


def _now_ms() -> float:
    return time.monotonic() * 1000.0

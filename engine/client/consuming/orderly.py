"""Orderly consuming: per queue one call at a time, in the order of the queue.

In a cluster only the holder of the queue's lock consumes it; locks are renewed every 20 s. A failure suspends
the queue for `suspend_ms` and then calls the listener again with the same messages. A message that failed
more often than `max_reconsume_times` (no limit by default) goes to the dead-letter topic, if its broker takes
it. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from itertools import groupby

from engine.client.consuming.consume_service import TO_DEAD_LETTERS, ConsumeService, SendBacks
from engine.client.consuming.consumed_queues import QueueWork
from engine.client.consuming.listeners import ListenerCalls
from engine.client.consuming.offsets import OffsetStore
from engine.client.instance.instance import ClientInstance
from engine.client.instance.periodic import Periodic, end_task
from engine.client.messages import ReceivedMessage
from engine.client.options import ConsumerOptions
from engine.errors import EngineError
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.groups import LockBatchRequestBody, LockBatchResponseBody
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command

log = logging.getLogger(__name__)

LOCK_RETRY_S = 3.0


class QueueLocks:
    """`lock` asks each broker once for all its queues.

    A broker keeps a lock for 60 s; we renew it every 20 s and trust an answer for 30 s, so that two
    consumers never both believe that they hold one.
    """

    def __init__(self, instance: ClientInstance, group: str) -> None:
        self._instance = instance
        self._group = group

    async def lock(self, queues: Iterable[MessageQueue]) -> set[MessageQueue]:
        """The queues that are ours now. A broker that does not answer grants nothing."""
        granted: set[MessageQueue] = set()
        for broker_name, wanted in groupby(sorted(queues, key=_broker_of), _broker_of):
            try:
                answer = await self._call(broker_name, RequestCode.LOCK_BATCH_MQ, wanted)
                granted |= set(LockBatchResponseBody.decode(answer.body).lock_ok_mq_set)
            except EngineError as error:
                log.warning(
                    "broker %s does not lock queues for group %s: %s", broker_name, self._group, error.text
                )
        return granted

    async def unlock(self, queue: MessageQueue) -> None:
        try:
            await self._call(queue.broker_name, RequestCode.UNLOCK_BATCH_MQ, [queue])
        except EngineError as error:
            log.info("the lock of %s is kept until it expires: %s", queue, error.text)

    async def _call(self, broker_name: str, code: RequestCode, queues: Iterable[MessageQueue]) -> Command:
        body = LockBatchRequestBody(self._group, self._instance.client_id, tuple(sorted(queues))).encode()
        return await self._instance.call(self._instance.master_address(broker_name), code, body=body)


def _broker_of(queue: MessageQueue) -> str:
    return queue.broker_name


class OrderlyService(ConsumeService):
    """`locks=None` and `send_backs=None` mean broadcasting: every consumer has all queues to itself."""

    def __init__(
        self,
        calls: ListenerCalls,
        offsets: OffsetStore,
        locks: QueueLocks | None,
        send_backs: SendBacks | None,
        options: ConsumerOptions,
    ) -> None:
        super().__init__(calls, offsets, send_backs, options)
        self._locks = locks
        self._slots = asyncio.Semaphore(options.threads)
        self._tasks: dict[QueueWork, asyncio.Task[None]] = {}
        self._calling = 0
        self._renewal = Periodic("queue locks", options.lock_interval_s, self._renew)

    def start(self) -> None:
        self._renewal.start()

    async def admit(self, work: QueueWork) -> None:
        """The lock must be held before the offset is requested and messages are pulled."""
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
        """Wait for the call that runs, then unlock: no other member begins before."""
        work.arrived.set()
        task = self._tasks.pop(work, None)
        if task is not None:
            await asyncio.wait((task,))
        if self._locks is not None:
            await self._locks.unlock(work.queue)

    def is_calling(self) -> bool:
        return self._calling > 0

    async def drain(self, timeout_s: float) -> None:
        await super().drain(timeout_s)
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
                log.info("the lock of %s is not held any more", queue)
                work.process.locked_at_ms = None

    async def _consume(self, work: QueueWork) -> None:
        process = work.process
        while not process.is_dropped:
            work.arrived.clear()
            pause_s: float | None
            async with self._slots:
                if self._may_call(work) and (batch := process.take(self._batch_size)):
                    is_success = await self._call(batch)
                    if process.is_dropped:
                        return
                    if is_success or await self._gave_up(batch):
                        self.finish(work, process.commit_taken())
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


def _now_ms() -> float:
    return time.monotonic() * 1000.0

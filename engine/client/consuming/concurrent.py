"""Concurrent consuming: a fixed number of workers take batches in the order of arrival.

A message on which the listener fails is sent back to its broker, which delivers it again later; when the
broker does not take it, the listener gets it again here after `retry_locally_after_s`. Until one of the two
has succeeded, the queue's committed offset stays before it. (Broadcasting has no retries: a failure is
logged.) A call that takes longer than the consume time-out has its messages sent back too. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging

from engine.client.consuming.consume_service import (
    DELAY_BY_BROKER,
    LEVEL_AFTER_TIMEOUT,
    ConsumeService,
    SendBacks,
)
from engine.client.consuming.consumed_queues import QueueWork
from engine.client.consuming.listeners import ListenerCalls
from engine.client.consuming.offsets import OffsetStore
from engine.client.instance.periodic import Periodic, end_task
from engine.client.messages import ReceivedMessage
from engine.client.options import ConsumerOptions
from engine.errors import EngineError

log = logging.getLogger(__name__)

TIMEOUT_SCAN_S = 60.0


class _Batch:
    """The messages of one call; `is_over` once they are consumed or sent back."""

    __slots__ = ("begun_at", "is_over", "messages", "work")

    def __init__(self, work: QueueWork, messages: list[ReceivedMessage]) -> None:
        self.work = work
        self.messages = messages
        self.begun_at = 0.0
        self.is_over = False


class ConcurrentService(ConsumeService):
    def __init__(
        self,
        calls: ListenerCalls,
        offsets: OffsetStore,
        send_backs: SendBacks | None,
        options: ConsumerOptions,
    ) -> None:
        super().__init__(calls, offsets, send_backs, options)
        self._queue: asyncio.Queue[_Batch] = asyncio.Queue()
        self._workers: list[asyncio.Task[None]] = []
        self._running: set[_Batch] = set()
        self._scan = Periodic(
            "consume time-outs", min(TIMEOUT_SCAN_S, options.consume_timeout_s), self._expire_calls
        )

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._workers = [loop.create_task(self._work()) for _ in range(self._options.threads)]
        self._scan.start()

    def accept(self, work: QueueWork, messages: list[ReceivedMessage]) -> None:
        work.process.add(messages)
        self._enqueue(work, messages)

    def _enqueue(self, work: QueueWork, messages: list[ReceivedMessage]) -> None:
        size = self._batch_size
        for start in range(0, len(messages), size):
            self._queue.put_nowait(_Batch(work, messages[start : start + size]))

    def is_calling(self) -> bool:
        return bool(self._running)

    async def close(self) -> None:
        await self._scan.stop()
        await asyncio.gather(*map(end_task, self._workers))

    # -- inside ---------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            batch = await self._queue.get()
            if batch.work.process.is_dropped or self._is_draining:
                continue
            batch.begun_at = asyncio.get_running_loop().time()
            self._running.add(batch)
            try:
                await self._consume(batch)
            finally:
                self._running.discard(batch)

    async def _consume(self, batch: _Batch) -> None:
        outcome = await self._calls.call(batch.messages)
        if batch.is_over or batch.work.process.is_dropped:
            return
        batch.is_over = True
        done = batch.messages if outcome.is_success else await self._give_back(batch)
        self._finish_batch(batch, done)

    async def _give_back(self, batch: _Batch) -> list[ReceivedMessage]:
        """Returns the messages that the broker took; the listener gets the others again."""
        if self._send_backs is None:
            log.warning("broadcast messages are not retried: %s", batch.messages)
            return batch.messages
        done, kept = await self._send_back_each(self._send_backs, batch.messages, DELAY_BY_BROKER)
        if kept:
            for message in kept:
                message.reconsume_times += 1
            loop = asyncio.get_running_loop()
            loop.call_later(self._options.retry_locally_after_s, self._enqueue, batch.work, kept)
        return done

    async def _send_back_each(
        self, send_backs: SendBacks, messages: list[ReceivedMessage], delay_level: int
    ) -> tuple[list[ReceivedMessage], list[ReceivedMessage]]:
        """The messages that their brokers took, and the others."""
        done: list[ReceivedMessage] = []
        kept: list[ReceivedMessage] = []
        for message in messages:
            try:
                await send_backs.send_back(message, delay_level)
                done.append(message)
            except EngineError as error:
                log.warning("%s is retried here, because its broker did not take it: %s", message, error.text)
                kept.append(message)
        return done, kept

    def _finish_batch(self, batch: _Batch, done: list[ReceivedMessage]) -> None:
        if done:
            self.finish(batch.work, batch.work.process.finish(done))

    async def _expire_calls(self) -> None:
        overdue = asyncio.get_running_loop().time() - self._options.consume_timeout_s
        for batch in [batch for batch in self._running if batch.begun_at <= overdue and not batch.is_over]:
            if self._send_backs is None or batch.work.process.is_dropped:
                continue
            done, kept = await self._send_back_each(self._send_backs, batch.messages, LEVEL_AFTER_TIMEOUT)
            # The call's own result is ignored only when its broker took all messages.
            if not kept and not batch.is_over:
                batch.is_over = True
                self._finish_batch(batch, done)

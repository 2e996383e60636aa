"""One queue of a push consumer in POP mode: the task that pops, and the listener calls for its messages.

A message that the listener consumed is acknowledged. One that failed stays invisible for a time that grows
with each failure, and is then redelivered; after `max_reconsume_times` it goes to the group's dead-letter
topic. A message whose invisible time passed before its call began is not consumed here: the broker redelivers
it. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import time

from engine.client.consuming.consume_service import TO_DEAD_LETTERS, SendBacks
from engine.client.consuming.listeners import ListenerCalls
from engine.client.instance.periodic import end_task
from engine.client.pop.pop_requests import MOST, PoppedMessage, Pops
from engine.errors import EngineError
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import SubscriptionData

log = logging.getLogger(__name__)

RETRY_AFTER_S = (10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""How long a message stays invisible after each failure: RocketMQ's delay levels from the third on."""
MAX_HELD = 96
_ERROR_PAUSE_S = 3.0
_POLL_MS = 15_000


class PopWork:
    """`start`, then `stop`: no new call begins, and those that run are waited for."""

    def __init__(
        self,
        queue: MessageQueue,
        wanted: SubscriptionData,
        pops: Pops,
        calls: ListenerCalls,
        send_backs: SendBacks,
        *,
        invisible_ms: int,
        threads: int,
    ) -> None:
        self.queue = queue
        self._wanted = wanted
        self._pops = pops
        self._calls = calls
        self._send_backs = send_backs
        self._invisible_ms = invisible_ms
        self._threads = asyncio.Semaphore(threads)
        self._held: set[asyncio.Task[None]] = set()
        self._has_room = asyncio.Event()
        self._is_stopped = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"pop {self.queue}")

    async def stop(self, timeout_s: float) -> None:
        """The broker redelivers what does not end in time or has not begun."""
        self._is_stopped = True
        if self._task is not None:
            await end_task(self._task)
        if self._held:
            await asyncio.wait(self._held, timeout=timeout_s)
        for task in list(self._held):
            await end_task(task)

    async def _run(self) -> None:
        while True:
            while len(self._held) >= MAX_HELD:
                self._has_room.clear()
                await self._has_room.wait()
            try:
                messages = await self._pops.pop(
                    self.queue, self._wanted, MOST, invisible_ms=self._invisible_ms, poll_ms=_POLL_MS
                )
            except EngineError as error:
                log.warning("pop of %s: %s", self.queue, error.text)
                await asyncio.sleep(_ERROR_PAUSE_S)
                continue
            for message in messages:
                task = asyncio.get_running_loop().create_task(self._consume(message))
                self._held.add(task)
                task.add_done_callback(self._on_done)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._held.discard(task)
        self._has_room.set()

    async def _consume(self, message: PoppedMessage) -> None:
        popped_at = time.monotonic()
        async with self._threads:
            waited_ms = (time.monotonic() - popped_at) * 1000
            if self._is_stopped or waited_ms >= self._invisible_ms:
                return
            outcome = await self._calls.call([message])
        try:
            if outcome.is_success:
                await self._pops.ack(message)
            else:
                await self._fail(message)
        except EngineError as error:
            log.warning("%s is redelivered after its invisible time: %s", message, error.text)

    async def _fail(self, message: PoppedMessage) -> None:
        times = message.reconsume_times
        if times >= self._send_backs.max_reconsume_times:
            await self._send_backs.send_back(message, TO_DEAD_LETTERS)
            await self._pops.ack(message)
            return
        retry_s = RETRY_AFTER_S[min(times, len(RETRY_AFTER_S) - 1)]
        await self._pops.change_invisible(message, retry_s * 1000)

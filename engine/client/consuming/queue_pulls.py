"""One queue of a push consumer: the task that pulls it, within its window, and hands over what came.

Begins where the group stands (an orderly consumer asks only once it holds the lock: the previous holder may
have committed until then). Waits while the window is full. An offset that the broker calls illegal ends the
work: the queue is then taken anew. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Protocol

from engine.client.consuming.process_queue import ProcessQueue
from engine.client.consuming.pull_requests import PullResult, PullStatus
from engine.client.instance.periodic import end_task
from engine.client.messages import ReceivedMessage
from engine.client.options import PullOptions
from engine.errors import EngineError
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.codes import ResponseCode

log = logging.getLogger(__name__)

FLOW_CONTROL_RETRY_S = 0.02


class Consuming(Protocol):
    """What is done with the messages of a queue: at once and side by side, or one after the other."""

    def start(self) -> None: ...

    async def admit(self, work: QueueWork) -> None:
        """Returns when this queue may be pulled."""

    def accept(self, work: QueueWork, messages: list[ReceivedMessage]) -> None: ...

    async def release(self, work: QueueWork) -> None:
        """The work was dropped: returns when nothing of it runs any more."""

    async def drain(self, timeout_s: float) -> None:
        """Begin no new call, wait for those that run."""

    async def close(self) -> None: ...


class PullsQueue(Protocol):
    async def find_start(self, queue: MessageQueue) -> int: ...

    async def pull(self, queue: MessageQueue, offset: int) -> PullResult: ...

    def on_passed_over(self, queue: MessageQueue, offset: int) -> None:
        """Everything before this offset needs no consuming."""

    def on_illegal_offset(self, work: QueueWork, offset: int) -> None: ...


class QueueWork:
    """`start`, `stop_pulling`; `after` is what must have ended before it begins."""

    def __init__(
        self, queue: MessageQueue, owner: PullsQueue, consuming: Consuming, options: PullOptions
    ) -> None:
        self.queue = queue
        self.process = ProcessQueue()
        self.arrived = asyncio.Event()
        self._owner = owner
        self._consuming = consuming
        self._options = options
        self._has_room = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, after: asyncio.Task[None] | None = None) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(after), name=f"pull {self.queue}")

    async def stop_pulling(self) -> None:
        task, self._task = self._task, None
        if task is not None and task is not asyncio.current_task():
            await end_task(task)

    def finish(self, messages: list[ReceivedMessage]) -> int | None:
        """Done with these; what may be committed now, None when the queue is not ours any more."""
        offset = self.process.finish(messages)
        self.process.last_consumed_ms = int(time.time() * 1000)
        self._has_room.set()
        return None if self.process.is_dropped else offset

    async def _run(self, after: asyncio.Task[None] | None) -> None:
        if after is not None:
            await asyncio.wait((after,))
        offset: int | None = None
        while not self.process.is_dropped:
            try:
                await self._consuming.admit(self)
                if offset is None:
                    offset = await self._owner.find_start(self.queue)
                await self._wait_for_room()
                result = await self._owner.pull(self.queue, offset)
            except EngineError as error:
                await self._pause_after(error)
                continue
            if result.status is PullStatus.OFFSET_ILLEGAL:
                self._owner.on_illegal_offset(self, result.next_offset)
                return
            offset = result.next_offset
            self._receive(result)

    def _receive(self, result: PullResult) -> None:
        self.process.last_pulled_ms = int(time.time() * 1000)
        if result.messages:
            self._consuming.accept(self, result.messages)
        elif not self.process.message_count:
            self._owner.on_passed_over(self.queue, result.next_offset)

    async def _wait_for_room(self) -> None:
        options = self._options
        while self.process.is_full(
            options.max_messages_per_queue, options.max_bytes_per_queue, options.max_span_per_queue
        ):
            self._has_room.clear()
            await self._has_room.wait()

    async def _pause_after(self, error: EngineError) -> None:
        if error.code == ResponseCode.FLOW_CONTROL:
            await asyncio.sleep(FLOW_CONTROL_RETRY_S)
            return
        log.warning("pull of %s: %s", self.queue, error.text)
        await asyncio.sleep(self._options.retry_after_error_s)

"""One queue of a LitePullConsumer: a task that pulls ahead into a bounded buffer, and a position in it.

`polled_offset` is the offset after the last message that was handed out: what a commit would store. A seek
empties the buffer and begins a new run; whatever an older run still brings is thrown away. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from engine.client.consuming.pull_requests import PullResult, PullStatus
from engine.client.instance.periodic import end_task
from engine.client.messages import ReceivedMessage
from engine.client.options import PullOptions
from engine.errors import EngineError
from engine.protocol.bodies.basics import MessageQueue

log = logging.getLogger(__name__)

Pull = Callable[[MessageQueue, int], Awaitable[PullResult]]
FindStart = Callable[[MessageQueue], Awaitable[int]]


class LiteQueue:
    """`start`, `seek`, `take`, `stop`; `on_arrival` is called when the buffer has something new."""

    def __init__(
        self,
        queue: MessageQueue,
        pull: Pull,
        find_start: FindStart,
        options: PullOptions,
        on_arrival: Callable[[], None],
    ) -> None:
        self.queue = queue
        self._pull = pull
        self._find_start = find_start
        self._options = options
        self._on_arrival = on_arrival
        self._buffer: deque[ReceivedMessage] = deque()
        self._buffered_bytes = 0
        self._has_room = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.polled_offset: int | None = None
        self.is_paused = False

    @property
    def buffered(self) -> int:
        return len(self._buffer)

    def start(self, offset: int | None = None) -> None:
        """Pull from this offset, or from where the group begins."""
        self._task = asyncio.get_running_loop().create_task(self._run(offset), name=f"pull {self.queue}")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            await end_task(task)

    async def seek(self, offset: int) -> None:
        await self.stop()
        self._buffer.clear()
        self._buffered_bytes = 0
        self.polled_offset = offset
        self.start(offset)

    def take(self, most: int) -> list[ReceivedMessage]:
        """Up to so many messages; they count as handed out."""
        if self.is_paused or not self._buffer:
            return []
        taken = [self._buffer.popleft() for _ in range(min(most, len(self._buffer)))]
        self._buffered_bytes -= sum(len(message.record.body) for message in taken)
        self.polled_offset = taken[-1].queue_offset + 1
        self._has_room.set()
        return taken

    async def _run(self, offset: int | None) -> None:
        while True:
            try:
                if offset is None:
                    offset = await self._find_start(self.queue)
                await self._wait_for_room()
                offset = self._receive(await self._pull(self.queue, offset))
            except EngineError as error:
                log.warning("pull of %s: %s", self.queue, error.text)
                await asyncio.sleep(self._options.retry_after_error_s)

    async def _wait_for_room(self) -> None:
        while (
            len(self._buffer) >= self._options.max_messages_per_queue
            or self._buffered_bytes >= self._options.max_bytes_per_queue
        ):
            self._has_room.clear()
            await self._has_room.wait()

    def _receive(self, result: PullResult) -> int:
        if result.status is PullStatus.OFFSET_ILLEGAL:
            # Reset by an operator, or older than what is kept: what was read ahead is not next any more.
            self._buffer.clear()
            self._buffered_bytes = 0
            self.polled_offset = result.next_offset
        elif result.messages:
            self._buffer.extend(result.messages)
            self._buffered_bytes += sum(len(message.record.body) for message in result.messages)
            self._on_arrival()
        elif not self._buffer and self.polled_offset is not None:
            # Everything up to here was passed over by the filter; the group need not look at it again.
            self.polled_offset = max(self.polled_offset, result.next_offset)
        return result.next_offset

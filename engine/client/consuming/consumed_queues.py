"""One queue of a consumer: its window of messages, and the task that pulls it while the window has room.

`ProcessQueue` is the window. `QueueWork` is a queue of a push consumer: its messages go to the consume
service. `LiteQueue` is a queue of a LitePullConsumer: its messages wait in the window until they are polled.
Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from engine.client.consuming.consume_service import ConsumeService
from engine.client.consuming.pull_requests import PullResult, PullStatus
from engine.client.instance.periodic import end_task
from engine.client.messages import ReceivedMessage
from engine.client.options import PullOptions
from engine.errors import EngineError
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import ProcessQueueInfo
from engine.protocol.codes import ResponseCode

log = logging.getLogger(__name__)

FLOW_CONTROL_RETRY_S = 0.02
_MIB = 1024 * 1024


class QueueSource(NamedTuple):
    """What the queues of a consumer are pulled with."""

    find_start: Callable[[MessageQueue], Awaitable[int]]
    pull: Callable[[MessageQueue, int], Awaitable[PullResult]]
    options: PullOptions


class QueuePull:
    """`start` and `stop_pulling`. Pulls from the given offset, or from where the group begins."""

    def __init__(self, queue: MessageQueue, source: QueueSource, *, max_span: int) -> None:
        self.queue = queue
        self.process = ProcessQueue()
        self._source = source
        self._max_span = max_span
        self._has_room = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, offset: int | None = None, *, after: asyncio.Task[None] | None = None) -> None:
        """`after` must have ended before the first pull."""
        run = self._run(offset, after)
        self._task = asyncio.get_running_loop().create_task(run, name=f"pull {self.queue}")

    async def stop_pulling(self) -> None:
        task, self._task = self._task, None
        if task is not None and task is not asyncio.current_task():
            await end_task(task)

    async def _run(self, offset: int | None, after: asyncio.Task[None] | None) -> None:
        if after is not None:
            await asyncio.wait((after,))
        while not self.process.is_dropped:
            try:
                await self._admit()
                if offset is None:
                    offset = await self._source.find_start(self.queue)
                await self._wait_for_room()
                result = await self._source.pull(self.queue, offset)
            except EngineError as error:
                await self._pause_after(error)
                continue
            offset = result.next_offset
            self._receive(result)

    async def _admit(self) -> None:
        """Returns when the queue may be pulled."""

    def _receive(self, result: PullResult) -> None:
        raise NotImplementedError

    async def _wait_for_room(self) -> None:
        options = self._source.options
        while self.process.is_full(
            options.max_messages_per_queue, options.max_bytes_per_queue, self._max_span
        ):
            self._has_room.clear()
            await self._has_room.wait()

    async def _pause_after(self, error: EngineError) -> None:
        if error.code == ResponseCode.FLOW_CONTROL:
            await asyncio.sleep(FLOW_CONTROL_RETRY_S)
            return
        log.warning("pull of %s: %s", self.queue, error.text)
        await asyncio.sleep(self._source.options.retry_after_error_s)


class QueueWork(QueuePull):
    """A queue of a push consumer.

    An orderly consumer asks for the start only once it holds the lock: the previous holder may commit until
    then. An offset that the broker refuses as illegal ends the work; `on_illegal_offset` takes the queue
    again.
    """

    def __init__(
        self,
        queue: MessageQueue,
        source: QueueSource,
        service: ConsumeService,
        on_illegal_offset: Callable[[QueueWork, int], None],
    ) -> None:
        super().__init__(queue, source, max_span=source.options.max_span_per_queue)
        self.arrived = asyncio.Event()
        self._service = service
        self._on_illegal_offset = on_illegal_offset

    async def _admit(self) -> None:
        await self._service.admit(self)

    def _receive(self, result: PullResult) -> None:
        if result.status is PullStatus.OFFSET_ILLEGAL:
            self.process.is_dropped = True
            self._on_illegal_offset(self, result.next_offset)
            return
        self.process.last_pulled_ms = int(time.time() * 1000)
        if result.messages:
            self._service.accept(self, result.messages)
        elif not self.process.message_count:
            # The filter matched nothing up to here, and all earlier messages are consumed.
            self._service.commit(self, result.next_offset)

    def info(self, offset: int | None) -> ProcessQueueInfo:
        """For the running info (307); `offset` is the queue's in memory."""
        process = self.process
        return ProcessQueueInfo(
            commit_offset=offset if offset is not None else -1,
            cached_msg_min_offset=max(process.lowest_offset, 0),
            cached_msg_max_offset=max(process.highest_offset, 0),
            cached_msg_count=process.message_count,
            cached_msg_size_in_mib=process.size_bytes // _MIB,
            locked=process.locked_at_ms is not None,
            dropped=process.is_dropped,
            last_pull_timestamp=process.last_pulled_ms,
            last_consume_timestamp=process.last_consumed_ms,
        )

    def on_consumed(self) -> None:
        """Messages left the window."""
        self.process.last_consumed_ms = int(time.time() * 1000)
        self._has_room.set()


class LiteQueue(QueuePull):
    """A queue of a LitePullConsumer; `on_arrival` is called when it has something to poll.

    `polled_offset` is the offset after the last message that was polled: what a commit stores. The window has
    no maximum span, because messages leave it in their order.
    """

    def __init__(self, queue: MessageQueue, source: QueueSource, on_arrival: Callable[[], None]) -> None:
        super().__init__(queue, source, max_span=0)
        self._on_arrival = on_arrival
        self.polled_offset: int | None = None
        self.is_paused = False

    async def seek(self, offset: int) -> None:
        await self.stop_pulling()
        self._empty(offset)
        self.start(offset)

    def _empty(self, offset: int) -> None:
        self.process = ProcessQueue()
        self.polled_offset = offset

    def take(self, most: int) -> list[ReceivedMessage]:
        """Up to so many messages; they count as polled."""
        taken = [] if self.is_paused else self.process.take(most)
        if taken:
            self.process.commit_taken()
            self.polled_offset = taken[-1].queue_offset + 1
            self._has_room.set()
        return taken

    def _receive(self, result: PullResult) -> None:
        if result.status is PullStatus.OFFSET_ILLEGAL:
            # Reset by an operator, or older than what the broker keeps: what was read ahead is not next.
            self._empty(result.next_offset)
        elif result.messages:
            self.process.add(result.messages, waiting=True)
            self._on_arrival()
        elif not self.process.message_count and self.polled_offset is not None:
            # The filter matched nothing up to here: the group need not read it again.
            self.polled_offset = max(self.polled_offset, result.next_offset)


LOCK_LEASE_MS = 30_000
"""How long a lock counts as held after the broker last confirmed it; the broker keeps it for 60 s."""


class ProcessQueue:
    def __init__(self) -> None:
        # Offsets in the order of the queue, finished ones cut off at the left.
        self._front: deque[int] = deque()
        self._finished: set[int] = set()
        self._waiting: deque[ReceivedMessage] = deque()
        self._taken: list[ReceivedMessage] = []
        self.highest_offset = -1
        self.message_count = 0
        self.size_bytes = 0
        self.is_dropped = False
        self.locked_at_ms: float | None = None
        self.last_pulled_ms = 0
        self.last_consumed_ms = 0

    @property
    def lowest_offset(self) -> int:
        return self._front[0] if self._front else -1

    @property
    def span(self) -> int:
        return self.highest_offset - self._front[0] if self._front else 0

    def is_full(self, max_messages: int, max_bytes: int, max_span: int) -> bool:
        return self.message_count >= max_messages or self.size_bytes >= max_bytes or self.span >= max_span > 0

    def add(self, messages: Sequence[ReceivedMessage], *, waiting: bool = False) -> None:
        """`waiting` messages are to be taken from the front (`take`)."""
        for message in messages:
            self._front.append(message.queue_offset)
            self.size_bytes += len(message.record.body)
        self.message_count += len(messages)
        if messages:
            self.highest_offset = messages[-1].queue_offset
        if waiting:
            self._waiting.extend(messages)

    def finish(self, messages: Iterable[ReceivedMessage]) -> int | None:
        """These are consumed. Returns the offset that may be committed; None if nothing was ever pulled."""
        for message in messages:
            self._finished.add(message.queue_offset)
            self.size_bytes -= len(message.record.body)
            self.message_count -= 1
        front, finished = self._front, self._finished
        while front and front[0] in finished:
            finished.remove(front.popleft())
        if front:
            return front[0]
        return self.highest_offset + 1 if self.highest_offset >= 0 else None

    # -- orderly --------------------------------------------------------------------------------------------

    def take(self, most: int) -> list[ReceivedMessage]:
        """The next messages in order; nothing else may be taken until they are committed or put back."""
        self._taken = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        return list(self._taken)

    def commit_taken(self) -> int | None:
        taken, self._taken = self._taken, []
        return self.finish(taken)

    def put_back(self) -> None:
        self._waiting.extendleft(reversed(self._taken))
        self._taken = []

    def is_locked(self, now_ms: float) -> bool:
        return self.locked_at_ms is not None and now_ms - self.locked_at_ms < LOCK_LEASE_MS

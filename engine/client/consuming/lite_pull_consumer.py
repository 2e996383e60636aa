"""LitePullConsumer: `poll` for messages, `seek` anywhere, `commit` when it suits the application.

Queues come by `subscribe` (shared out among the group's members) or by `assign` (chosen by the application,
whatever other members read). Each queue is read ahead into a bounded window. With auto-commit, a poll commits
what earlier polls returned: a message counts as consumed once the application polls again, so a crash in
between delivers it again. Loop thread only.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Iterable, Mapping
from types import TracebackType
from typing import Unpack

from engine.client.consuming.consumed_queues import LiteQueue, QueueSource
from engine.client.consuming.pull_requests import PullResult
from engine.client.consuming.rebalance import BalancedConsumer
from engine.client.instance.routes import subscribe_queues
from engine.client.messages import ReceivedMessage
from engine.client.options import ClientArguments, LitePullOptions
from engine.errors import BadInput, NotFound
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import TAG_EXPRESSION, ConsumerRunningInfo, ConsumeType, ProcessQueueInfo


class LitePullConsumer(BalancedConsumer):
    """Polls messages for a consumer group.

    >>> async def main() -> None:
    ...     async with Producer("shop", namesrv=NAMESRV) as producer:
    ...         await producer.send(Message("letters", b"hello"))
    ...     async with LitePullConsumer("readers", namesrv=NAMESRV) as consumer:
    ...         await consumer.assign(await consumer.queues("letters"))
    ...         for queue in consumer.assignment():
    ...             await consumer.seek_to_begin(queue)
    ...         for message in await consumer.poll(timeout_ms=10_000):
    ...             print(message.body)
    ...         await consumer.commit()
    >>> asyncio.run(main())
    b'hello'
    """

    def __init__(
        self,
        group: str,
        *,
        options: LitePullOptions | None = None,
        **arguments: Unpack[ClientArguments],
    ) -> None:
        self.options = options or LitePullOptions()
        super().__init__(group, self.options, ConsumeType.CONSUME_ACTIVELY, **arguments)
        self._source = QueueSource(self._start_offsets.of, self._pull, self.options.pull)
        self._queues: dict[MessageQueue, LiteQueue] = {}
        self._is_assigned = False
        self._arrival = asyncio.Event()
        self._next_commit_at = 0.0

    # -- life -----------------------------------------------------------------------------------------------

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # After an exception the messages of the last poll may not be consumed: they stay uncommitted.
        await self.close(commit=kind is None)

    async def close(self, *, commit: bool = True) -> None:
        """Leave the group; with auto-commit (and `commit`) what was polled is committed."""
        if commit and self.options.auto_commit:
            self._store_positions()
        await self._leave()
        await asyncio.gather(*map(self.drop, list(self._queues)))
        await super().close()

    # -- which queues ---------------------------------------------------------------------------------------

    def subscribe(self, topic: str, expression: str = "*", kind: str = TAG_EXPRESSION) -> None:
        """Share the topic's queues out among the group; allowed before and after the start."""
        if self._is_assigned:
            raise BadInput(f"the consumer of {self.group} either subscribes or is assigned queues, not both")
        super().subscribe(topic, expression, kind)

    async def assign(self, queues: Iterable[MessageQueue]) -> None:
        """Read exactly these queues from now on."""
        if self.subscriptions:
            raise BadInput(f"the consumer of {self.group} either subscribes or is assigned queues, not both")
        self._is_assigned = True
        wanted = set(queues)
        for queue in self._queues.keys() - wanted:
            await self.drop(queue)
        for topic in {queue.topic for queue in wanted}:
            await self.instance.routes.must_get(topic)
        for queue in sorted(wanted - self._queues.keys()):
            self.take(queue)

    def assignment(self) -> list[MessageQueue]:
        return sorted(self._queues)

    async def queues(self, topic: str) -> list[MessageQueue]:
        """All queues of a topic that can be read."""
        return subscribe_queues(topic, await self.instance.routes.must_get(topic))

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        """`poll` returns nothing of these queues until `resume`."""
        for queue in queues:
            self._held(queue).is_paused = True

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        for queue in queues:
            self._held(queue).is_paused = False
        self._arrival.set()

    # -- reading --------------------------------------------------------------------------------------------

    async def poll(
        self, timeout_ms: int | None = None, max_messages: int | None = None
    ) -> list[ReceivedMessage]:
        """The next messages, in order within each queue; empty when none came in time."""
        await self._commit_if_due()
        loop = asyncio.get_running_loop()
        wait_ms = self.options.poll_timeout_ms if timeout_ms is None else timeout_ms
        deadline = loop.time() + wait_ms / 1000.0
        while True:
            self._arrival.clear()
            messages = self._take(max_messages or self.options.max_poll_messages)
            left_s = deadline - loop.time()
            if messages or left_s <= 0:
                return messages
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await self._arrival.wait()

    def _take(self, most: int) -> list[ReceivedMessage]:
        messages: list[ReceivedMessage] = []
        for queue, lite in list(self._queues.items()):
            if len(messages) >= most:
                break
            taken = lite.take(most - len(messages))
            if taken:
                messages += taken
                # Moved to the end, so that a busy queue does not starve the others.
                self._queues[queue] = self._queues.pop(queue)
        return messages

    async def seek(self, queue: MessageQueue, offset: int) -> None:
        """Go on at this offset."""
        await self._held(queue).seek(offset)

    async def seek_to_begin(self, queue: MessageQueue) -> None:
        await self.seek(queue, await self._queue_offsets.min_offset(queue))

    async def seek_to_end(self, queue: MessageQueue) -> None:
        await self.seek(queue, await self._queue_offsets.max_offset(queue))

    async def seek_to_time(self, queue: MessageQueue, timestamp_ms: int) -> None:
        """Go on at the first message stored at or after that time."""
        await self.seek(queue, await self._queue_offsets.offset_at(queue, timestamp_ms))

    # -- offsets --------------------------------------------------------------------------------------------

    async def commit(self, offsets: Mapping[MessageQueue, int] | None = None) -> None:
        """Commit what was polled so far, or exactly these offsets (each the next message to consume)."""
        if offsets is None:
            self._store_positions()
        else:
            for queue, offset in offsets.items():
                self._offsets.update(queue, offset)
        await self._offsets.persist()

    async def committed(self, queue: MessageQueue) -> int | None:
        return await self._queue_offsets.committed(self.group, queue, zero_if_young=False)

    def position(self, queue: MessageQueue) -> int | None:
        """The offset after the last polled message; None before the first."""
        return self._held(queue).polled_offset

    async def _commit_if_due(self) -> None:
        now = asyncio.get_running_loop().time()
        if self.options.auto_commit and now >= self._next_commit_at:
            self._next_commit_at = now + self.options.commit_interval_s
            self._store_positions()
            await self._offsets.persist()

    def _store_positions(self) -> None:
        for queue, lite in self._queues.items():
            if lite.polled_offset is not None:
                self._offsets.update(queue, lite.polled_offset)

    # -- its queues -----------------------------------------------------------------------------------------

    def held(self) -> Collection[MessageQueue]:
        return [] if self._is_assigned else self._queues.keys()

    def take(self, queue: MessageQueue) -> None:
        lite = self._queues[queue] = LiteQueue(queue, self._source, self._arrival.set)
        lite.start()

    async def drop(self, queue: MessageQueue) -> None:
        lite = self._queues.pop(queue)
        await lite.stop_pulling()
        if self.options.auto_commit and not self._is_assigned and lite.polled_offset is not None:
            self._offsets.update(queue, lite.polled_offset)
        await self._offsets.persist([queue])
        self._offsets.forget(queue)

    async def _pull(self, queue: MessageQueue, offset: int) -> PullResult:
        return await self._pulls.pull(queue, offset, self._subscription_of(queue.topic))

    async def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        for queue, offset in offsets.items():
            if queue in self._queues and queue.topic == topic:
                self._offsets.update(queue, offset)
                await self._queues[queue].seek(offset)

    def running_info(self) -> ConsumerRunningInfo:
        return ConsumerRunningInfo(
            subscription_set=tuple(self.subscriptions.values()),
            mq_table={
                queue: ProcessQueueInfo(
                    commit_offset=self._offsets.get(queue) or 0, cached_msg_count=lite.process.message_count
                )
                for queue, lite in self._queues.items()
            },
        )

    def _held(self, queue: MessageQueue) -> LiteQueue:
        lite = self._queues.get(queue)
        if lite is None:
            raise NotFound(f"{queue} is not among the queues of this consumer of group {self.group}")
        return lite

"""What the scenarios of our own client share: messages to send, and ways to collect what comes."""

from __future__ import annotations

import asyncio

from engine.client import LitePullConsumer, Message, MessageQueue, ReceivedMessage
from engine.errors import NotFound

from .clusters import Cluster

POLL_TIMEOUT_S = 30


class Inbox:
    """A listener that keeps what it is given, in the order in which it is given."""

    def __init__(self) -> None:
        self.received: list[ReceivedMessage] = []
        self._arrival = asyncio.Condition()

    async def __call__(self, message: ReceivedMessage) -> None:
        async with self._arrival:
            self.received.append(message)
            self._arrival.notify_all()

    async def expect(self, count: int, timeout_s: float = POLL_TIMEOUT_S) -> list[ReceivedMessage]:
        """All received once there are ``count``, or what there is when the time is over."""
        try:
            async with asyncio.timeout(timeout_s), self._arrival:
                await self._arrival.wait_for(lambda: len(self.received) >= count)
        except TimeoutError:
            pass
        return list(self.received)


def messages(topic: str, prefix: str, count: int) -> list[Message]:
    return [
        Message(
            topic, f"{prefix}-{n}".encode(), tags=prefix, keys=[f"key-{prefix}-{n}"], properties={"n": str(n)}
        )
        for n in range(count)
    ]


async def poll(consumer: LitePullConsumer, count: int) -> list[ReceivedMessage]:
    """Polls until there are ``count`` messages or the time is over."""
    received: list[ReceivedMessage] = []
    loop = asyncio.get_running_loop()
    deadline = loop.time() + POLL_TIMEOUT_S
    while len(received) < count and loop.time() < deadline:
        received += await consumer.poll(timeout_ms=500)
    return received


async def queues_of(consumer: LitePullConsumer, topic: str) -> list[MessageQueue]:
    """Apache's broker tells name servers of a topic that a send made by a one-way request, which may come
    after the answer to the send."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + POLL_TIMEOUT_S
    while True:
        try:
            return await consumer.queues(topic)
        except NotFound:
            if loop.time() > deadline:
                raise
        await asyncio.sleep(0.1)


async def stored(apache: Cluster, topic: str, count: int) -> list[ReceivedMessage]:
    """The whole topic, by a consumer that assigns itself all queues."""
    async with LitePullConsumer("reader", namesrv=apache.name_server) as consumer:
        await consumer.assign(await queues_of(consumer, topic))
        for queue in consumer.assignment():
            await consumer.seek_to_begin(queue)
        return await poll(consumer, count)


def bodies(received: list[ReceivedMessage]) -> list[str]:
    return sorted(message.body.decode() for message in received)

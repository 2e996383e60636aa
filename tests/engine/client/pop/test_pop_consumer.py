"""The popping consumer against a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from engine.client import Admin, Message, PopConsumer, PopOptions, PoppedMessage, Producer, blocking
from engine.errors import BadInput, PeerError
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import ResponseCode
from tests.engine.client.servers import Cluster

Fresh = Callable[[str], str]
SOON = 500


async def send(namesrv: str, topic: str, *bodies: bytes, tags: str | None = None) -> None:
    async with Producer("shop", namesrv=namesrv) as producer:
        for body in bodies:
            await producer.send(Message(topic, body, tags=tags))


async def receive(consumer: PopConsumer, count: int, **options: int) -> list[PoppedMessage]:
    messages: list[PoppedMessage] = []
    async with asyncio.timeout(30):
        while len(messages) < count:
            messages += await consumer.receive(wait_ms=2_000, **options)
    return messages


async def test_what_is_acknowledged_is_done_and_the_rest_comes_back(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("popped")
    await send(namesrv, topic, b"1", b"2", b"3")
    async with PopConsumer(fresh("group"), namesrv=namesrv) as consumer:
        consumer.subscribe(topic)
        messages = await receive(consumer, 3, invisible_ms=SOON)
        assert sorted(message.body for message in messages) == [b"1", b"2", b"3"]
        await consumer.ack(*(message for message in messages if message.body != b"2"))
        (back,) = await receive(consumer, 1)
        assert (back.body, back.reconsume_times, back.topic) == (b"2", 1, topic)
        assert back.stored_topic != topic
        await consumer.ack(back)
        assert await consumer.receive(wait_ms=0) == []


async def test_two_members_never_get_the_same_message(namesrv: str, fresh: Fresh) -> None:
    topic, group = fresh("popped"), fresh("group")
    await send(namesrv, topic, *(b"%d" % number for number in range(40)))
    async with PopConsumer(group, namesrv=namesrv) as one, PopConsumer(group, namesrv=namesrv) as two:
        bodies: list[bytes] = []
        for consumer in (one, two):
            consumer.subscribe(topic)
        async with asyncio.timeout(30):
            while len(bodies) < 40:
                for given in await asyncio.gather(*(c.receive(5, wait_ms=1_000) for c in (one, two))):
                    bodies += [message.body for message in given]
    assert sorted(bodies, key=int) == [b"%d" % number for number in range(40)]


async def test_more_time_is_more_time_and_then_it_is_over(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("popped")
    await send(namesrv, topic, b"1")
    async with PopConsumer(fresh("group"), namesrv=namesrv) as consumer:
        consumer.subscribe(topic)
        (message,) = await receive(consumer, 1)
        before = message.visible_at_ms
        await consumer.change_invisible(message, SOON)
        assert message.visible_at_ms < before
        (back,) = await receive(consumer, 1)
        assert back.reconsume_times == 1
        with pytest.raises(PeerError) as failure:
            await consumer.change_invisible(message, SOON)
        assert failure.value.code == ResponseCode.NO_MESSAGE


async def test_only_the_wanted_tag_is_received(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("popped")
    # Their hashes are equal, so the broker cannot tell them apart.
    await send(namesrv, topic, b"wanted", tags="Aa")
    await send(namesrv, topic, b"other", tags="BB")
    async with PopConsumer(fresh("group"), namesrv=namesrv) as consumer:
        consumer.subscribe(topic, "Aa")
        assert [message.body for message in await receive(consumer, 1)] == [b"wanted"]
        assert await consumer.receive(wait_ms=200) == []


async def test_messages_of_a_queue_come_in_order(cluster: Cluster, fresh: Fresh) -> None:
    topic, namesrv = fresh("ordered"), cluster.namesrv
    async with Admin(namesrv=namesrv) as admin:
        await admin.topics.create(cluster.broker, TopicConfig(topic, 1, 1))
    await send(namesrv, topic, b"1", b"2", b"3")
    options = PopOptions(order=True, invisible_ms=SOON)
    async with PopConsumer(fresh("group"), namesrv=namesrv, options=options) as consumer:
        consumer.subscribe(topic)
        first, second = await receive(consumer, 2, max_messages=2)
        assert [first.body, second.body] == [b"1", b"2"]
        assert await consumer.receive(wait_ms=0) == []
        await consumer.ack(first)
        again = await receive(consumer, 2)
        assert [(message.body, message.reconsume_times) for message in again] == [(b"2", 1), (b"3", 0)]
        await consumer.ack(*again)


async def test_a_topic_that_is_made_later_is_found(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("later")
    async with PopConsumer(fresh("group"), namesrv=namesrv) as consumer:
        with pytest.raises(BadInput, match="subscribe"):
            await consumer.receive()
        consumer.subscribe(topic)
        assert await consumer.receive(wait_ms=0) == []
        await send(namesrv, topic, b"1")
        assert [message.body for message in await receive(consumer, 1)] == [b"1"]


def test_popping_without_a_loop(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("popped")
    with blocking.Producer("shop", namesrv=namesrv) as producer:
        producer.send(Message(topic, b"1"))
    with blocking.PopConsumer(fresh("group"), namesrv=namesrv) as consumer:
        consumer.subscribe(topic)
        (message,) = consumer.receive(wait_ms=10_000)
        consumer.change_invisible(message, 10_000)
        consumer.ack(message)
        assert consumer.receive(wait_ms=0) == []

"""The lite pull consumer against a real broker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from engine.client import (
    Admin,
    LitePullConsumer,
    LitePullOptions,
    Message,
    Producer,
    PullOptions,
    ReceivedMessage,
)
from engine.client.admin.offsets import END_OF_QUEUE
from engine.errors import BadInput, NotFound

Fresh = Callable[[str], str]


async def send_to_queue_0(namesrv: str, topic: str, count: int) -> None:
    async with Producer("shop", namesrv=namesrv) as producer:
        queue = (await producer.queues(topic))[0]
        await producer.send_batch([Message(topic, b"%d" % number) for number in range(count)], queue=queue)


async def poll_all(consumer: LitePullConsumer, count: int) -> list[ReceivedMessage]:
    messages: list[ReceivedMessage] = []
    async with asyncio.timeout(20):
        while len(messages) < count:
            messages += await consumer.poll(timeout_ms=1000)
    return messages


async def test_subscribed_queues_come_by_themselves_and_are_committed_on_close(
    namesrv: str, fresh: Fresh
) -> None:
    topic, group = fresh("lite"), fresh("group")
    await send_to_queue_0(namesrv, topic, 50)
    async with LitePullConsumer(group, namesrv=namesrv) as consumer:
        consumer.subscribe(topic)
        assert [int(m.body) for m in await poll_all(consumer, 50)] == list(range(50))
    await send_to_queue_0(namesrv, topic, 1)
    async with LitePullConsumer(group, namesrv=namesrv) as consumer:
        consumer.subscribe(topic)
        assert [m.queue_offset for m in await poll_all(consumer, 1)] == [50]


async def test_an_exception_leaves_the_last_poll_uncommitted(namesrv: str, fresh: Fresh) -> None:
    topic, group = fresh("lite"), fresh("group")
    await send_to_queue_0(namesrv, topic, 3)
    with pytest.raises(ZeroDivisionError):
        async with LitePullConsumer(
            group, namesrv=namesrv, options=LitePullOptions(auto_commit=False)
        ) as consumer:
            consumer.subscribe(topic)
            await poll_all(consumer, 3)
            raise ZeroDivisionError
    async with LitePullConsumer(group, namesrv=namesrv) as consumer:
        consumer.subscribe(topic)
        assert len(await poll_all(consumer, 3)) == 3


async def test_seek_goes_anywhere_and_commit_says_where_to_go_on(namesrv: str, fresh: Fresh) -> None:
    topic, group = fresh("lite"), fresh("group")
    await send_to_queue_0(namesrv, topic, 20)
    options = LitePullOptions(auto_commit=False, max_poll_messages=4)
    async with LitePullConsumer(group, namesrv=namesrv, options=options) as consumer:
        queue = (await consumer.queues(topic))[0]
        await consumer.assign([queue])
        await consumer.seek(queue, 17)
        assert [int(m.body) for m in await poll_all(consumer, 3)] == [17, 18, 19]
        await consumer.seek_to_begin(queue)
        assert [int(m.body) for m in await poll_all(consumer, 4)][:4] == [0, 1, 2, 3]
        assert consumer.position(queue) == 4
        assert await consumer.committed(queue) is None
        await consumer.commit()
        assert await consumer.committed(queue) == 4
        await consumer.commit({queue: 9})
        assert await consumer.committed(queue) == 9
        await consumer.seek_to_end(queue)
        assert await consumer.poll(timeout_ms=200) == []


async def test_seek_to_a_time_finds_the_first_message_after_it(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("lite")
    await send_to_queue_0(namesrv, topic, 5)
    await asyncio.sleep(0.02)
    between_ms = int(time.time() * 1000)
    await asyncio.sleep(0.02)
    await send_to_queue_0(namesrv, topic, 2)
    async with LitePullConsumer(fresh("group"), namesrv=namesrv) as consumer:
        queue = (await consumer.queues(topic))[0]
        await consumer.assign([queue])
        await consumer.seek_to_time(queue, between_ms)
        assert [m.queue_offset for m in await poll_all(consumer, 2)] == [5, 6]


async def test_a_poll_is_woken_by_an_arrival(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("lite")
    await send_to_queue_0(namesrv, topic, 1)
    async with LitePullConsumer(fresh("group"), namesrv=namesrv) as consumer:
        consumer.subscribe(topic)
        await poll_all(consumer, 1)
        polling = asyncio.create_task(consumer.poll(timeout_ms=15_000))
        begun = time.monotonic()
        await send_to_queue_0(namesrv, topic, 1)
        assert len(await polling) == 1
        assert time.monotonic() - begun < 10


async def test_a_paused_queue_hands_out_nothing(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("lite")
    await send_to_queue_0(namesrv, topic, 3)
    async with LitePullConsumer(fresh("group"), namesrv=namesrv) as consumer:
        queue = (await consumer.queues(topic))[0]
        await consumer.assign([queue])
        await consumer.seek(queue, 0)
        consumer.pause([queue])
        assert await consumer.poll(timeout_ms=300) == []
        consumer.resume([queue])
        assert len(await poll_all(consumer, 3)) == 3


async def test_the_buffer_is_bounded(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("lite")
    await send_to_queue_0(namesrv, topic, 300)
    options = LitePullOptions(pull=PullOptions(suspend_ms=20_000, max_messages_per_queue=20, batch_size=10))
    async with LitePullConsumer(fresh("group"), namesrv=namesrv, options=options) as consumer:
        queue = (await consumer.queues(topic))[0]
        await consumer.assign([queue])
        await consumer.seek(queue, 0)
        async with asyncio.timeout(10):
            while consumer._queues[queue].process.message_count < 20:
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        assert consumer._queues[queue].process.message_count <= 29
        assert [m.queue_offset for m in await poll_all(consumer, 300)] == list(range(300))


async def test_an_operators_reset_moves_a_running_consumer(namesrv: str, fresh: Fresh) -> None:
    topic, group = fresh("lite"), fresh("group")
    await send_to_queue_0(namesrv, topic, 10)
    async with (
        LitePullConsumer(group, namesrv=namesrv, options=LitePullOptions(commit_interval_s=0.1)) as consumer,
        Admin(namesrv=namesrv) as admin,
    ):
        consumer.subscribe(topic)
        await poll_all(consumer, 10)
        await asyncio.sleep(0.15)
        await consumer.poll(timeout_ms=100)
        await admin.offsets.reset(group, topic, 0)
        await send_to_queue_0(namesrv, topic, 1)
        assert [m.queue_offset for m in await poll_all(consumer, 11)] == list(range(11))
        await admin.offsets.reset(group, topic, END_OF_QUEUE)


async def test_subscribing_and_assigning_exclude_each_other(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("lite")
    await send_to_queue_0(namesrv, topic, 1)
    async with LitePullConsumer(fresh("group"), namesrv=namesrv) as consumer:
        queues = await consumer.queues(topic)
        with pytest.raises(NotFound, match="not among the queues"):
            await consumer.seek(queues[0], 0)
        await consumer.assign(queues)
        with pytest.raises(BadInput, match="not both"):
            consumer.subscribe(topic)

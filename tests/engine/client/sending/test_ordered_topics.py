"""Ordered topics end to end: the name server says which queues they have, and clients keep to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from engine.client import (
    Admin,
    ConsumeFromWhere,
    ConsumerOptions,
    Message,
    MessageQueue,
    Producer,
    PushConsumer,
    ReceivedMessage,
)
from engine.client.admin.name_servers import ORDER_TOPICS
from engine.protocol.bodies.topics import TopicConfig
from tests.engine.client.servers import Cluster

Fresh = Callable[[str], str]
FROM_FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET


async def test_messages_go_only_to_the_queues_that_the_name_server_names(
    cluster: Cluster, fresh: Fresh
) -> None:
    topic = fresh("ordered")
    async with Admin(namesrv=cluster.namesrv) as admin:
        await admin.topics.create(cluster.broker, TopicConfig(topic, 4, 4, order=True))
        await admin.name_servers.update_config({"orderMessageEnable": "true"})  # off by default, as ever
        await admin.name_servers.put(ORDER_TOPICS, topic, "client-a:2")
        async with Producer(fresh("shop"), namesrv=cluster.namesrv) as producer:
            assert await producer.queues(topic) == (
                MessageQueue(topic, "client-a", 0),
                MessageQueue(topic, "client-a", 1),
            )
            results = [await producer.send(Message(topic, b"x")) for _ in range(8)]
        assert {result.queue.queue_id for result in results} == {0, 1}
        await admin.name_servers.delete(ORDER_TOPICS, topic)
        async with Producer(fresh("shop"), namesrv=cluster.namesrv) as producer:
            assert len(await producer.queues(topic)) == 4


async def test_one_queue_keeps_everything_in_order_whoever_consumes(cluster: Cluster, fresh: Fresh) -> None:
    topic, group = fresh("global"), fresh("group")
    seen: list[int] = []

    async def listener(message: ReceivedMessage) -> None:
        seen.append(int(message.body))

    options = ConsumerOptions(orderly=True, from_where=FROM_FIRST, rebalance_s=1.0)
    async with Admin(namesrv=cluster.namesrv) as admin:
        await admin.topics.create(cluster.broker, TopicConfig(topic, 1, 1))
    consumers = [PushConsumer(group, listener, namesrv=cluster.namesrv, options=options) for _ in range(3)]
    for consumer in consumers:
        consumer.subscribe(topic)
        await consumer.start()
    async with Producer(fresh("shop"), namesrv=cluster.namesrv) as producer:
        for number in range(200):
            await producer.send(Message(topic, str(number).encode()))
    async with asyncio.timeout(30):
        while len(set(seen)) < 200:
            await asyncio.sleep(0.02)
    await asyncio.gather(*(consumer.close() for consumer in consumers))
    # A member that hands the queue over may have its last message seen again by the next, never others.
    assert list(dict.fromkeys(seen)) == list(range(200))

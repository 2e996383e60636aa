"""The other way round: our Python client on Apache's name server and broker, both lines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from engine.client import (
    Admin,
    LitePullConsumer,
    LitePullOptions,
    Message,
    Producer,
    ProducerOptions,
    SendStatus,
)
from engine.protocol.bodies.clients import ConsumeFromWhere
from engine.protocol.bodies.topics import TopicConfig

from .clusters import BROKER_NAME, CLUSTER_NAME, Cluster
from .python_client import bodies, messages, poll, stored
from .received import numbered
from .remoting import create_topic

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
FROM_FIRST = LitePullOptions(from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)


async def test_sends_are_stored_where_the_result_says(apache: Cluster, fresh: Fresh) -> None:
    topic = fresh("sync")
    async with Producer("py", namesrv=apache.name_server) as producer:
        results = [await producer.send(message) for message in messages(topic, "one", 8)]
    assert {result.status for result in results} == {SendStatus.SEND_OK}
    assert {result.queue.broker_name for result in results} == {BROKER_NAME}
    received = await stored(apache, topic, 8)
    assert bodies(received) == numbered("one", 8)
    assert {(m.msg_id, m.offset_msg_id, m.queue.queue_id, m.queue_offset) for m in received} == {
        (r.msg_id, r.offset_msg_id, r.queue.queue_id, r.queue_offset) for r in results
    }
    assert {(m.tags, m.properties["n"], m.keys[0]) for m in received} == {
        ("one", str(n), f"key-one-{n}") for n in range(8)
    }


async def test_async_and_one_way_sends_arrive(apache: Cluster, fresh: Fresh) -> None:
    topic = fresh("async")
    async with Producer("py", namesrv=apache.name_server) as producer:
        futures = [await producer.send_async(message) for message in messages(topic, "async", 50)]
        assert {result.status for result in await asyncio.gather(*futures)} == {SendStatus.SEND_OK}
        for message in messages(topic, "oneway", 10):
            await producer.send_oneway(message)
        await producer.flush()
        received = await stored(apache, topic, 60)
    assert bodies(received) == sorted(numbered("async", 50) + numbered("oneway", 10))


async def test_batch_lands_on_one_queue_in_order(apache: Cluster, fresh: Fresh) -> None:
    topic = fresh("batch")
    async with Producer("py", namesrv=apache.name_server) as producer:
        (result,) = await producer.send_batch(messages(topic, "item", 20))
    received = await stored(apache, topic, 20)
    assert [message.body.decode() for message in received] == [f"item-{n}" for n in range(20)]
    assert [message.queue_offset for message in received] == list(range(20))
    assert result.offset_msg_id.split(",") == [message.offset_msg_id for message in received]
    assert result.msg_id.split(",") == [message.msg_id for message in received]


async def test_selector_and_sharding_key_fix_the_queue(apache: Cluster, fresh: Fresh) -> None:
    topic = fresh("select")
    create_topic(apache.broker, topic)
    async with Producer("py", namesrv=apache.name_server) as producer:
        for number in range(4):
            results = [
                await producer.send(m, select=lambda queues, _, number=number: queues[number])  # type: ignore[misc]
                for m in messages(topic, f"s{number}", 3)
            ]
            assert [(r.queue.queue_id, r.queue_offset) for r in results] == [(number, n) for n in range(3)]
        sharded = [await producer.send(m, sharding_key="order-17") for m in messages(topic, "shard", 3)]
    assert len({result.queue.queue_id for result in sharded}) == 1


@pytest.mark.parametrize("compression", ["zlib", "lz4", "zstd"])
async def test_compressed_body_comes_back(apache: Cluster, fresh: Fresh, compression: str) -> None:
    topic, body = fresh("large"), b"signal box " * 20_000
    options = ProducerOptions(compression=compression)  # type: ignore[arg-type]
    async with Producer("py", namesrv=apache.name_server, options=options) as producer:
        await producer.send(Message(topic, body))
    (received,) = await stored(apache, topic, 1)
    assert received.body == body
    assert len(received.record.body) < len(body) // 10


async def test_lite_pull_group_commits_and_resumes(apache: Cluster, fresh: Fresh) -> None:
    topic, group = fresh("lite"), fresh("group")
    async with Producer("py", namesrv=apache.name_server) as producer:
        for message in messages(topic, "first", 20):
            await producer.send(message)
        async with LitePullConsumer(group, namesrv=apache.name_server, options=FROM_FIRST) as consumer:
            consumer.subscribe(topic)
            assert bodies(await poll(consumer, 20)) == numbered("first", 20)
            await consumer.commit()
        for message in messages(topic, "second", 20):
            await producer.send(message)
        async with LitePullConsumer(group, namesrv=apache.name_server, options=FROM_FIRST) as consumer:
            consumer.subscribe(topic)
            assert bodies(await poll(consumer, 20)) == numbered("second", 20)


async def test_tag_filter_selects(apache: Cluster, fresh: Fresh) -> None:
    topic, group = fresh("tags"), fresh("group")
    async with Producer("py", namesrv=apache.name_server) as producer:
        for tag in ("red", "green", "blue"):
            for message in messages(topic, tag, 5):
                await producer.send(message)
    async with LitePullConsumer(group, namesrv=apache.name_server, options=FROM_FIRST) as consumer:
        consumer.subscribe(topic, "red || blue")
        assert bodies(await poll(consumer, 10)) == sorted(numbered("red", 5) + numbered("blue", 5))
        assert await consumer.poll(timeout_ms=1_000) == []


async def test_admin_reads_and_changes(apache: Cluster, fresh: Fresh) -> None:
    topic = fresh("admin")
    async with (
        Admin(namesrv=apache.name_server) as admin,
        Producer("py-admin", namesrv=apache.name_server) as producer,
    ):
        assert await admin.cluster.masters(CLUSTER_NAME) == [apache.broker]
        await admin.topics.create(apache.broker, TopicConfig(topic, 3, 3))
        assert topic in await admin.topics.names()
        assert (await admin.topics.configs(apache.broker))[topic].write_queue_nums == 3
        result = await producer.send(messages(topic, "admin", 1)[0])
        await stored(apache, topic, 1)
        table = (await admin.topics.stats(topic)).offset_table
        assert sorted(offsets.max_offset for offsets in table.values()) == [0, 0, 1]
        assert (await admin.messages.by_offset_id(result.offset_msg_id)).body == b"admin-0"
        assert [m.body for m in await admin.messages.by_key(topic, "key-admin-0")] == [b"admin-0"]
        assert [m.body for m in await admin.messages.by_unique_key(topic, result.msg_id)] == [b"admin-0"]
        assert int((await admin.brokers.runtime_info(apache.broker))["commitLogMaxOffset"]) > 0
        assert (await admin.brokers.config(apache.broker))["brokerName"] == BROKER_NAME
        await admin.topics.delete(topic, CLUSTER_NAME)
        assert topic not in await admin.topics.names()


async def test_admin_sees_a_groups_progress_and_resets_it(apache: Cluster, fresh: Fresh) -> None:
    topic, group = fresh("progress"), fresh("group")
    async with Producer("py", namesrv=apache.name_server) as producer:
        for message in messages(topic, "body", 8):
            await producer.send(message)
    async with (
        Admin(namesrv=apache.name_server) as admin,
        LitePullConsumer(group, namesrv=apache.name_server, options=FROM_FIRST) as consumer,
    ):
        consumer.subscribe(topic)
        assert len(await poll(consumer, 8)) == 8
        await consumer.commit()
        stats = await admin.groups.consume_stats(group, topic)
        assert sum(offsets.consumer_offset for offsets in stats.offset_table.values()) == 8
        assert group in await admin.topics.groups(topic)
        connections = await admin.clients.consumers(apache.broker, group)
        assert {connection.client_id for connection in connections.connection_set} == {
            consumer.instance.client_id
        }

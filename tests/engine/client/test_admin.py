"""The admin against a real name server and broker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import pytest

from engine.client import (
    Admin,
    ConsumerOptions,
    LitePullConsumer,
    LitePullOptions,
    Message,
    MessageQueue,
    Producer,
    PushConsumer,
    ReceivedMessage,
)
from engine.client.admin.name_servers import ORDER_TOPICS
from engine.errors import BadInput, NotFound, PeerError
from engine.protocol.bodies.clients import ConsumeResult
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import LanguageCode, ResponseCode
from engine.protocol.message_ids import offset_msg_id
from tests.engine.client.servers import Cluster

Fresh = Callable[[str], str]


@pytest.fixture
async def admin(namesrv: str) -> AsyncIterator[Admin]:
    async with Admin(namesrv=namesrv) as opened:
        yield opened


async def until_true(step: Callable[[], object], timeout_s: float = 20.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not step():
            await asyncio.sleep(0.02)


async def send(namesrv: str, *messages: Message) -> None:
    async with Producer("shop", namesrv=namesrv) as producer:
        for message in messages:
            await producer.send(message)


async def test_the_cluster_is_known(admin: Admin, cluster: Cluster) -> None:
    info = await admin.cluster.info()
    assert info.cluster_addr_table["ClientCluster"] == {"client-a"}
    assert await admin.cluster.masters() == await admin.cluster.brokers("ClientCluster") == [cluster.broker]
    assert await admin.cluster.address_of("client-a") == cluster.broker
    with pytest.raises(NotFound):
        await admin.cluster.masters("elsewhere")


async def test_a_topic_is_created_changed_and_deleted(admin: Admin, cluster: Cluster, fresh: Fresh) -> None:
    topic = fresh("made")
    await admin.topics.create(cluster.broker, TopicConfig(topic, 3, 3))
    await admin.topics.create(cluster.broker, TopicConfig(topic, 5, 5))
    assert (await admin.topics.config(cluster.broker, topic)).write_queue_nums == 5
    assert topic in await admin.topics.configs(cluster.broker)
    await until_route(admin, topic, 5)
    assert topic in await admin.topics.names()
    assert topic in await admin.topics.names("ClientCluster")
    await admin.topics.delete(topic)
    with pytest.raises(PeerError) as gone:
        await admin.topics.config(cluster.broker, topic)
    assert gone.value.code == ResponseCode.TOPIC_NOT_EXIST
    assert topic not in await admin.topics.names()


async def until_route(admin: Admin, topic: str, queues: int) -> None:
    async with asyncio.timeout(20):
        while True:
            route = await admin.instance.name_servers.route(topic)
            if route is not None and route.queue_datas[0].write_queue_nums == queues:
                return
            await asyncio.sleep(0.05)


async def test_topic_stats_and_offsets_agree(
    admin: Admin, cluster: Cluster, namesrv: str, fresh: Fresh
) -> None:
    topic = fresh("stats")
    before_ms = int(time.time() * 1000)
    await send(namesrv, *[Message(topic, b"x")] * 8)
    stats = await admin.topics.stats(topic)
    assert sum(offset.max_offset - offset.min_offset for offset in stats.offset_table.values()) == 8
    queue = max(stats.offset_table, key=lambda mq: stats.offset_table[mq].max_offset)
    assert await admin.offsets.max_offset(queue) == stats.offset_table[queue].max_offset
    assert await admin.offsets.min_offset(queue) == 0
    assert await admin.offsets.offset_at(queue, before_ms - 1000) == 0
    assert (await admin.offsets.earliest_store_time(queue) or 0) >= before_ms


async def test_a_group_is_created_listed_and_deleted(admin: Admin, cluster: Cluster, fresh: Fresh) -> None:
    group = fresh("made-group")
    await admin.groups.create(cluster.broker, SubscriptionGroupConfig(group, retry_max_times=3))
    assert (await admin.groups.config(cluster.broker, group)).retry_max_times == 3
    assert group in await admin.groups.configs(cluster.broker)
    await admin.groups.delete(cluster.broker, group)
    assert group not in await admin.groups.configs(cluster.broker)


async def test_progress_reset_and_clone(admin: Admin, cluster: Cluster, namesrv: str, fresh: Fresh) -> None:
    topic, group, other = fresh("progress"), fresh("group"), fresh("group")
    await send(namesrv, *[Message(topic, b"x")] * 8)
    options = LitePullOptions(auto_commit=False)
    async with LitePullConsumer(group, namesrv=namesrv, options=options) as consumer:
        await consumer.assign(await consumer.queues(topic))
        await consumer.commit(dict.fromkeys(consumer.assignment(), 1))
    stats = await admin.groups.consume_stats(group, topic)
    assert stats.total_lag == 4
    table = await admin.offsets.all_on_broker(cluster.broker)
    assert table[f"{topic}@{group}"] == dict.fromkeys(range(4), 1)
    assert await admin.groups.topics(cluster.broker, group) >= {topic}
    assert group in await admin.topics.groups(topic)
    moved = await admin.offsets.reset(group, topic, 0)
    assert set(moved.values()) == {0} and len(moved) == 4
    await admin.groups.create(cluster.broker, SubscriptionGroupConfig(other))
    await admin.offsets.commit(group, MessageQueue(topic, "client-a", 2), 2)
    await admin.offsets.clone(cluster.broker, group, other, topic, offline=True)
    assert f"{topic}@{other}" in await admin.offsets.all_on_broker(cluster.broker)


async def test_messages_are_found_by_key_id_and_place(admin: Admin, namesrv: str, fresh: Fresh) -> None:
    topic, key = fresh("find"), fresh("order")
    async with Producer("shop", namesrv=namesrv) as producer:
        result = await producer.send(Message(topic, b"wanted", keys=[key, "other"], tags="t"))
        await producer.send(Message(topic, b"not wanted", keys="other"))
    async with asyncio.timeout(20):
        while not (by_key := await admin.messages.by_key(topic, key)):
            await asyncio.sleep(0.05)
    by_id = await admin.messages.by_unique_key(topic, result.msg_id)
    by_offset_id = await admin.messages.by_offset_id(result.offset_msg_id)
    at_place = await admin.messages.at(result.queue, result.queue_offset)
    assert [m.body for m in (*by_key, *by_id, by_offset_id, at_place)] == [b"wanted"] * 4
    assert by_offset_id.queue == result.queue
    assert await admin.messages.by_key(topic, "unknown") == []
    with pytest.raises(NotFound):
        await admin.messages.at(result.queue, 1000)


async def test_a_forged_message_id_is_not_followed(admin: Admin) -> None:
    forged = offset_msg_id(("127.0.0.1", 22), 0)
    with pytest.raises(BadInput, match="not a broker of this cluster"):
        await admin.messages.by_offset_id(forged)


async def test_connected_clients_are_listed_and_answer(
    admin: Admin, cluster: Cluster, namesrv: str, fresh: Fresh
) -> None:
    topic, group, producer_group = fresh("clients"), fresh("group"), fresh("producers")
    seen: list[bytes] = []

    async def listener(message: ReceivedMessage) -> None:
        seen.append(message.body)

    async with Producer(producer_group, namesrv=namesrv) as producer:
        result = await producer.send(Message(topic, b"x"))
        consumer = PushConsumer(
            group, listener, namesrv=namesrv, options=ConsumerOptions(commit_interval_s=0.1)
        )
        consumer.subscribe(topic, "*")
        async with consumer:
            await until_true(lambda: seen)
            client_id = consumer.instance.client_id
            connection = await admin.clients.consumers(cluster.broker, group)
            assert [c.client_id for c in connection.connection_set] == [client_id]
            assert connection.connection_set[0].language is LanguageCode.PYTHON
            assert set(connection.subscription_table) == {topic, f"%RETRY%{group}"}
            assert await admin.clients.consumer_ids(cluster.broker, group) == (client_id,)
            await producer.instance.heartbeat()
            producers = await admin.clients.producers(cluster.broker, producer_group)
            assert [c.client_id for c in producers.connection_set] == [producer.instance.client_id]
            assert producer_group in await admin.clients.all_producers(cluster.broker)

            info = await admin.clients.running_info(cluster.broker, group, client_id)
            assert info.properties["PROP_CONSUME_TYPE"] == "CONSUME_PASSIVELY"
            assert topic in {data.topic for data in info.subscription_set}
            assert {queue.topic for queue in info.mq_table} >= {topic}
            assert info.status_table[topic].consume_ok_tps > 0

            direct = await admin.messages.consume_directly(
                cluster.broker, group, client_id, result.offset_msg_id, topic
            )
            assert direct.consume_result is ConsumeResult.CR_SUCCESS
            assert seen == [b"x", b"x"]
            status = await admin.offsets.of_clients(cluster.broker, group, topic)
            assert {queue.topic for queue in status[client_id]} == {topic}


async def test_the_broker_tells_and_changes(admin: Admin, cluster: Cluster) -> None:
    runtime = await admin.brokers.runtime_info(cluster.broker)
    assert runtime["brokerVersionDesc"] == "V5_3_3"
    config = await admin.brokers.config(cluster.broker)
    assert config["brokerName"] == "client-a"
    flipped = "false" if config["autoCreateTopicEnable"] == "true" else "true"
    await admin.brokers.update_config(cluster.broker, {"autoCreateTopicEnable": flipped})
    try:
        assert (await admin.brokers.config(cluster.broker))["autoCreateTopicEnable"] == flipped
    finally:
        await admin.brokers.update_config(
            cluster.broker, {"autoCreateTopicEnable": config["autoCreateTopicEnable"]}
        )


async def test_name_servers_keep_key_values_and_permissions(admin: Admin, namesrv: str, fresh: Fresh) -> None:
    key = fresh("key")
    await admin.name_servers.put(ORDER_TOPICS, key, "client-a:4")
    assert await admin.name_servers.get(ORDER_TOPICS, key) == "client-a:4"
    assert (await admin.name_servers.pairs(ORDER_TOPICS))[key] == "client-a:4"
    await admin.name_servers.delete(ORDER_TOPICS, key)
    assert await admin.name_servers.get(ORDER_TOPICS, key) is None
    assert await admin.name_servers.pairs("no-such-namespace") == {}
    assert admin.name_servers.addresses == (namesrv,)
    assert await admin.name_servers.config(namesrv)
    wiped = await admin.name_servers.wipe_write_perm("client-a")
    restored = await admin.name_servers.add_write_perm("client-a")
    assert wiped[namesrv] == restored[namesrv] > 0


async def test_a_refusal_carries_code_and_remark(admin: Admin, cluster: Cluster, fresh: Fresh) -> None:
    with pytest.raises(PeerError) as refused:
        await admin.clients.consumers(cluster.broker, fresh("offline"))
    assert refused.value.code == ResponseCode.CONSUMER_NOT_ONLINE
    assert "CONSUMER_NOT_ONLINE (206)" in refused.value.text

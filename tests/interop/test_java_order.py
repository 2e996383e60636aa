"""Order with official Java clients: ordered topics, and orderly groups of Java and Python members."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from engine.client import Admin, ConsumeFromWhere, ConsumerOptions, PushConsumer
from engine.client.admin.name_servers import ORDER_TOPICS
from engine.protocol.bodies.topics import TopicConfig

from .clusters import BROKER_NAME, Cluster
from .java_client import JavaClient
from .python_client import Inbox
from .received import offsets_by_queue

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
Received = dict[str, int]
QUEUES, COUNT = 4, 60
ORDERLY = ConsumerOptions(
    orderly=True, from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, rebalance_s=1.0
)


async def test_java_keeps_to_the_queues_of_an_ordered_topic(
    cluster: Cluster, java: JavaClient, fresh: Fresh
) -> None:
    topic = fresh("ordered")
    async with Admin(namesrv=cluster.name_server) as admin:
        await admin.topics.create(cluster.broker, TopicConfig(topic, 4, 4, order=True))
        await admin.name_servers.update_config({"orderMessageEnable": "true"})  # off by default
        await admin.name_servers.put(ORDER_TOPICS, topic, f"{BROKER_NAME}:2")
    results = java.do("send-sync", topic=topic, count=8)
    assert {result["queueId"] for result in results} == {0, 1}


async def test_an_orderly_group_of_both_makes_keeps_each_queue_in_order(
    cluster: Cluster, java: JavaClient, fresh: Fresh
) -> None:
    """Members come and go; whoever has a queue goes on where the last one stopped."""
    topic, group = fresh("orderly"), fresh("group")
    async with Admin(namesrv=cluster.name_server) as admin:
        await admin.topics.create(cluster.broker, TopicConfig(topic, QUEUES, QUEUES))
    names = [fresh("member") for _ in range(2)]
    inbox = Inbox()
    ours = PushConsumer(group, inbox, namesrv=cluster.name_server, options=ORDERLY)
    ours.subscribe(topic)
    java.do("push-start", name=names[0], topic=topic, group=group, listener="orderly")
    await ours.start()
    received = []
    for part in range(3):
        for shard in range(QUEUES):
            sending = java.begin(
                "send-selector", topic=topic, count=COUNT // 3, shard=shard, prefix=f"p{part}"
            )
            await asyncio.to_thread(java.finish, sending)
        if part == 0:
            java.do("push-start", name=names[1], topic=topic, group=group, listener="orderly")
        if part == 1:
            received += java.do("push-stop", name=names[0])
    java_only = await _all_of(java, names[1], inbox, received)
    await ours.close()
    java.do("push-stop", name=names[1])
    histories = [offsets_by_queue(received), offsets_by_queue(java_only), _ours(inbox)]
    for history in histories:
        for offsets in history.values():
            assert list(dict.fromkeys(offsets)) == sorted(set(offsets)), histories
    for queue in range(QUEUES):
        consumed = {offset for history in histories for offset in history.get(queue, [])}
        assert consumed == set(range(COUNT)), (queue, histories)


def _ours(inbox: Inbox) -> dict[int, list[int]]:
    history: dict[int, list[int]] = {}
    for message in inbox.received:
        history.setdefault(message.queue.queue_id, []).append(message.queue_offset)
    return history


async def _all_of(java: JavaClient, name: str, inbox: Inbox, gone: list[Received]) -> list[Received]:
    """What the remaining Java member has once all members together have everything, or after a minute."""
    wanted = {(queue, offset) for queue in range(QUEUES) for offset in range(COUNT)}
    earlier = {(message["queueId"], message["queueOffset"]) for message in gone}
    messages: list[Received] = []
    for _ in range(120):
        messages = await asyncio.to_thread(java.do, "push-wait", name=name, count=0)
        now = {(message["queueId"], message["queueOffset"]) for message in messages}
        mine = {(message.queue.queue_id, message.queue_offset) for message in inbox.received}
        if earlier | now | mine >= wanted:
            break
        await asyncio.sleep(0.5)
    return messages

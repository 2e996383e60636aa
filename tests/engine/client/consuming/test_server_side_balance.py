"""Push consumers whose queues the broker shares out, pulled or popped as the broker says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from engine.client import (
    Admin,
    ConsumerOptions,
    Message,
    MessageModel,
    Producer,
    PushConsumer,
    ReceivedMessage,
)
from engine.client.pop import pop_work
from engine.errors import BadInput
from engine.protocol.bodies.groups import MessageRequestMode, SubscriptionGroupConfig
from engine.protocol.bodies.topics import TopicConfig
from tests.engine.client.servers import Cluster

Fresh = Callable[[str], str]
FOLLOWS = ConsumerOptions(server_side_balance=True, rebalance_s=1.0)


@pytest.fixture
async def admin(cluster: Cluster) -> AsyncIterator[Admin]:
    async with Admin(namesrv=cluster.namesrv) as admin:
        yield admin


async def make(admin: Admin, cluster: Cluster, topic: str, group: str) -> None:
    await admin.topics.create(cluster.broker, TopicConfig(topic, 4, 4))
    await admin.groups.create(cluster.broker, SubscriptionGroupConfig(group))


async def send(namesrv: str, topic: str, count: int, prefix: str = "m") -> list[bytes]:
    bodies = [f"{prefix}{number}".encode() for number in range(count)]
    async with Producer("shop", namesrv=namesrv) as producer:
        for body in bodies:
            await producer.send(Message(topic, body))
    return sorted(bodies)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.05)


async def test_queues_are_pulled_popped_and_pulled_again_as_the_broker_says(
    cluster: Cluster, admin: Admin, fresh: Fresh
) -> None:
    topic, group = fresh("balanced"), fresh("group")
    await make(admin, cluster, topic, group)
    bodies: list[bytes] = []

    async def listener(message: ReceivedMessage) -> None:
        bodies.append(message.body)

    consumer = PushConsumer(group, listener, namesrv=cluster.namesrv, options=FOLLOWS)
    consumer.subscribe(topic)

    def held() -> list[int]:
        return [queue.queue_id for queue in consumer.assignment() if queue.topic == topic]

    async with consumer:
        await until(lambda: held() == [0, 1, 2, 3])
        sent = await send(cluster.namesrv, topic, 10, "pulled-")
        await until(lambda: sorted(bodies) == sent)
        await admin.groups.set_request_mode(cluster.broker, group, topic, MessageRequestMode.POP)
        modes = await admin.groups.request_modes(cluster.broker)
        assert modes[topic][group].mode is MessageRequestMode.POP
        await until(lambda: held() == [-1])
        sent = sorted(sent + await send(cluster.namesrv, topic, 10, "popped-"))
        await until(lambda: len(bodies) >= 20)
        await admin.groups.set_request_mode(cluster.broker, group, topic, MessageRequestMode.PULL)
        await until(lambda: held() == [0, 1, 2, 3])
        sent = sorted(sent + await send(cluster.namesrv, topic, 10, "again-"))
        await until(lambda: sorted(set(bodies)) == sent)


async def test_what_fails_rests_and_comes_again(
    cluster: Cluster, admin: Admin, fresh: Fresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pop_work, "RETRY_AFTER_S", (1,))
    topic, group = fresh("balanced"), fresh("group")
    await make(admin, cluster, topic, group)
    await admin.groups.set_request_mode(cluster.broker, group, topic, MessageRequestMode.POP)
    tries: list[int] = []

    async def listener(message: ReceivedMessage) -> None:
        tries.append(message.reconsume_times)
        raise ValueError("not today")

    options = ConsumerOptions(server_side_balance=True, max_reconsume_times=2)
    consumer = PushConsumer(group, listener, namesrv=cluster.namesrv, options=options)
    consumer.subscribe(topic)
    async with consumer:
        await send(cluster.namesrv, topic, 1)
        await until(lambda: len(tries) == 3)
        dead = f"%DLQ%{group}"

        async def letters() -> int:
            if dead not in await admin.topics.names():
                return 0
            table = (await admin.topics.stats(dead)).offset_table
            return sum(offsets.max_offset for offsets in table.values())

        async with asyncio.timeout(20):
            while await letters() != 1:
                await asyncio.sleep(0.1)
    assert tries == [0, 1, 2]


def test_only_clustered_listeners_side_by_side_can_follow_the_broker() -> None:
    for options in ({"orderly": True}, {"model": MessageModel.BROADCASTING}):
        with pytest.raises(BadInput, match="server_side_balance"):
            ConsumerOptions(server_side_balance=True, **options)  # type: ignore[arg-type]

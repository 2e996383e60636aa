"""Our push consumer on Apache's name server and broker, both lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.client import (
    Admin,
    ClientInstance,
    ClientOptions,
    ConsumeFromWhere,
    ConsumerOptions,
    MessageModel,
    Producer,
    PushConsumer,
    ReceivedMessage,
)

from .clusters import Cluster
from .python_client import Inbox, bodies, messages
from .received import numbered
from .remoting import create_topic

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET


def pusher(apache: Cluster, group: str, inbox: Inbox, topic: str, options: ConsumerOptions) -> PushConsumer:
    consumer = PushConsumer(group, inbox, namesrv=apache.name_server, options=options)
    consumer.subscribe(topic)
    return consumer


async def send(apache: Cluster, topic: str, prefix: str, count: int) -> None:
    async with Producer("py-push", namesrv=apache.name_server) as producer:
        for message in messages(topic, prefix, count):
            await producer.send(message)


async def test_concurrent_push_gets_old_and_new_and_resumes(apache: Cluster, fresh: Fresh) -> None:
    topic, group, inbox = fresh("push"), fresh("group"), Inbox()
    await send(apache, topic, "old", 20)
    async with pusher(apache, group, inbox, topic, ConsumerOptions(from_where=FIRST)):
        assert bodies(await inbox.expect(20)) == numbered("old", 20)
        await send(apache, topic, "new", 20)
        assert bodies(await inbox.expect(40)) == sorted(numbered("old", 20) + numbered("new", 20))
    await send(apache, topic, "later", 5)
    again = Inbox()
    async with pusher(apache, group, again, topic, ConsumerOptions(from_where=FIRST)):
        assert bodies(await again.expect(5)) == numbered("later", 5)


async def test_orderly_push_keeps_the_order_of_each_queue(apache: Cluster, fresh: Fresh) -> None:
    topic, group, inbox = fresh("orderly"), fresh("group"), Inbox()
    create_topic(apache.broker, topic)
    await send(apache, topic, "body", 80)
    async with pusher(apache, group, inbox, topic, ConsumerOptions(from_where=FIRST, orderly=True)):
        received = await inbox.expect(80)
    assert len(received) == 80
    for queue_id in range(4):
        offsets = [message.queue_offset for message in received if message.queue.queue_id == queue_id]
        assert offsets == list(range(20))


async def test_broadcast_gives_every_member_every_message(
    apache: Cluster, fresh: Fresh, tmp_path: Path
) -> None:
    topic, group = fresh("broadcast"), fresh("group")
    await send(apache, topic, "body", 10)
    options = ConsumerOptions(
        model=MessageModel.BROADCASTING, from_where=FIRST, offsets_folder=str(tmp_path / "offsets")
    )
    for name in ("first", "second"):
        inbox = Inbox()
        instance = ClientInstance(apache.name_server, ClientOptions(instance_name=fresh(name)))
        instance.start()
        consumer = PushConsumer(group, inbox, options=options, instance=instance)
        consumer.subscribe(topic)
        async with consumer:
            assert bodies(await inbox.expect(10)) == numbered("body", 10)
        await instance.close()


async def test_failed_message_comes_back_through_the_retry_topic(apache: Cluster, fresh: Fresh) -> None:
    topic, group, inbox = fresh("retry"), fresh("group"), Inbox()
    await send(apache, topic, "body", 1)

    async def fail_once(message: ReceivedMessage) -> None:
        await inbox(message)
        if message.reconsume_times == 0:
            raise RuntimeError("not yet")

    consumer = PushConsumer(
        group, fail_once, namesrv=apache.name_server, options=ConsumerOptions(from_where=FIRST)
    )
    consumer.subscribe(topic)
    async with consumer:
        first, second = await inbox.expect(2, timeout_s=45)
    assert (first.topic, second.topic) == (topic, topic)
    assert (first.body, second.body) == (b"body-0", b"body-0")
    assert second.reconsume_times == 1
    assert second.msg_id == first.msg_id


async def test_two_members_share_the_queues(apache: Cluster, fresh: Fresh) -> None:
    topic, group = fresh("shared"), fresh("group")
    create_topic(apache.broker, topic)
    options = ConsumerOptions(from_where=FIRST, rebalance_s=2.0)
    one, two = Inbox(), Inbox()
    async with (
        pusher(apache, group, one, topic, options) as first,
        pusher(apache, group, two, topic, options) as second,
    ):
        for number in range(30):
            await send(apache, topic, f"r{number}", 4)
            await one.expect(10_000, timeout_s=0.5)
            held = [{q.queue_id for q in c.assignment() if q.topic == topic} for c in (first, second)]
            if sorted(map(len, held)) == [2, 2] and not held[0] & held[1]:
                break
        else:
            pytest.fail(f"queues were never shared two and two: {held}")
        before = len(one.received), len(two.received)
        await send(apache, topic, "last", 8)
        assert len(await one.expect(before[0] + 4)) == before[0] + 4
        assert len(await two.expect(before[1] + 4)) == before[1] + 4


async def test_admin_asks_the_consumer_for_its_running_info(apache: Cluster, fresh: Fresh) -> None:
    topic, group, inbox = fresh("info"), fresh("group"), Inbox()
    await send(apache, topic, "body", 4)
    async with (
        Admin(namesrv=apache.name_server) as admin,
        pusher(apache, group, inbox, topic, ConsumerOptions(from_where=FIRST)) as consumer,
    ):
        await inbox.expect(4)
        info = await admin.clients.running_info(apache.broker, group, consumer.instance.client_id)
        assert {queue.topic for queue in info.mq_table} >= {topic}
        assert topic in {subscription.topic for subscription in info.subscription_set}

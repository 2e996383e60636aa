"""A group of two makes: the Java client and our Python client share one topic's queues."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.client import ConsumeFromWhere, ConsumerOptions, Producer, PushConsumer

from .clusters import Cluster
from .java_client import JavaClient
from .python_client import Inbox, bodies, messages
from .received import bodies as java_bodies
from .remoting import create_topic

pytestmark = pytest.mark.needs_maven
ROUNDS = 80  # half a second each: beyond the 20 s after which every member rebalances by itself


async def test_java_and_python_members_split_a_topic(
    cluster: Cluster, java: JavaClient, fresh: Callable[[str], str]
) -> None:
    topic, group, name, inbox = fresh("mixed"), fresh("group"), fresh("consumer"), Inbox()
    create_topic(cluster.broker, topic)
    java.do("push-start", name=name, topic=topic, group=group)
    options = ConsumerOptions(from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
    consumer = PushConsumer(group, inbox, namesrv=cluster.name_server, options=options)
    consumer.subscribe(topic)
    try:
        async with consumer, Producer("py-mixed", namesrv=cluster.name_server) as producer:
            for number in range(ROUNDS):
                prefix = f"r{number}"
                for message in messages(topic, prefix, 8):
                    await producer.send(message)
                await inbox.expect(10_000, timeout_s=0.5)
                ours = {b for b in bodies(inbox.received) if b.startswith(f"{prefix}-")}
                theirs = {
                    b
                    for b in java_bodies(java.do("push-wait", name=name, count=0))
                    if b.startswith(f"{prefix}-")
                }
                if len(ours) == 4 and len(theirs) == 4 and not ours & theirs:
                    return
            pytest.fail(f"never split in halves: ours {ours}, theirs {theirs}")
    finally:
        java.do("push-stop", name=name)

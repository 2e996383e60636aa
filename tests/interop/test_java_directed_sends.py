"""Sends in all three ways: to any queue, to a named one, by a selector; over two brokers and to a consumer.

Apache's AsyncSendWith…IT, OneWaySend…IT and NormalMessageSendAndRecvIT.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .clusters import BROKER_NAME
from .java_client import JavaClient
from .pairs import ALL_QUEUES, BROKER_NAMES, SECOND_NAME, Pair
from .received import bodies, numbered, places
from .subscribed import subscribed

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
COUNT = 20


@pytest.mark.parametrize("way", ["sync", "async", "oneway"])
def test_what_is_sent_to_any_queue_is_consumed_once(
    pair: Pair, pair_java: JavaClient, fresh: Fresh, way: str
) -> None:
    topic = pair.create_topic(fresh("any"))
    with subscribed(pair_java, topic, fresh) as consumer:
        results = pair_java.do(f"send-{way}", topic=topic, count=COUNT)
        received = consumer.settled(COUNT)
    assert bodies(received) == numbered("body", COUNT)
    assert {name for name, _ in places(received)} == set(BROKER_NAMES)
    if way != "oneway":
        assert {result["status"] for result in results} == {"SEND_OK"}


@pytest.mark.parametrize("by", ["queue", "selector"])
@pytest.mark.parametrize("way", ["sync", "async", "oneway"])
def test_what_is_sent_to_one_queue_of_each_broker_lies_there(
    pair: Pair, pair_java: JavaClient, fresh: Fresh, way: str, by: str
) -> None:
    topic = pair.create_topic(fresh("directed"))
    with subscribed(pair_java, topic, fresh) as consumer:
        for sent, (broker, queue) in enumerate([(BROKER_NAME, 0), (SECOND_NAME, 0), (SECOND_NAME, 3)], 1):
            options = {
                "topic": topic,
                "broker": broker,
                "queue": queue,
                "by": by,
                "prefix": f"{broker}{queue}",
            }
            results = pair_java.do(f"direct-{way}", count=COUNT, **options)
            received = consumer.settled(COUNT * sent)
            latest = [
                message
                for message in received
                if (message["brokerName"], message["queueId"]) == (broker, queue)
            ]
            assert bodies(latest) == numbered(f"{broker}{queue}", COUNT)
            assert sorted(message["queueOffset"] for message in latest) == list(range(COUNT))
            if way != "oneway":
                assert {result["status"] for result in results} == {"SEND_OK"}
                assert places(results) == [(broker, queue)] * COUNT
    assert len(received) == 3 * COUNT


def test_offsets_are_committed_for_every_queue(pair: Pair, pair_java: JavaClient, fresh: Fresh) -> None:
    """What a plain consumer gets has no pop check point, and its clean stop commits where it was."""
    topic, group = pair.create_topic(fresh("smoke")), fresh("group")
    with subscribed(pair_java, topic, fresh, group=group) as consumer:
        for broker, queue in ALL_QUEUES:
            pair_java.do(
                "direct-sync", topic=topic, broker=broker, queue=queue, count=10, prefix=f"{broker}{queue}"
            )
        received = consumer.settled(10 * len(ALL_QUEUES))
    assert bodies(received) == sorted(body for b, q in ALL_QUEUES for body in numbered(f"{b}{q}", 10))
    assert not [message for message in received if "POP_CK" in message["properties"]]
    committed = pair_java.do("read-committed", topic=topic, group=group)
    assert {(row["brokerName"], row["queueId"]): row["offset"] for row in committed} == dict.fromkeys(
        ALL_QUEUES, 10
    )

"""Sends that a careless program makes: what the client refuses, what the broker refuses, and what works.

Apache's AsyncSendExceptionIT, OneWaySendExceptionIT, MessageExceptionIT, ChinaPropIT, MessageUserPropIT and
ProducerGroupAndInstanceNameValidityIT. A refused message must not be found in its topic afterwards.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .clusters import BROKER_NAME, Cluster
from .java_client import JavaClient, JavaError
from .received import bodies, read_all
from .remoting import create_topic
from .subscribed import subscribed

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
MAX_BODY = 4 * 1024 * 1024
CLIENT_REFUSES = "MQClientException"


@pytest.fixture
def topic(cluster: Cluster, fresh: Fresh) -> str:
    name = fresh("odd")
    create_topic(cluster.broker, name)
    return name


def assert_only_stored(java: JavaClient, topic: str, *expected: str) -> None:
    """One more message is sent and read: whatever came before it would be there too."""
    java.do("send-sync", topic=topic, prefix="after")
    assert bodies(read_all(java, topic, 1 + len(expected))) == sorted([*expected, "after-0"])


def test_an_async_send_without_a_callback_is_stored(java: JavaClient, topic: str) -> None:
    assert java.do("odd-async", topic=topic, lacks="callback") == "never"
    assert_only_stored(java, topic, "odd")


@pytest.mark.parametrize("lacks", ["selector", "choice"])
def test_an_async_send_with_nowhere_to_go_stores_nothing(java: JavaClient, topic: str, lacks: str) -> None:
    """The call itself does not throw; the callback is told."""
    assert "select message queue threw exception" in java.do("odd-async", topic=topic, lacks=lacks)
    assert_only_stored(java, topic)


def test_an_async_send_to_no_queue_does_not_throw(java: JavaClient, topic: str) -> None:
    """The 5.x client sends it to any queue then; the 4.9 client tells its callback what it is."""
    told = java.do("odd-async", topic=topic, lacks="queue")
    if java.version == "5":
        assert told == "SEND_OK"
        assert_only_stored(java, topic, "odd")
    else:
        assert "NullPointerException" in told
        assert_only_stored(java, topic)


@pytest.mark.parametrize(
    ("lacks", "error"),
    [("queue", "NullPointerException"), ("selector", CLIENT_REFUSES), ("choice", CLIENT_REFUSES)],
)
def test_a_one_way_send_with_nowhere_to_go_is_refused(
    java: JavaClient, topic: str, lacks: str, error: str
) -> None:
    with pytest.raises(JavaError, match=error):
        java.do("odd-oneway", topic=topic, lacks=lacks)
    assert_only_stored(java, topic)


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_queue_beyond_the_topics_is_refused(
    java: JavaClient, cluster: Cluster, topic: str, way: str
) -> None:
    options = {"topic": topic, "broker": BROKER_NAME, "queue": 100}
    if way == "async":
        (told,) = java.do("direct-async", **options)
    else:
        with pytest.raises(JavaError) as failed:
            java.do("direct-sync", **options)
        told = str(failed.value)
    code = 1 if cluster.target == "apache-4.9" else 29
    assert f"MQBrokerException: CODE: {code} " in told and "queueId[100] is illegal" in told
    assert_only_stored(java, topic)


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_negative_queue_lets_the_broker_choose(java: JavaClient, topic: str, way: str) -> None:
    (result,) = java.do(f"direct-{way}", topic=topic, broker=BROKER_NAME, queue=-100)
    assert result["status"] == "SEND_OK"
    assert_only_stored(java, topic, "body-0")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"message": "null"}, "NullPointerException"),
        ({"message": "null-body"}, CLIENT_REFUSES),
        ({"message": "sized", "size": 0}, CLIENT_REFUSES),
        ({"message": "sized", "size": MAX_BODY + 1}, CLIENT_REFUSES),
        ({"message": "null-topic"}, CLIENT_REFUSES),
        ({"topic": ""}, CLIENT_REFUSES),
        ({"message": "long-property", "size": 32 * 1024 + 1}, "MQBrokerException: CODE: 13 "),
    ],
    ids=["null", "null-body", "empty-body", "too-large", "null-topic", "blank-topic", "long-property"],
)
def test_a_message_that_cannot_be_is_refused(
    java: JavaClient, topic: str, options: dict[str, object], error: str
) -> None:
    with pytest.raises(JavaError, match=error):
        java.do("odd-sync", **{"topic": topic, **options})
    assert_only_stored(java, topic)


@pytest.mark.parametrize("size", [1, 128 * 1024, MAX_BODY - 8 * 1024])
def test_bodies_up_to_four_mebibytes_are_stored(java: JavaClient, topic: str, size: int) -> None:
    """Deflated by the client, which makes these a little larger: 8 KiB are left for that."""
    assert java.do("odd-sync", topic=topic, message="sized", size=size)["status"] == "SEND_OK"
    (stored,) = read_all(java, topic, 1)
    assert len(stored["body"]) == (size + 2) // 3 * 4


def test_ten_thousand_chinese_signs_fit_into_a_property(java: JavaClient, topic: str) -> None:
    assert java.do("odd-sync", topic=topic, message="long-property", size=10 * 1024)["status"] == "SEND_OK"
    (stored,) = read_all(java, topic, 1)
    assert stored["properties"]["key"] == "中" * 10 * 1024


def test_user_properties_reach_the_consumer(java: JavaClient, topic: str, fresh: Fresh) -> None:
    with subscribed(java, topic, fresh) as consumer:
        java.do("send-sync", topic=topic, count=3)
        received = consumer.settled(3)
    assert sorted(message["properties"]["n"] for message in received) == ["0", "1", "2"]
    assert {message["properties"]["word"] for message in received} == {"привет 🚀"}


def test_a_second_producer_of_a_group_needs_its_own_instance(
    java: JavaClient, topic: str, fresh: Fresh
) -> None:
    group = fresh("twins")
    with pytest.raises(JavaError, match="has been created before"):
        java.do("odd-twin", topic=topic, group=group, instance="one")
    results = java.do("odd-twin", topic=topic, group=group, instance="two")
    assert [result["status"] for result in results] == ["SEND_OK"] * 2
    assert_only_stored(java, topic, "first", "second")

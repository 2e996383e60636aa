"""Every way in which the official Java client sends; each is read back by pulling the whole topic."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from .clusters import BROKER_NAME, Cluster
from .java_client import JavaClient
from .received import bodies, body, numbered, offsets_by_queue, read_all

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]


def test_sync_sends_are_stored_where_the_answer_says(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("sync")
    results = java.do("send-sync", topic=topic, count=8, tag="red")
    stored = read_all(java, topic, 8)
    assert {result["status"] for result in results} == {"SEND_OK"}
    assert bodies(stored) == numbered("body", 8)
    places = {message["msgId"]: (message["queueId"], message["queueOffset"]) for message in stored}
    assert places == {result["msgId"]: (result["queueId"], result["queueOffset"]) for result in results}
    assert {message["offsetMsgId"] for message in stored} == {result["offsetMsgId"] for result in results}
    assert {result["brokerName"] for result in results} == {BROKER_NAME}
    assert {result["regionId"] for result in results} == {"DefaultRegion"}


def test_round_robin_reaches_all_four_queues(java: JavaClient, fresh: Fresh) -> None:
    results = java.do("send-sync", topic=fresh("spread"), count=8)
    assert sorted(result["queueId"] for result in results) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_properties_flag_and_birth_come_back(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("properties")
    before_ms = int(time.time() * 1000)
    (sent,) = java.do("send-sync", topic=topic, tag="blue", prefix="p")
    (stored,) = read_all(java, topic, 1)
    assert (
        stored["properties"].items()
        >= {"TAGS": "blue", "KEYS": "key-p-0", "n": "0", "word": "привет 🚀"}.items()
    )
    assert stored["properties"]["UNIQ_KEY"] == sent["msgId"]
    assert stored["properties"]["CLUSTER"] == "InteropCluster"
    assert before_ms - 1000 <= stored["bornTimestamp"] <= stored["storeTimestamp"] + 1000
    assert stored["bornHost"].startswith("/127.0.0.1:")
    assert (stored["flag"], stored["sysFlag"], stored["reconsumeTimes"]) == (0, 0, 0)


def test_async_sends_call_back_once_each(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("async")
    results = java.do("send-async", topic=topic, count=50)
    assert [result["status"] for result in results] == ["SEND_OK"] * 50
    assert bodies(read_all(java, topic, 50)) == numbered("body", 50)


def test_one_way_sends_arrive_without_an_answer(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("oneway")
    java.do("send-sync", topic=topic, prefix="first")
    assert java.do("send-oneway", topic=topic, count=10) == 10
    assert bodies(read_all(java, topic, 11)) == sorted([*numbered("body", 10), "first-0"])


def test_batch_lands_on_one_queue_in_order(java: JavaClient, cluster: Cluster, fresh: Fresh) -> None:
    topic = fresh("batch")
    (result,) = java.do("send-batch", topic=topic, count=20, tag="green")
    stored = read_all(java, topic, 20)
    assert [body(message) for message in stored] == [f"body-{n}" for n in range(20)]
    assert offsets_by_queue(stored) == {result["queueId"]: list(range(20))}
    if java.version == "4.9" or cluster.target == "signalbox":
        # Apache up to 5.3.3 appends the 5.x client's wrapper UNIQ_KEY to every item, where it hides its own.
        assert result["msgId"].split(",") == [message["msgId"] for message in stored]
    assert result["offsetMsgId"].split(",") == [message["offsetMsgId"] for message in stored]
    assert {message["properties"]["TAGS"] for message in stored} == {"green"}
    assert [message["flag"] for message in stored] == list(range(20))


def test_selector_keeps_a_shard_on_its_queue(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("selector")
    java.do("send-sync", topic=topic)
    for shard in range(4):
        results = java.do("send-selector", topic=topic, count=5, shard=shard)
        assert {result["queueId"] for result in results} == {shard}
        positions = [result["queueOffset"] for result in results]
        assert positions == list(range(positions[0], positions[0] + 5))


def test_large_body_travels_compressed(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("large")
    java.do("send-sync", topic=topic, count=3, size=100_000)
    stored = read_all(java, topic, 3)
    assert {len(body(message)) >= 100_000 for message in stored} == {True}
    # zlib, marked in bits 8 to 10; the 5.x client takes bit 0 off when it has unpacked
    assert {message["sysFlag"] & 0x700 for message in stored} == {0x300}
    assert max(message["storeSize"] for message in stored) < 60_000


def test_chosen_queue_is_honoured(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("queue")
    java.do("admin-create", topic=topic, queues=3)
    (result,) = java.do("send-queue", topic=topic, broker=BROKER_NAME, queue=2, count=2)
    assert (result["queueId"], result["queueOffset"]) == (2, 0)

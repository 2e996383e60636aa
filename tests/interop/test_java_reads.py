"""Reads of the official Java client that need no group: ids, keys, offsets, times; and topic creation."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from .clusters import Cluster
from .java_client import JavaClient, JavaError
from .received import bodies, body, read_all

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]


def eventually(java: JavaClient, verb: str, **options: object) -> Any:
    """The index follows the log by a moment: ask again until there is an answer."""
    deadline = time.monotonic() + 10
    while True:
        try:
            return java.do(verb, **options)
        except JavaError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def test_message_is_found_by_its_unique_id(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("by-id")
    results = java.do("send-sync", topic=topic, count=5)
    found = eventually(java, "read-id", topic=topic, msgId=results[3]["msgId"])
    assert body(found) == "body-3"
    assert found["queueOffset"] == results[3]["queueOffset"]


def test_message_is_found_by_its_offset_id(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("by-offset-id")
    results = java.do("send-sync", topic=topic, count=5)
    assert body(java.do("read-id", topic=topic, msgId=results[2]["offsetMsgId"])) == "body-2"


def test_messages_are_found_by_key(java: JavaClient, fresh: Fresh) -> None:
    topic, prefix = fresh("by-key"), fresh("k")
    java.do("send-sync", topic=topic, count=5, prefix=prefix)
    java.do("send-batch", topic=topic, count=5, prefix=prefix)
    found = eventually(java, "read-key", topic=topic, key=f"key-{prefix}-4")
    assert bodies(found) == [f"{prefix}-4"] * 2


def test_unknown_key_is_not_found(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("no-key")
    java.do("send-sync", topic=topic)
    with pytest.raises(JavaError, match="query message by key finished, but no message"):
        java.do("read-key", topic=topic, key="never-sent")


def test_offsets_count_the_messages_of_each_queue(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("offsets")
    java.do("send-selector", topic=topic, count=7, shard=1)
    read_all(java, topic, 7)
    rows = java.do("read-offsets", topic=topic, timestamp=0)
    assert [(row["queueId"], row["min"], row["max"]) for row in rows] == [
        (0, 0, 0),
        (1, 0, 7),
        (2, 0, 0),
        (3, 0, 0),
    ]
    assert rows[0]["earliest"] == -1
    assert abs(rows[1]["earliest"] - time.time() * 1000) < 60_000


def test_search_by_time_finds_the_first_message_not_older(
    java: JavaClient, cluster: Cluster, fresh: Fresh
) -> None:
    topic = fresh("search")
    java.do("send-selector", topic=topic, count=5, shard=0, prefix="early")
    time.sleep(0.05)
    java.do("send-selector", topic=topic, count=5, shard=0, prefix="late")
    stored = read_all(java, topic, 10)
    late_ms = next(message["storeTimestamp"] for message in stored if body(message) == "late-0")

    def search(timestamp_ms: int) -> int:
        return java.do("read-offsets", topic=topic, timestamp=timestamp_ms)[0]["search"]

    assert search(late_ms) == 5
    assert search(0) == 0
    # Later than all: 5.x answers the queue's end, 4.9 its last message.
    assert search(late_ms + 3_600_000) == (9 if cluster.target == "apache-4.9" else 10)


def test_created_topic_has_the_queues_asked_for(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("created")
    java.do("admin-create", topic=topic, queues=6)
    assert [queue["queueId"] for queue in java.do("read-queues", topic=topic)] == list(range(6))


def test_unknown_topic_has_no_route(java: JavaClient, fresh: Fresh) -> None:
    with pytest.raises(
        JavaError, match=r"Can not find Message Queue for this topic|No topic route|No route info"
    ):
        java.do("read-queues", topic=fresh("never-created"))

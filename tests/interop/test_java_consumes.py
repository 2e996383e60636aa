"""The official Java client's consumers: push (concurrent, orderly, broadcast, filtered) and lite pull."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from .java_client import JavaClient
from .received import bodies, body, numbered, offsets_by_queue, read_all

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
# A second each. Now and then the 5.x client leaves out the heartbeat that announces its new queues'
# subscription, because another is just under way; its pulls are refused as not the latest (25), by Apache's
# broker too, until the next heartbeat, up to 30 s later (see members.py).
SHARING_ROUNDS = 50


@contextmanager
def push_consumer(java: JavaClient, name: str, **options: object) -> Iterator[str]:
    java.do("push-start", name=name, **options)
    try:
        yield name
    finally:
        java.do("push-stop", name=name)


def test_concurrent_push_gets_old_and_new_messages_once(java: JavaClient, fresh: Fresh) -> None:
    topic, group = fresh("push"), fresh("group")
    java.do("send-sync", topic=topic, count=20, prefix="old")
    with push_consumer(java, fresh("consumer"), topic=topic, group=group) as name:
        assert bodies(java.do("push-wait", name=name, count=20)) == numbered("old", 20)
        java.do("send-sync", topic=topic, count=20, prefix="new")
        received = java.do("push-wait", name=name, count=40)
    assert bodies(received) == sorted(numbered("old", 20) + numbered("new", 20))


def test_group_resumes_after_its_committed_offset(java: JavaClient, fresh: Fresh) -> None:
    topic, group = fresh("resume"), fresh("group")
    java.do("send-sync", topic=topic, count=10, prefix="first")
    with push_consumer(java, fresh("consumer"), topic=topic, group=group) as name:
        java.do("push-wait", name=name, count=10)
    java.do("send-sync", topic=topic, count=10, prefix="second")
    with push_consumer(java, fresh("consumer"), topic=topic, group=group) as name:
        assert bodies(java.do("push-wait", name=name, count=10)) == numbered("second", 10)


def test_orderly_push_keeps_the_order_of_each_queue(java: JavaClient, fresh: Fresh) -> None:
    topic, group = fresh("orderly"), fresh("group")
    for shard in range(4):
        java.do("send-selector", topic=topic, count=25, shard=shard, prefix=f"s{shard}")
    with push_consumer(java, fresh("consumer"), topic=topic, group=group, listener="orderly") as name:
        received = java.do("push-wait", name=name, count=100, timeoutMs=60_000)
    assert len(received) == 100
    for offsets in offsets_by_queue(received).values():
        assert offsets == list(range(25))


def test_two_members_of_a_group_share_the_queues(java: JavaClient, fresh: Fresh) -> None:
    topic, group = fresh("shared"), fresh("group")
    java.do("send-sync", topic=topic, prefix="warm-up")
    with (
        push_consumer(java, fresh("consumer"), topic=topic, group=group) as first,
        push_consumer(java, fresh("consumer"), topic=topic, group=group) as second,
    ):
        # Both hold two of four queues once the broker's notification has made the first give up its half.
        seen: dict[str, set[int]] = {first: set(), second: set()}
        for round_number in range(SHARING_ROUNDS):
            java.do("send-sync", topic=topic, count=8, prefix=f"r{round_number}")
            for name in seen:
                received = java.do("push-wait", name=name, count=10_000, timeoutMs=500)
                latest = [m for m in received if body(m).startswith(f"r{round_number}-")]
                seen[name] = {message["queueId"] for message in latest}
            if sorted(map(len, seen.values())) == [2, 2] and seen[first].isdisjoint(seen[second]):
                return
    pytest.fail(f"queues were never shared two and two: {seen}")


def test_broadcast_gives_every_member_every_message(java: JavaClient, fresh: Fresh) -> None:
    topic, group = fresh("broadcast"), fresh("group")
    java.do("send-sync", topic=topic, count=5, prefix="old")
    options = {"topic": topic, "group": group, "model": "broadcast"}
    with (
        push_consumer(java, fresh("c"), **options) as first,
        push_consumer(java, fresh("c"), **options) as second,
    ):
        for name in (first, second):
            java.do("push-wait", name=name, count=5)
        java.do("send-sync", topic=topic, count=5, prefix="new")
        for name in (first, second):
            received = java.do("push-wait", name=name, count=10)
            assert bodies(received) == sorted(numbered("old", 5) + numbered("new", 5))


def test_tag_filter_delivers_only_its_tags(java: JavaClient, fresh: Fresh) -> None:
    topic, group = fresh("tags"), fresh("group")
    for tag in ("red", "green", "blue"):
        java.do("send-sync", topic=topic, count=10, tag=tag, prefix=tag)
    with push_consumer(java, fresh("consumer"), topic=topic, group=group, expression="red || blue") as name:
        assert len(java.do("push-wait", name=name, count=20)) == 20
        java.do("send-sync", topic=topic, count=5, tag="green", prefix="late-green")
        java.do("send-sync", topic=topic, count=5, tag="red", prefix="late-red")
        received = java.do("push-wait", name=name, count=25)
    assert bodies(received) == sorted(numbered("red", 10) + numbered("blue", 10) + numbered("late-red", 5))


def test_tags_with_equal_hashes_are_told_apart(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh(
        "collision"
    )  # "Aa" and "BB" have the same Java hash: the broker passes both, the client one
    java.do("send-sync", topic=topic, count=4, tag="Aa", prefix="wanted")
    java.do("send-sync", topic=topic, count=4, tag="BB", prefix="other")
    assert bodies(read_all(java, topic, 4, expression="Aa")) == numbered("wanted", 4)


def test_lite_pull_subscribes_and_commits(java: JavaClient, fresh: Fresh) -> None:
    topic, group, name = fresh("lite"), fresh("group"), fresh("consumer")
    java.do("send-sync", topic=topic, count=30)
    java.do("lite-subscribe", name=name, topic=topic, group=group)
    try:
        assert bodies(java.do("lite-poll", name=name, count=30)) == numbered("body", 30)
        assert java.do("lite-commit", name=name, topic=topic) == 30
    finally:
        java.do("lite-stop", name=name)


def test_lite_pull_assigns_and_seeks(java: JavaClient, fresh: Fresh) -> None:
    topic, group, name = fresh("assign"), fresh("group"), fresh("consumer")
    java.do("send-sync", topic=topic, count=16)
    assert java.do("lite-assign", name=name, topic=topic, group=group) == 4
    try:
        assert bodies(java.do("lite-poll", name=name, count=16)) == numbered("body", 16)
        java.do("lite-seek", name=name, topic=topic, offset=2)
        again = java.do("lite-poll", name=name, count=8)
        assert sorted(message["queueOffset"] for message in again) == [2, 2, 2, 2, 3, 3, 3, 3]
    finally:
        java.do("lite-stop", name=name)


def test_waiting_consumer_is_woken_by_arrival(java: JavaClient, fresh: Fresh) -> None:
    topic, group = fresh("wake"), fresh("group")
    java.do("send-sync", topic=topic, prefix="first")
    with push_consumer(java, fresh("consumer"), topic=topic, group=group) as name:
        java.do("push-wait", name=name, count=1)
        for n in range(2, 6):  # far below the 15 s for which an empty pull is held
            java.do("send-sync", topic=topic)
            assert len(java.do("push-wait", name=name, count=n, timeoutMs=3_000)) == n

"""Offsets that are set back or ahead under groups that push and pop, and how far behind a group is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import pytest

from .clusters import Cluster
from .java_client import JavaClient
from .members import Member, member
from .poppers import Popper
from .received import Message, bodies, numbered
from .remoting import call

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
QUEUES, PER_QUEUE = 4, 25
QUERY_CONSUMER_OFFSET = 14
QUERY_NOT_FOUND = 22
SETTLE_TIMEOUT_S = 20


@pytest.fixture
def group(cluster: Cluster, java_5: JavaClient, fresh: Fresh) -> Popper:
    """Of one queue; what the resets and the progress of pushing groups are asked with, too."""
    made = Popper(java_5, cluster, fresh("reset"), fresh("group"), {"pollMs": 3000})
    made.create_topic(1)
    return made


@pytest.fixture
def pushed(cluster: Cluster, java_5: JavaClient, fresh: Fresh) -> Popper:
    made = Popper(java_5, cluster, fresh("reset"), fresh("group"))
    made.create_topic(QUEUES)
    return made


def send_to_all(java: JavaClient, topic: str, prefix: str, count: int = PER_QUEUE) -> None:
    for shard in range(QUEUES):
        java.do("send-selector", topic=topic, count=count, shard=shard, prefix=f"{prefix}{shard}")


def behind(group: Popper) -> tuple[int, int]:
    """How many messages are not yet consumed, and how many not yet pulled."""
    rows = group.progress().values()
    return sum(end - done for end, done, _ in rows), sum(end - pulled for end, _, pulled in rows)


def wait_until_behind(group: Popper, consumed: int, pulled: int) -> None:
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    while behind(group) != (consumed, pulled):
        assert time.monotonic() < deadline, group.progress()
        time.sleep(0.2)


def queue_offsets(messages: list[Message]) -> list[int]:
    return [message["queueOffset"] for message in messages]


def consumed_once(java: JavaClient, pushed: Popper, one: Member) -> None:
    send_to_all(java, pushed.topic, "m")
    assert len(one.received(QUEUES * PER_QUEUE)) == QUEUES * PER_QUEUE
    java.do("push-commit", name=one.name)
    wait_until_behind(pushed, 0, 0)


def test_one_queue_is_consumed_again(java: JavaClient, fresh: Fresh, pushed: Popper) -> None:
    with member(java, fresh("c"), topic=pushed.topic, group=pushed.group) as one:
        consumed_once(java, pushed, one)
        pushed.reset(0, queue=3)
        received = one.received((QUEUES + 1) * PER_QUEUE)
        counts = Counter(message["queueId"] for message in received)
    assert counts == {0: PER_QUEUE, 1: PER_QUEUE, 2: PER_QUEUE, 3: 2 * PER_QUEUE}


def test_all_is_consumed_again_from_a_time(java: JavaClient, fresh: Fresh, pushed: Popper) -> None:
    started_ms = int(time.time() * 1000)
    with member(java, fresh("c"), topic=pushed.topic, group=pushed.group) as one:
        consumed_once(java, pushed, one)
        address = {"broker": pushed.cluster.broker, "topic": pushed.topic, "group": pushed.group}
        offsets = pushed.java.do("bare-reset", timestamp=started_ms, **address)
        assert offsets == {str(queue): 0 for queue in range(QUEUES)}
        received = one.received(2 * QUEUES * PER_QUEUE)
    counts = Counter((message["queueId"], message["queueOffset"]) for message in received)
    assert len(counts) == QUEUES * PER_QUEUE and set(counts.values()) == {2}


def test_progress_tells_what_is_pulled_and_what_is_consumed(
    java: JavaClient, fresh: Fresh, pushed: Popper
) -> None:
    everything = QUEUES * PER_QUEUE
    with member(java, fresh("c"), topic=pushed.topic, group=pushed.group) as one:
        consumed_once(java, pushed, one)
        java.do("push-hold", name=one.name, held="true")
        send_to_all(java, pushed.topic, "held")
        wait_until_behind(pushed, everything, 0)
        java.do("push-hold", name=one.name, held="false")
        assert len(one.received(2 * everything)) == 2 * everything
    send_to_all(java, pushed.topic, "late")
    wait_until_behind(pushed, everything, everything)


def test_a_new_group_has_no_offset_and_begins_where_it_wants(
    java: JavaClient, fresh: Fresh, pushed: Popper
) -> None:
    java.do("send-sync", topic=pushed.topic, count=10)
    fields = {"consumerGroup": pushed.group, "topic": pushed.topic, "queueId": "0"}
    strict = call(pushed.cluster.broker, QUERY_CONSUMER_OFFSET, {**fields, "setZeroIfNotFound": "false"})
    assert strict.code == QUERY_NOT_FOUND
    with member(java, fresh("c"), topic=pushed.topic, group=pushed.group) as one:
        assert bodies(one.received(10)) == numbered("body", 10)


@pytest.mark.parametrize("wait_s", [0, 3.5], ids=["at-once", "later"])
def test_a_reset_brings_back_what_was_popped(group: Popper, wait_s: float) -> None:
    group.send(10)
    assert queue_offsets(group.pop()) == list(range(10))
    group.reset(4)
    time.sleep(wait_s)
    assert queue_offsets(group.pop()) == list(range(4, 10))


@pytest.mark.parametrize(
    ("after", "resets", "expected"),
    [
        (8, [5], [*range(8), *range(5, 10)]),
        (8, [3, 5], [*range(8), *range(5, 10)]),
        (2, [8], [0, 1, 8, 9]),
        (2, [5, 8], [0, 1, 8, 9]),
    ],
)
@pytest.mark.parametrize("should_ack", [False, True], ids=["kept", "acked"])
def test_resets_between_pops_take_effect_at_once(
    group: Popper, after: int, resets: list[int], expected: list[int], should_ack: bool
) -> None:
    assert popped_one_by_one(group, after, resets, should_ack, order="false") == expected


@pytest.mark.parametrize(
    ("after", "resets", "expected"),
    [
        (1, [5], [0, *range(5, 10)]),
        (1, [3, 5], [0, *range(5, 10)]),
        (5, [3], [*range(5), *range(3, 10)]),
        (5, [3, 1], [*range(5), *range(1, 10)]),
    ],
)
def test_resets_between_pops_in_order_take_effect_at_once(
    group: Popper, after: int, resets: list[int], expected: list[int]
) -> None:
    assert popped_one_by_one(group, after, resets, True, order="true") == expected


def popped_one_by_one(
    group: Popper, after: int, resets: list[int], should_ack: bool, order: str
) -> list[int]:
    """The queue offsets of all pops, with the resets after some of them."""
    group.send(10)
    received: list[Message] = []
    while popped := group.pop(max=1, order=order):
        received += popped
        if should_ack:
            group.ack(popped[0])
        if len(received) == after:
            for offset in resets:
                group.reset(offset)
    return queue_offsets(received)


def test_old_receipts_mean_nothing_after_a_reset(group: Popper) -> None:
    group.send(10)
    old = group.pop(order="true")
    assert len(old) == 10
    group.reset(2)
    assert group.progress()["0"][1] == 2
    new = group.pop(order="true")
    assert queue_offsets(new) == list(range(2, 10))
    for message in old:
        group.ack(message)
    group.send(1, "next")
    assert group.pop(order="true", pollMs=500) == [], "the queue was let go by old receipts"
    for message in new:
        group.ack(message)
    assert bodies(group.pop(order="true")) == ["next-0"]


def test_a_reset_ahead_skips_messages(group: Popper) -> None:
    assert group.pop(order="true", pollMs=500) == []  # which makes the group known
    group.send(10)
    group.reset(4)
    popped = group.pop(order="true")
    assert queue_offsets(popped) == list(range(4, 10))
    group.send(1, "next")
    assert group.pop(order="true", pollMs=500) == []
    for message in popped:
        group.ack(message)
    assert bodies(group.pop(order="true")) == ["next-0"]

"""Pops of the official 5.x client, request by request: receipts, order, notifications, big messages."""

from __future__ import annotations

import base64
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from .clusters import BROKER_NAME, Cluster
from .java_client import JavaClient
from .poppers import Popper, receipt
from .received import bodies, body, numbered
from .remoting import create_topic, is_listening

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
INVISIBLE_MS = 3000
POLL_MS = 15_000
COMPRESSED = 0x1
BIG = 3 * 1024 * 1024


@pytest.fixture
def popper(cluster: Cluster, java_5: JavaClient, fresh: Fresh) -> Popper:
    """Of eight queues."""
    made = Popper(java_5, cluster, fresh("popped"), fresh("poppers"), {"invisibleMs": INVISIBLE_MS})
    made.create_topic(8)
    return made


@pytest.fixture
def orderly(cluster: Cluster, java_5: JavaClient, fresh: Fresh) -> Popper:
    """Of one queue, in order, and willing to wait."""
    options = {"invisibleMs": INVISIBLE_MS, "order": "true", "pollMs": POLL_MS}
    made = Popper(java_5, cluster, fresh("fifo"), fresh("poppers"), options)
    made.create_topic(1)
    return made


@pytest.mark.parametrize("order", ["false", "true"], ids=["normally", "orderly"])
def test_a_batch_of_acks_ends_new_and_retried_messages(popper: Popper, order: str) -> None:
    popper.send(10, "old")
    assert bodies(popper.pop_until(10, order=order)) == numbered("old", 10)
    time.sleep(2 * INVISIBLE_MS / 1000)  # so that all can be popped at once, before any of them comes again
    popper.send(20, "new")
    again = popper.pop_until(30, order=order)
    assert bodies(again) == sorted(numbered("old", 10) + numbered("new", 20))
    assert {message["reconsumeTimes"] for message in again if body(message).startswith("old")} == {1}
    popper.ack_all(again)
    time.sleep(2 * INVISIBLE_MS / 1000)
    assert popper.pop(order=order) == []


def test_a_notice_comes_for_messages_that_wait(popper: Popper) -> None:
    waiting = popper.begin_notice(pollMs=POLL_MS)
    started = time.monotonic()
    popper.send(1)
    assert popper.java.finish(waiting) is True
    assert time.monotonic() - started < POLL_MS / 2000
    assert popper.java.finish(popper.begin_notice()) is True
    assert len(popper.pop_until(1)) == 1
    assert popper.java.finish(popper.begin_notice(pollMs=500)) is False


def test_a_notice_in_order_comes_to_whoever_may_pop(orderly: Popper) -> None:
    notices = [orderly.begin_notice(order="true", attempt="one", pollMs=POLL_MS) for _ in range(2)]
    orderly.send(1)
    assert [orderly.java.finish(notice) for notice in notices] == [True, True]
    assert len(orderly.pop(attempt="one")) == 1
    again = orderly.begin_notice(order="true", attempt="one", pollMs=500)
    assert orderly.java.finish(again) is True
    other = orderly.begin_notice(order="true", attempt="two", pollMs=500)
    assert orderly.java.finish(other) is False


def test_a_big_message_stays_compressed_when_it_comes_back(popper: Popper) -> None:
    popper.send(1, "big", size=BIG)
    (first,) = popper.pop_until(1)
    (second,) = popper.pop_until(1)
    assert [first["reconsumeTimes"], second["reconsumeTimes"]] == [0, 1]
    for message in (first, second):
        assert message["sysFlag"] & COMPRESSED
        assert len(zlib.decompress(base64.b64decode(message["body"]))) >= BIG
    assert second["body"] == first["body"]
    popper.ack(second)


def test_a_popped_message_can_be_sent_on_to_another_broker(
    cluster: Cluster, popper: Popper, tmp_path: Path
) -> None:
    other = Cluster(
        cluster.target, tmp_path, {"brokerName": "interop-b"}, name_server_port=cluster.name_server_port
    )
    tmp_path.mkdir(exist_ok=True)
    other.start_broker()
    try:
        _wait_for(other)
        create_topic(other.broker, popper.topic)
        popper.java.do("send-queue", topic=popper.topic, broker=BROKER_NAME, queue=0, prefix="m")
        there = {"topic": popper.topic, "group": popper.group, "invisibleMs": INVISIBLE_MS, "pollMs": 5000}
        first = popper.java.do(
            "bare-forward", broker=cluster.broker, brokerName=BROKER_NAME, toBrokerName="interop-b", **there
        )
        (second,) = popper.java.do("bare-pop", broker=other.broker, brokerName="interop-b", **there)[
            "messages"
        ]
    finally:
        assert cluster.target != "signalbox" or other.stop_broker() == 0
        other.kill_broker()
    assert body(second) == body(first) == "m-0"
    assert second["msgId"] == first["msgId"]
    assert [receipt(message).split(" ")[5] for message in (first, second)] == [BROKER_NAME, "interop-b"]


def _wait_for(cluster: Cluster) -> None:
    deadline = time.monotonic() + 10
    while not is_listening(cluster.broker):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_an_ack_lets_the_next_in_order_go_at_once(orderly: Popper) -> None:
    orderly.send(10)
    received = orderly.pop(max=1)
    while len(received) < 10:
        waiting = orderly.begin_pop(max=1)
        time.sleep(0.1)
        acked = time.monotonic()
        orderly.ack(received[-1])
        received += orderly.finish_pop(waiting)
        assert time.monotonic() - acked < INVISIBLE_MS / 2000
    orderly.ack(received[-1])
    assert [message["queueOffset"] for message in received] == list(range(10))
    assert {message["reconsumeTimes"] for message in received} == {0}


def test_what_is_not_acked_comes_again_before_what_follows(orderly: Popper) -> None:
    orderly.send(10)
    first, second = orderly.pop(max=5), orderly.pop(max=5)
    for times, messages in enumerate((first, second)):
        assert [message["queueOffset"] for message in messages] == list(range(5))
        assert {message["reconsumeTimes"] for message in messages} == {times}


def test_what_is_hidden_in_order_comes_again_then(orderly: Popper) -> None:
    orderly.send(1)
    (first,) = orderly.pop(max=1)
    hidden = time.monotonic()
    orderly.hide(first, 5000)
    (second,) = orderly.pop(max=1)
    assert 4.8 <= time.monotonic() - hidden <= 7
    assert second["msgId"] == first["msgId"]
    assert [first["reconsumeTimes"], second["reconsumeTimes"]] == [0, 1]
    orderly.ack(second)
    assert orderly.pop(max=1, pollMs=500) == []


def test_what_follows_a_hidden_message_comes_again_with_it(orderly: Popper) -> None:
    orderly.send(4)
    first = orderly.pop(max=3, invisibleMs=5000)
    orderly.ack(first[0])
    orderly.hide(first[1], INVISIBLE_MS)
    orderly.ack(first[2])
    second = orderly.pop(max=3, invisibleMs=5000)
    assert [message["queueOffset"] for message in first + second] == [0, 1, 2, 1, 2, 3]
    assert [message["reconsumeTimes"] for message in first + second] == [0, 0, 0, 1, 1, 0]


def test_an_attempt_may_pop_again_what_it_popped(orderly: Popper) -> None:
    orderly.send(1)
    attempts = [None, "one", "one", "two", "two", None]
    times, seconds = [], []
    for attempt in attempts:
        started = time.monotonic()
        (message,) = orderly.pop(max=3, **({"attempt": attempt} if attempt else {}))
        times.append(message["reconsumeTimes"])
        seconds.append(time.monotonic() - started)
    assert times == [0, 1, 1, 2, 2, 3]
    is_late = [second > INVISIBLE_MS / 2000 for second in seconds]
    assert is_late == [False, True, False, True, False, True], seconds

"""Messages for later through the official Java client: levels, times, recalls, retries, dead letters.

On a cluster of their own, where levels are short and messages may be called back. What a version does not
have is not asked of it: Apache's 4.9 broker has no timers, and the 4.9 client cannot call back.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from .clusters import BROKER_NAME, Cluster, chosen_targets, running
from .jars import CLIENT_VERSIONS
from .java_client import JavaClient, JavaError
from .received import Message, body, read_all

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]

LEVELS_S = (1, 2, 3, 4)
"""The first four; the others take a second."""
TARGETS_WITH_TIMERS = [target for target in chosen_targets() if target != "apache-4.9"]
SETTINGS = {
    "messageDelayLevel": " ".join(f"{seconds}s" for seconds in LEVELS_S + (1,) * 14),
    "recallMessageEnable": "true",
}
LATE_MS = 1500
PER_LEVEL = 50


client_5 = pytest.mark.parametrize("java", ["5"], indirect=True, ids=["client-5"])
with_timers = pytest.mark.parametrize("later_cluster", TARGETS_WITH_TIMERS, indirect=True)


@pytest.fixture(scope="module", params=chosen_targets())
def later_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    with running(request.param, tmp_path_factory.mktemp(f"later-{request.param}"), SETTINGS) as started:
        yield started


@pytest.fixture(scope="module", params=CLIENT_VERSIONS, ids=lambda version: f"client-{version}")
def java(
    request: pytest.FixtureRequest, later_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaClient]:
    client = JavaClient(request.param, later_cluster.name_server, tmp_path_factory.mktemp("java"))
    yield client
    client.close()


def arrived(java: JavaClient, topic: str, count: int) -> list[Message]:
    return sorted(read_all(java, topic, count), key=lambda message: int(message["storeTimestamp"]))


def test_a_delay_level_is_kept(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("level")
    java.do("later-send", topic=topic, body="now")
    sent_ms = time.time() * 1000
    sent = java.do("later-send", topic=topic, body="later", level=2, tag="blue")
    beyond = java.do("later-send", topic=topic, body="clamped", level=99)
    assert sent["sent"]["status"] == beyond["sent"]["status"] == "SEND_OK"
    found = arrived(java, topic, 3)
    assert sorted(map(body, found)) == ["clamped", "later", "now"]
    later = next(message for message in found if body(message) == "later")
    assert 2000 <= later["storeTimestamp"] - sent_ms <= 2000 + LATE_MS
    assert later["msgId"] == sent["sent"]["msgId"]
    assert later["properties"]["TAGS"] == "blue"


@with_timers
def test_a_time_is_kept_and_never_early(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("time")
    java.do("later-send", topic=topic, body="now")
    deliver_ms = int(time.time() * 1000) + 2300
    java.do("later-send", topic=topic, body="timed", deliverMs=deliver_ms)
    java.do("later-send", topic=topic, body="delayed", delayMs=1700)
    found = {body(message): message for message in arrived(java, topic, 3)}
    assert found.keys() == {"now", "timed", "delayed"}
    assert 0 <= found["timed"]["storeTimestamp"] - deliver_ms <= LATE_MS


@with_timers
def test_a_time_too_far_ahead_is_refused(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("far")
    java.do("later-send", topic=topic, body="now")
    with pytest.raises(JavaError, match="CODE: 13"):
        java.do("later-send", topic=topic, body="far", delayMs=4 * 86_400_000)


def of_all_kinds(java: JavaClient, topic: str, delay_ms: int) -> list[dict[str, Any]]:
    """One for now, one of a level, and one for each way to say a time; the last three can be called back."""
    kinds = [
        {"body": "now"},
        {"body": "level", "level": 2},
        {"body": "delayMs", "delayMs": delay_ms},
        {"body": "delaySec", "delaySec": delay_ms // 1000},
        {"body": "deliverMs", "deliverMs": int(time.time() * 1000) + delay_ms},
    ]
    return [java.do("later-send", topic=topic, **kind) for kind in kinds]


KINDS = ["deliverMs", "delayMs", "delaySec", "level", "now"]


@with_timers
def test_every_kind_of_delay_arrives(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("kinds")
    of_all_kinds(java, topic, 1000)
    assert sorted(map(body, arrived(java, topic, 5))) == sorted(KINDS)


@with_timers
@client_5
def test_a_recalled_message_is_not_delivered(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("recall")
    sent = of_all_kinds(java, topic, 3000)
    handles = [one["recallHandle"] for one in sent]
    assert handles[:2] == [None, None]
    kept = java.do("later-send", topic=topic, body="kept", delayMs=3000)
    for one in sent[2:]:
        assert java.do("later-recall", topic=topic, handle=one["recallHandle"]) == one["sent"]["msgId"]
    assert sorted(map(body, arrived(java, topic, 3))) == ["kept", "level", "now"]
    time.sleep(LATE_MS / 1000)
    assert len(arrived(java, topic, 3)) == 3
    with pytest.raises(JavaError, match="CODE: 604"):
        java.do("later-recall", topic=topic, handle=kept["recallHandle"])


@with_timers
@client_5
def test_a_handle_of_another_topic_calls_nothing_back(java: JavaClient, fresh: Fresh) -> None:
    """The id is the same and the topic not: it is answered as if it had been, and changes nothing."""
    topic, other = fresh("recall"), fresh("other")
    java.do("later-send", topic=other, body="now")
    for one in of_all_kinds(java, topic, 3000)[2:]:
        version, _, broker, at, msg_id = base64.urlsafe_b64decode(one["recallHandle"]).decode().split(" ")
        forged = base64.urlsafe_b64encode(f"{version} {other} {broker} {at} {msg_id}".encode()).decode()
        assert java.do("later-recall", topic=other, handle=forged) == msg_id
    assert sorted(map(body, arrived(java, topic, 5))) == sorted(KINDS)


@with_timers
@client_5
def test_a_recall_is_traced(java: JavaClient, fresh: Fresh) -> None:
    """Of a message that nobody sent: the trace is the producer's."""
    topic, group = fresh("traced"), fresh("group")
    java.do("later-send", topic=topic, body="now")
    msg_id = "7F0000010000000000000000ABCDEF01"
    at_ms = int(time.time() * 1000) + 30_000
    handle = base64.urlsafe_b64encode(f"v1 {topic} {BROKER_NAME} {at_ms} {msg_id}".encode()).decode()
    assert java.do("later-recall", topic=topic, handle=handle, traceTopic=topic, group=group) == msg_id
    (trace,) = [message for message in arrived(java, topic, 2) if body(message) != "now"]
    fields = body(trace).split("\x01")
    assert (fields[0], fields[3]) == ("Recall", group), fields
    assert msg_id in fields


def test_each_level_has_its_time(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("levels")
    java.do("admin-create", topic=topic, queues=4)
    for level in range(1, len(LEVELS_S) + 1):
        java.do("later-send", topic=topic, body=f"level-{level}", level=level, count=PER_LEVEL)
    found = arrived(java, topic, len(LEVELS_S) * PER_LEVEL)
    for level, seconds in enumerate(LEVELS_S, 1):
        delays = [
            message["storeTimestamp"] - message["bornTimestamp"]
            for message in found
            if body(message) == f"level-{level}"
        ]
        assert len(delays) == PER_LEVEL
        assert all(0 <= delay - seconds * 1000 <= LATE_MS for delay in delays), (level, sorted(delays))


def test_a_message_that_always_fails_becomes_a_dead_letter(java: JavaClient, fresh: Fresh) -> None:
    topic, group = fresh("fail"), fresh("group")
    sent = java.do("later-send", topic=topic, body="bad", tag="t")["sent"]
    deliveries = java.do("later-fail", topic=topic, group=group, max=2, count=3, settleMs=3000)
    assert [message["reconsumeTimes"] for message in deliveries] == [0, 1, 2]
    assert {message["topic"] for message in deliveries} == {topic}
    assert {message["msgId"] for message in deliveries} == {sent["msgId"]}
    times = [message["storeTimestamp"] for message in deliveries]
    assert all(later - earlier >= 1000 for earlier, later in pairwise(times))
    (letter,) = read_all(java, f"%DLQ%{group}", 1)
    assert body(letter) == "bad"
    assert letter["properties"]["RETRY_TOPIC"] == topic
    assert letter["properties"]["ORIGIN_MESSAGE_ID"] == sent["offsetMsgId"]
    assert letter["reconsumeTimes"] == 3

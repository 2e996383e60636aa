"""Messages for later through the official Java client: levels, times, recalls, retries, dead letters.

On a cluster of their own, where every level takes a second and messages may be called back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from .clusters import Cluster, chosen_targets, running
from .jars import CLIENT_VERSIONS
from .java_client import JavaClient, JavaError
from .received import Message, body, read_all

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]

SECOND_EACH = {"messageDelayLevel": " ".join(["1s"] * 18), "recallMessageEnable": "true"}
LATE_MS = 1500


@pytest.fixture(scope="module", params=chosen_targets())
def later_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    with running(request.param, tmp_path_factory.mktemp(f"later-{request.param}"), SECOND_EACH) as started:
        yield started


@pytest.fixture(scope="module", params=CLIENT_VERSIONS, ids=lambda version: f"client-{version}")
def java(
    request: pytest.FixtureRequest, later_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaClient]:
    client = JavaClient(request.param, later_cluster.name_server, tmp_path_factory.mktemp("java"))
    yield client
    client.close()


@pytest.fixture
def knows_times(later_cluster: Cluster) -> bool:
    """Apache's 4.9 broker has no timers."""
    return later_cluster.target != "apache-4.9"


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
    assert 1000 <= later["storeTimestamp"] - sent_ms <= 1000 + LATE_MS
    assert later["msgId"] == sent["sent"]["msgId"]
    assert later["properties"]["TAGS"] == "blue"


def test_a_time_is_kept_and_never_early(java: JavaClient, fresh: Fresh, knows_times: bool) -> None:
    if not knows_times:
        return
    topic = fresh("time")
    java.do("later-send", topic=topic, body="now")
    deliver_ms = int(time.time() * 1000) + 2300
    java.do("later-send", topic=topic, body="timed", deliverMs=deliver_ms)
    java.do("later-send", topic=topic, body="delayed", delayMs=1700)
    found = {body(message): message for message in arrived(java, topic, 3)}
    assert found.keys() == {"now", "timed", "delayed"}
    assert 0 <= found["timed"]["storeTimestamp"] - deliver_ms <= LATE_MS


def test_a_time_too_far_ahead_is_refused(java: JavaClient, fresh: Fresh, knows_times: bool) -> None:
    if not knows_times:
        return
    topic = fresh("far")
    java.do("later-send", topic=topic, body="now")
    with pytest.raises(JavaError, match="CODE: 13"):
        java.do("later-send", topic=topic, body="far", delayMs=4 * 86_400_000)


def test_a_recalled_message_is_not_delivered(java: JavaClient, fresh: Fresh, knows_times: bool) -> None:
    if not knows_times or java.version == "4.9":
        return
    topic = fresh("recall")
    java.do("later-send", topic=topic, body="now")
    gone = java.do("later-send", topic=topic, body="gone", delayMs=3000)
    java.do("later-send", topic=topic, body="kept", delayMs=3000)
    assert java.do("later-recall", topic=topic, handle=gone["recallHandle"]) == gone["sent"]["msgId"]
    assert [body(message) for message in arrived(java, topic, 2)] == ["now", "kept"]
    time.sleep(1.5)
    assert len(arrived(java, topic, 2)) == 2
    with pytest.raises(JavaError, match="CODE: 604"):
        java.do("later-recall", topic=topic, handle=gone["recallHandle"])


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

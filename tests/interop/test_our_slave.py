"""Our broker as the slave of Apache's master: what it copies, and that its acknowledgements count."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .clusters import APACHE_TARGETS, Cluster
from .groups import SEGMENT_BYTES, Group, broker_group, decode, log_start, same_bytes
from .java_client import JavaClient
from .received import body, numbered, wait_until
from .remoting import call, create_topic

pytestmark = pytest.mark.needs_maven

TOPIC = "copied"
GROUP = "copied-group"
GET_MAX_OFFSET = 30
GET_ALL_TOPICS, GET_ALL_OFFSETS, GET_ALL_DELAYS, GET_ALL_GROUPS = 21, 43, 45, 201
SYNC_OF: dict[str, dict[str, str]] = {"apache-4.9": {}, "apache-5": {"inSyncReplicas": "2"}}
"""4.9 has no inSyncReplicas: its SYNC_MASTER always waits for one slave."""
EXPIRY = {
    "fileReservedTime": "1",
    "deleteWhen": ";".join(f"{hour:02d}" for hour in range(24)),
    "cleanResourceInterval": "500",
}
"""At any hour, whatever was written more than an hour ago."""


@pytest.fixture(params=APACHE_TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    with broker_group(tmp_path / "group") as made:
        yield made


@pytest.fixture
def java(group: Group, target: str, tmp_path: Path) -> Iterator[JavaClient]:
    """At an Apache master with one slave of ours, both started here."""
    group.start(0, target, brokerRole="SYNC_MASTER", **SYNC_OF[target], **EXPIRY)
    group.start(1, "signalbox", slaveReadEnable="true", **EXPIRY)
    create_topic(group.members[0].broker, TOPIC, 4)
    client = JavaClient("5", group.name_server, tmp_path / "client")
    wait_until(lambda: sent(client, "first", 1) == ["SEND_OK"], 30)
    group.caught_up(1)
    yield client
    client.close()


def sent(java: JavaClient, prefix: str, count: int, **options: object) -> list[str]:
    return [one["status"] for one in java.do("send-sync", topic=TOPIC, count=count, prefix=prefix, **options)]


def delivered(java: JavaClient) -> set[str]:
    return {body(message) for message in java.do("push-wait", name="c", count=0, timeoutMs=100)}


def test_sends_are_acknowledged_and_the_logs_are_the_same(group: Group, java: JavaClient) -> None:
    """Three files of 1 MiB; the slave is killed and comes back in the middle."""
    assert sent(java, "before", 200, size=3_500) == ["SEND_OK"] * 200
    group.members[1].kill_broker()
    without = java.begin("send-sync", topic=TOPIC, count=100, prefix="without", size=3_500, group="w")
    group.members[1].start_broker()
    java.finish(without)
    group.caught_up(1)
    assert sent(java, "after", 300, size=3_500) == ["SEND_OK"] * 300
    end = group.caught_up(1)
    start = log_start(group.members[1])
    assert start == 0
    assert end > 2 * SEGMENT_BYTES
    assert same_bytes(group.members[0], group.members[1], start, end)


def make_old(member: Cluster, segments: int) -> None:
    """As if the first ones of its log had been written two hours ago."""
    then = time.time() - 2 * 3600
    for number in range(segments):
        os.utime(member.store / "commitlog" / f"{number * SEGMENT_BYTES:020d}", (then, then))


def test_the_slave_expires_for_itself(group: Group, java: JavaClient) -> None:
    """By the age of its own files: an Apache master tells nobody what it deletes."""
    assert sent(java, "m", 1100, size=3_500) == ["SEND_OK"] * 1100
    assert group.caught_up(1) > 3 * SEGMENT_BYTES
    master, slave = group.members[0], group.members[1]
    make_old(master, 1)
    wait_until(lambda: log_start(master) == SEGMENT_BYTES, 60)
    time.sleep(2)
    assert log_start(slave) == 0, "four rounds of cleaning later nothing of the slave's has gone"
    make_old(slave, 2)
    wait_until(lambda: log_start(slave) == 2 * SEGMENT_BYTES, 30)
    assert sent(java, "after", 100, size=3_500) == ["SEND_OK"] * 100
    end = group.caught_up(1)
    assert log_start(master) == SEGMENT_BYTES
    assert same_bytes(master, slave, log_start(slave), end)


def test_topics_groups_offsets_and_delays_arrive(group: Group, java: JavaClient) -> None:
    sent(java, "m", 40)
    for number in range(3):
        java.do("later-send", topic=TOPIC, level=1, body=f"late-{number}")
    java.do("push-start", name="c", topic=TOPIC, group=GROUP)
    wait_until(lambda: delivered(java) >= {*numbered("m", 40), *numbered("late", 3)}, 60)
    java.do("push-stop", name="c")
    master, slave = (group.members[member].broker for member in (0, 1))
    key = f"{TOPIC}@{GROUP}"

    def tables(address: str) -> tuple[object, ...]:
        offsets = decode(call(address, GET_ALL_OFFSETS).body)["offsetTable"].get(key)
        groups = decode(call(address, GET_ALL_GROUPS).body)["subscriptionGroupTable"]
        topics = decode(call(address, GET_ALL_TOPICS).body)["topicConfigTable"]
        delays = decode(call(address, GET_ALL_DELAYS).body)["offsetTable"]
        return offsets, GROUP in groups, topics.get(TOPIC, {}).get("readQueueNums"), delays.get("1")

    wait_until(lambda: tables(slave) == tables(master), 30)
    offsets, has_group, queues, delayed = tables(slave)
    assert isinstance(offsets, dict)
    assert sum(offsets.values()) >= 44
    assert (has_group, queues, delayed) == (True, 4, 3)
    group.caught_up(1)
    ends = [
        int(call(slave, GET_MAX_OFFSET, {"topic": TOPIC, "queueId": str(queue)}).fields["offset"])
        for queue in range(4)
    ]
    assert sum(ends) == sum(offsets.values())

"""Apache's broker as the slave of our master: accepted only where that is allowed, and its word counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.freezing import freeze, thaw

from .clusters import APACHE_TARGETS
from .groups import SEGMENT_BYTES, Group, broker_group, decode, log_start, same_bytes
from .java_client import JavaClient
from .received import wait_until
from .remoting import call, create_topic

pytestmark = pytest.mark.needs_maven

TOPIC = "copied"
GROUP = "copied-group"
GET_ALL_TOPICS, GET_ALL_OFFSETS, GET_ALL_GROUPS = 21, 43, 201
MASTER = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2", "syncFlushTimeout": "2000"}


@pytest.fixture(params=APACHE_TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def group(target: str, tmp_path: Path) -> Iterator[Group]:
    """Our master with an Apache slave."""
    with broker_group(tmp_path / "group") as made:
        made.start(0, "signalbox", signalboxAllowPlainSlaves="true", slaveTimeout="2000", **MASTER)
        create_topic(made.members[0].broker, TOPIC, 4)
        made.start(1, target)
        yield made


@pytest.fixture
def java(group: Group, tmp_path: Path) -> Iterator[JavaClient]:
    client = JavaClient("5", group.name_server, tmp_path / "client")
    wait_until(lambda: sent(client, "first", 1) == ["SEND_OK"], 30)
    yield client
    client.close()


def sent(java: JavaClient, prefix: str, count: int, **options: object) -> list[str]:
    return [one["status"] for one in java.do("send-sync", topic=TOPIC, count=count, prefix=prefix, **options)]


def test_it_has_the_same_log_and_acknowledges(group: Group, java: JavaClient) -> None:
    assert sent(java, "before", 200, size=3_500) == ["SEND_OK"] * 200
    group.members[1].kill_broker()
    wait_until(lambda: sent(java, "alone", 1) == ["SLAVE_NOT_AVAILABLE"], 30)
    group.members[1].start_broker()
    wait_until(lambda: sent(java, "back", 1) == ["SEND_OK"], 60)
    assert sent(java, "after", 300, size=3_500) == ["SEND_OK"] * 300
    end = group.caught_up(1)
    assert end > SEGMENT_BYTES
    assert same_bytes(group.members[0], group.members[1], log_start(group.members[1]), end)
    freeze(group.members[1].broker_pid)
    try:
        assert sent(java, "stopped", 1) == ["FLUSH_SLAVE_TIMEOUT"]
    finally:
        thaw(group.members[1].broker_pid)
    wait_until(lambda: sent(java, "again", 1) == ["SEND_OK"], 60)


def test_it_takes_topics_groups_offsets_and_delays(group: Group, java: JavaClient) -> None:
    sent(java, "m", 40)
    java.do("later-send", topic=TOPIC, level=1, body="late")
    java.do("push-start", name="c", topic=TOPIC, group=GROUP)
    wait_until(lambda: len(java.do("push-wait", name="c", count=0, timeoutMs=100)) >= 42, 60)
    java.do("push-stop", name="c")
    master, slave = (group.members[member].broker for member in (0, 1))

    def tables(address: str) -> tuple[object, ...]:
        offsets = decode(call(address, GET_ALL_OFFSETS).body)["offsetTable"].get(f"{TOPIC}@{GROUP}")
        groups = decode(call(address, GET_ALL_GROUPS).body)["subscriptionGroupTable"]
        topics = decode(call(address, GET_ALL_TOPICS).body)["topicConfigTable"]
        return offsets, GROUP in groups, topics.get(TOPIC, {}).get("readQueueNums")

    # Apache's slaves ask every ten seconds.
    offsets, *rest = tables(master)
    assert rest == [True, 4]
    assert isinstance(offsets, dict)
    assert sum(offsets.values()) >= 42
    wait_until(lambda: tables(slave) == tables(master), 60)
    # 4.9's slaves write it down and answer from memory, so the file is what tells.
    delays = group.members[1].store / "config" / "delayOffset.json"
    wait_until(lambda: delays.exists() and decode(delays.read_bytes())["offsetTable"] == {"1": 1}, 60)


def test_it_is_refused_where_plain_slaves_are_not_allowed(target: str, tmp_path: Path) -> None:
    with broker_group(tmp_path / "group") as group:
        group.start(0, "signalbox", **MASTER)
        create_topic(group.members[0].broker, TOPIC, 4)
        group.start(1, target)
        wait_until(lambda: "signalboxAllowPlainSlaves=false" in group.log(0), 60)
        client = JavaClient("5", group.name_server, tmp_path / "client")
        try:
            assert sent(client, "alone", 1) == ["SLAVE_NOT_AVAILABLE"]
        finally:
            client.close()
        assert group.log_end(1) == 0
        assert group.log(0).count("refused on the HA port") == 1

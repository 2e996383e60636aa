"""A master with two slaves, all ours, through the official Java client and Apache's mqadmin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .clusters import BROKER_NAME, CLUSTER_NAME
from .groups import Group, broker_group, decode
from .jars import SERVER_VERSIONS
from .java_client import JavaClient, JavaError
from .mqadmin import AdminShell
from .processes import free_port_base
from .received import wait_until
from .remoting import call, create_topic

pytestmark = pytest.mark.needs_maven

TOPIC, GROUP, QUEUES = "grouped", "grouped-readers", 4
GET_MAX_OFFSET, GET_ALL_OFFSETS, GET_MEMBERS, GET_HA_STATUS = 30, 43, 901, 907
SETTINGS = {
    "brokerRole": "SYNC_MASTER",
    "allAckInSyncStateSet": "true",
    "haMaxTimeSlaveNotCatchup": "3000",
    "slaveTimeout": "2000",
    "slaveReadEnable": "true",
}


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    with broker_group(tmp_path_factory.mktemp("group") / "group", **SETTINGS) as made:
        made.start(0, "signalbox")
        create_topic(made.members[0].broker, TOPIC, QUEUES)
        for member in (1, 2):
            made.start(member, "signalbox")
        wait_until(lambda: in_sync_slaves(made) == 2, 30)
        yield made


@pytest.fixture(scope="module")
def java(group: Group, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaClient]:
    client = JavaClient("5", group.name_server, tmp_path_factory.mktemp("client"))
    yield client
    client.close()


def in_sync_slaves(group: Group) -> int:
    return int(group.ha_status(0)["inSyncSlaveNums"])


def sent(java: JavaClient, prefix: str, count: int) -> list[str]:
    return [one["status"] for one in java.do("send-sync", topic=TOPIC, count=count, prefix=prefix)]


def refusal(java: JavaClient) -> str:
    try:
        return str(sent(java, "refused", 1))
    except JavaError as error:
        return str(error)


def known_members(group: Group) -> set[str]:
    fields = {"clusterName": CLUSTER_NAME, "brokerName": BROKER_NAME}
    return set(decode(call(group.name_server, GET_MEMBERS, fields).body)["brokerMemberGroup"]["brokerAddrs"])


def committed(group: Group, member: int) -> dict[str, int]:
    table = decode(call(group.members[member].broker, GET_ALL_OFFSETS).body)["offsetTable"]
    found: dict[str, int] = table.get(f"{TOPIC}@{GROUP}", {})
    return found


def ends(group: Group, member: int) -> list[int]:
    address = group.members[member].broker
    return [
        int(call(address, GET_MAX_OFFSET, {"topic": TOPIC, "queueId": str(queue)}).fields["offset"])
        for queue in range(QUEUES)
    ]


def test_all_three_have_what_was_sent_and_consumed(group: Group, java: JavaClient) -> None:
    assert sent(java, "m", 100) == ["SEND_OK"] * 100
    wait_until(lambda: ends(group, 1) == ends(group, 2) == ends(group, 0))
    assert sum(ends(group, 0)) == 100
    java.do("push-start", name="c", topic=TOPIC, group=GROUP)
    assert len(java.do("push-wait", name="c", count=100, timeoutMs=60_000)) == 100
    java.do("push-stop", name="c")
    wait_until(lambda: sum(committed(group, 0).values()) == 100)
    wait_until(lambda: committed(group, 1) == committed(group, 2) == committed(group, 0), 30)


@pytest.mark.parametrize("version", SERVER_VERSIONS)
def test_mqadmin_shows_the_group(group: Group, java: JavaClient, version: str, tmp_path: Path) -> None:
    sent(java, "shown", 1)
    end = group.caught_up(1)
    mqadmin = AdminShell(version, group.name_server, tmp_path / "mqadmin")
    try:
        ids = re.findall(rf"{CLUSTER_NAME} +{BROKER_NAME} +(\d+) +127", mqadmin.run("clusterList"))
        assert ids == ["0", "1", "2"]
        if version == "5":
            master = mqadmin.run("haStatus", "-b", group.members[0].broker)
            assert f"#MasterCommitLogMaxOffset\t{end}" in master
            assert "#SlaveNum\t2\n#InSyncSlaveNum\t2" in master
            assert len(re.findall(r" OK ", master)) == 2
            slave = mqadmin.run("haStatus", "-b", group.members[1].broker)
            assert f"#CommitLogMaxOffset\t{end}" in slave
            assert f"#MasterFlushOffset\t{end}" in slave
            assert "1970" not in slave
            epochs = mqadmin.run("getBrokerEpoch", "-b", BROKER_NAME)
            assert epochs.count(f"epoch=1, startOffset=0, endOffset={end}") == 3, epochs
    finally:
        mqadmin.close()


def test_a_slave_leaves_and_comes_back(group: Group, java: JavaClient) -> None:
    """Its id is free while it is away; it copies what it missed and is in sync again, also elsewhere."""
    assert known_members(group) == {"0", "1", "2"}
    assert group.members[2].stop_broker() == 0
    wait_until(lambda: known_members(group) == {"0", "1"})
    wait_until(lambda: sent(java, "away", 1) == ["SEND_OK"], 30)
    group.members[2].broker_port = free_port_base()
    group.members[2].start_broker()
    wait_until(lambda: known_members(group) == {"0", "1", "2"}, 30)
    wait_until(lambda: in_sync_slaves(group) == 2, 30)
    assert group.addresses()["2"] == group.members[2].broker
    assert sent(java, "back", 1) == ["SEND_OK"]
    group.caught_up(2)


def test_without_slaves_the_set_shrinks_and_sends_go_on(group: Group, java: JavaClient) -> None:
    """Until it has shrunk nobody is told that a message is safe; the least that is wanted is here."""
    for member in (1, 2):
        group.members[member].kill_broker()
    assert sent(java, "alone", 1) == ["FLUSH_SLAVE_TIMEOUT"]
    wait_until(lambda: sent(java, "alone", 1) == ["SEND_OK"], 30)
    for member in (1, 2):
        group.members[member].start_broker()
    wait_until(lambda: in_sync_slaves(group) == 2, 30)


def test_fewer_than_the_least_that_is_wanted_refuse_sends(tmp_path: Path) -> None:
    with broker_group(tmp_path / "group", **SETTINGS, minInSyncReplicas="2") as group:
        group.start(0, "signalbox")
        create_topic(group.members[0].broker, TOPIC, QUEUES)
        client = JavaClient("5", group.name_server, tmp_path / "client")
        try:
            wait_until(lambda: "Send [3] times, still failed" in refusal(client), 60)
            assert group.log_end(0) == 0
            group.start(1, "signalbox")
            wait_until(lambda: in_sync_slaves(group) == 1, 30)
            assert sent(client, "taken", 1) == ["SEND_OK"]
        finally:
            client.close()


def test_a_master_restarts_at_another_address(tmp_path: Path) -> None:
    with broker_group(tmp_path / "group", **SETTINGS) as group:
        group.start(0, "signalbox")
        create_topic(group.members[0].broker, TOPIC, QUEUES)
        group.start(1, "signalbox")
        wait_until(lambda: in_sync_slaves(group) == 1, 30)
        assert group.members[0].stop_broker() == 0
        group.members[0].broker_port = free_port_base()
        group.members[0].start_broker()
        wait_until(lambda: bool(group.ha_status(0)["master"]), 30)
        wait_until(lambda: in_sync_slaves(group) == 1, 30)
        assert group.addresses() == {"0": group.members[0].broker, "1": group.members[1].broker}
        client = JavaClient("5", group.name_server, tmp_path / "client")
        try:
            assert sent(client, "moved", 1) == ["SEND_OK"]
        finally:
            client.close()
        group.caught_up(1)

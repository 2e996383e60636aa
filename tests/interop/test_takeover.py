"""Moving a group from Apache RocketMQ to ours, as docs/replication.md says: nothing lost, nothing skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from .clusters import APACHE_TARGETS
from .groups import Group, broker_group, decode, log_start, same_bytes
from .jars import CLIENT_VERSIONS
from .java_client import JavaClient
from .received import body, numbered, wait_until
from .remoting import call, create_topic

pytestmark = pytest.mark.needs_maven

TOPIC, GROUP, COUNT = "moved", "moved-group", 60
GET_ALL_OFFSETS = 43


@pytest.fixture(params=APACHE_TARGETS)
def group(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Group]:
    """An Apache master and two slaves of ours."""
    with broker_group(tmp_path / "group") as made:
        made.start(0, request.param)
        create_topic(made.members[0].broker, TOPIC, 4)
        for member in (1, 2):
            made.start(member, "signalbox")
        yield made


def committed(group: Group, member: int) -> int:
    table = decode(call(group.members[member].broker, GET_ALL_OFFSETS).body)["offsetTable"]
    return sum(table.get(f"{TOPIC}@{GROUP}", {}).values())


def received(java: JavaClient) -> Counter[str]:
    return Counter(body(message) for message in java.do("push-wait", name="c", count=0, timeoutMs=100))


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
def test_consumers_go_on_where_they_were(group: Group, version: str, tmp_path: Path) -> None:
    java = JavaClient(version, group.name_server, tmp_path / "client")
    try:
        java.do("push-start", name="c", topic=TOPIC, group=GROUP)
        java.do("send-sync", topic=TOPIC, count=COUNT, prefix="before")
        wait_until(lambda: received(java).total() >= COUNT, 60)
        java.do("push-commit", name="c")
        wait_until(lambda: committed(group, 1) == COUNT, 30)
        end = group.caught_up(1)
        assert group.caught_up(2) == end
        still_there = group.admin("promote", "-b", group.members[1].broker, "--unclean")
        assert "stop it first" in still_there.stdout + still_there.stderr
        group.members[0].stop_broker()

        refused = group.admin("promote", "-b", group.members[1].broker)
        assert refused.returncode != 0
        assert f"acknowledged behind offset {end} is not here" in refused.stdout + refused.stderr
        wait_until(lambda: group.admin("promote", "-b", group.members[1].broker, "-u").returncode == 0, 30)
        wait_until(lambda: group.addresses().get("0") == group.members[1].broker, 30)

        wait_until(lambda: sends(java), 60)
        results = java.do("send-sync", topic=TOPIC, count=COUNT, prefix="after")
        assert [one["status"] for one in results] == ["SEND_OK"] * COUNT
        wait_until(lambda: set(numbered("after", COUNT)) <= set(received(java)), 60)
        seen = received(java)
        assert set(numbered("before", COUNT)) <= set(seen)
        assert [seen[name] for name in numbered("before", COUNT)] == [1] * COUNT
        assert [seen[name] for name in numbered("after", COUNT)] == [1] * COUNT
        java.do("push-stop", name="c")

        # The second slave joins without copying again.
        later = group.caught_up(2, 1)
        assert "by its last bytes" in group.log(2)
        assert later > end
        assert same_bytes(group.members[1], group.members[2], log_start(group.members[2]), later)
        assert same_bytes(group.members[0], group.members[2], log_start(group.members[2]), end)
    finally:
        java.close()


def sends(java: JavaClient) -> bool:
    try:
        return bool(java.do("send-sync", topic=TOPIC, prefix="first")[0]["status"] == "SEND_OK")
    except RuntimeError:
        return False


@pytest.mark.parametrize("target", APACHE_TARGETS)
def test_a_copy_that_begins_late_takes_over_and_says_so(target: str, tmp_path: Path) -> None:
    """Three files; the plain stream begins with the last, and queues begin where it does."""
    with broker_group(tmp_path / "group") as group:
        group.start(0, target)
        create_topic(group.members[0].broker, TOPIC, 1)
        java = JavaClient("5", group.name_server, tmp_path / "client")
        try:
            java.do("send-sync", topic=TOPIC, count=700, prefix="old", size=3_500)
            java.do("push-start", name="c", topic=TOPIC, group=GROUP)
            wait_until(lambda: received(java).total() >= 700, 60)
            java.do("push-stop", name="c")
            java.do("send-sync", topic=TOPIC, count=COUNT, prefix="unread")
            group.start(1, "signalbox")
            end = group.caught_up(1)
            wait_until(lambda: committed(group, 1) == 700, 30)
            start = log_start(group.members[1])
            assert start > 0
            group.members[0].stop_broker()
            promoted: list[str] = []
            wait_until(lambda: promote_into(group, promoted), 30)
            assert f"before offset {start} were never copied" in promoted[0]
            wait_until(lambda: group.addresses().get("0") == group.members[1].broker, 30)
            wait_until(lambda: sends(java), 60)
            java.do("push-start", name="c", topic=TOPIC, group=GROUP)
            wait_until(lambda: set(numbered("unread", COUNT)) <= set(received(java)), 60)
            assert not any(name.startswith("old") for name in received(java))
            assert same_bytes(group.members[0], group.members[1], start, end)
        finally:
            java.close()


def promote_into(group: Group, said: list[str]) -> bool:
    done = group.admin("promote", "-b", group.members[1].broker, "-u")
    said[:] = [done.stdout]
    return done.returncode == 0

"""Java consumers that each get everything: members that come late, fail, are killed; order and tags."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .clusters import Cluster
from .java_client import JavaClient
from .members import Doomed, Member, member, share
from .received import bodies, numbered, offsets_by_queue

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
QUEUES = 4
COUNT = 16
QUIET_S = 2
"""How long a consumer is watched that must get nothing."""


@pytest.fixture
def topic(java: JavaClient, fresh: Fresh) -> str:
    name = fresh("broadcast")
    java.do("send-sync", topic=name, count=QUEUES, prefix="made-by")
    return name


def options(topic: str, group: str, **more: object) -> dict[str, object]:
    """Members that begin at the end, as Apache's do: what they get was sent while they were there."""
    return {"topic": topic, "group": group, "model": "broadcast", "from": "last", **more}


def ready(*members: Member) -> None:
    """Each has every queue, and knows where it begins."""
    for one in members:
        share([one], QUEUES)
    time.sleep(0.5)


def assert_got(members: list[Member], *prefixes: str) -> None:
    expected = sorted(text for prefix in prefixes for text in numbered(prefix, COUNT))
    for one in members:
        assert bodies(one.received(len(expected))) == expected


def test_members_of_one_group_get_everything(java: JavaClient, fresh: Fresh, topic: str) -> None:
    shared = options(topic, fresh("group"))
    with member(java, fresh("m"), **shared) as first, member(java, fresh("m"), **shared) as second:
        ready(first, second)
        java.do("send-sync", topic=topic, count=COUNT, prefix="m")
        assert_got([first, second], "m")


def test_members_of_two_groups_get_everything(java: JavaClient, fresh: Fresh, topic: str) -> None:
    with (
        member(java, fresh("m"), **options(topic, fresh("group"))) as first,
        member(java, fresh("m"), **options(topic, fresh("group"))) as second,
    ):
        ready(first, second)
        java.do("send-sync", topic=topic, count=COUNT, prefix="m")
        assert_got([first, second], "m")


def test_a_late_member_gets_what_is_sent_from_then_on(java: JavaClient, fresh: Fresh, topic: str) -> None:
    shared = options(topic, fresh("group"))
    with member(java, fresh("m"), **shared) as first:
        ready(first)
        java.do("send-sync", topic=topic, count=COUNT, prefix="early")
        assert_got([first], "early")
        with member(java, fresh("m"), **shared) as second:
            ready(second)
            assert second.received(1, timeout_s=QUIET_S) == []
            java.do("send-sync", topic=topic, count=COUNT, prefix="late")
            assert_got([first], "early", "late")
            assert_got([second], "late")


def test_a_killed_member_is_not_missed(
    cluster: Cluster, java: JavaClient, fresh: Fresh, topic: str, tmp_path: Path
) -> None:
    shared = options(topic, fresh("group"))
    doomed = Doomed(java.version, cluster.name_server, tmp_path)
    with member(java, fresh("m"), **shared) as first:
        second = doomed.join("victim", **shared)
        ready(first, second)
        java.do("send-sync", topic=topic, count=COUNT, prefix="before")
        assert_got([first, second], "before")
        doomed.kill()
        java.do("send-sync", topic=topic, count=COUNT, prefix="after")
        assert_got([first], "before", "after")


def test_a_member_that_fails_does_not_harm_the_other(java: JavaClient, fresh: Fresh, topic: str) -> None:
    group = fresh("group")
    with (
        member(java, fresh("m"), **options(topic, group)) as good,
        member(java, fresh("m"), **options(topic, group, listener="fail")) as failing,
    ):
        ready(good, failing)
        java.do("send-sync", topic=topic, count=COUNT, prefix="m")
        assert_got([good, failing], "m")
        # Nobody gets a broadcast message again.
        assert len(failing.received(COUNT + 1, timeout_s=QUIET_S)) == COUNT


def test_each_member_gets_each_queue_in_order(java_5: JavaClient, fresh: Fresh) -> None:
    """Not with 4.9.8: there each member of an orderly broadcast wants the queues' locks for itself."""
    topic = fresh("broadcast")
    java_5.do("admin-create", topic=topic, queues=QUEUES)
    shared = options(topic, fresh("group"), listener="orderly")
    with member(java_5, fresh("m"), **shared) as first, member(java_5, fresh("m"), **shared) as second:
        ready(first, second)
        for shard in range(QUEUES):
            java_5.do("send-selector", topic=topic, count=10, shard=shard, prefix=f"s{shard}")
        for one in (first, second):
            queues = offsets_by_queue(one.received(10 * QUEUES))
            assert queues == {queue: list(range(10)) for queue in range(QUEUES)}


@pytest.mark.parametrize(
    ("expressions", "sent", "wanted"),
    [
        (("blue", "blue"), ("blue",), ("blue",)),
        (("*", "blue"), ("blue",), ("blue",)),
        (("blue", "blue"), ("red", "blue"), ("blue",)),
    ],
    ids=["same-tag", "all-and-one-tag", "other-tags"],
)
def test_members_get_everything_with_their_tags(
    java: JavaClient,
    fresh: Fresh,
    topic: str,
    expressions: tuple[str, str],
    sent: tuple[str, ...],
    wanted: tuple[str, ...],
) -> None:
    group = fresh("group")
    with (
        member(java, fresh("m"), **options(topic, group, expression=expressions[0])) as first,
        member(java, fresh("m"), **options(topic, group, expression=expressions[1])) as second,
    ):
        ready(first, second)
        for tag in sent:
            java.do("send-sync", topic=topic, count=COUNT, prefix=tag, tag=tag)
        assert_got([first, second], *wanted)

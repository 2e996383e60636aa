"""Java consumers that subscribe by tags: one, many, none of them; several topics; groups that change."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from .clusters import Cluster
from .java_client import JavaClient
from .members import RECEIVE_TIMEOUT_S, Doomed, Member, member, share
from .received import bodies, body, numbered, read_all, wait_until

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
COUNT = 10
NO_TAG = ""
QUIET_S = 2
"""How long a consumer is watched that must get nothing more."""

KINDS = [
    ("a||b", ["a"], ["a"]),
    ("b||absent", ["a", "b"], ["b"]),
    ("a||b", ["a", "b"], ["a", "b"]),
    ("a||b", ["a", "b", "c"], ["a", "b"]),
    ("absent", ["a", "b", "c"], []),
    ("a", ["a"], ["a"]),
    ("*", [NO_TAG], [NO_TAG]),
    ("*", ["a"], ["a"]),
    ("null", [NO_TAG], [NO_TAG]),
    ("*", [NO_TAG, "a"], [NO_TAG, "a"]),
    ("null", [NO_TAG, "a"], [NO_TAG, "a"]),
    ("a", [NO_TAG, "a"], ["a"]),
]
"""What is subscribed, which tags are sent, which must come. A null subscription takes everything."""


def send(java: JavaClient, topic: str, tags: list[str]) -> None:
    for tag in tags:
        java.do("send-sync", topic=topic, count=COUNT, tag=tag, prefix=f"tag-{tag}")


def of_tags(tags: list[str]) -> list[str]:
    return sorted(text for tag in tags for text in numbered(f"tag-{tag}", COUNT))


def assert_gets_only(one: Member, expected: list[str]) -> None:
    assert bodies(one.received(len(expected))) == expected


@pytest.mark.parametrize(("expression", "sent", "wanted"), KINDS)
def test_a_consumer_gets_the_tags_it_wants(
    java: JavaClient, fresh: Fresh, expression: str, sent: list[str], wanted: list[str]
) -> None:
    topic = fresh("tags")
    java.do("admin-create", topic=topic, queues=4)
    with member(java, fresh("c"), topic=topic, group=fresh("group"), expression=expression) as one:
        send(java, topic, sent)
        expected = of_tags(wanted)
        assert_gets_only(one, expected)
        assert len(one.received(len(expected) + 1, timeout_s=0.5 if wanted else QUIET_S)) == len(expected)


def test_each_group_gets_its_own_tags(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("tags")
    java.do("admin-create", topic=topic, queues=4)
    kinds = {
        "a": ["a"],
        "b": ["b"],
        "a||b": ["a", "b"],
        "a|| absent": ["a"],
        "*": ["a", "b", NO_TAG],
    }
    with ExitStack() as stack:
        groups = {
            expression: stack.enter_context(
                member(java, fresh("c"), topic=topic, group=fresh("group"), expression=expression)
            )
            for expression in kinds
        }
        send(java, topic, [NO_TAG, "a", "b"])
        for expression, wanted in kinds.items():
            assert_gets_only(groups[expression], of_tags(wanted))


def test_mixed_tags_are_told_apart(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("tags")
    for n in range(COUNT):
        java.do("send-sync", topic=topic, tag="a", prefix=f"a{n}")
        java.do("send-sync", topic=topic, tag="b", prefix=f"b{n}")
    assert len(read_all(java, topic, 2 * COUNT)) == 2 * COUNT
    with (
        member(java, fresh("c"), topic=topic, group=fresh("group"), expression="a") as first,
        member(java, fresh("c"), topic=topic, group=fresh("group"), expression="b") as second,
    ):
        assert_gets_only(first, sorted(f"a{n}-0" for n in range(COUNT)))
        assert_gets_only(second, sorted(f"b{n}-0" for n in range(COUNT)))


@pytest.mark.parametrize("is_late", [False, True], ids=["together", "later"])
def test_members_of_a_group_share_one_tag(java: JavaClient, fresh: Fresh, is_late: bool) -> None:
    topic, group = fresh("tags"), fresh("group")
    java.do("admin-create", topic=topic, queues=4)
    shared = {"topic": topic, "group": group, "expression": "a"}
    with ExitStack() as stack:
        members = [stack.enter_context(member(java, fresh("c"), **shared))]
        if not is_late:
            members.append(stack.enter_context(member(java, fresh("c"), **shared)))
            share(members, 4)
        sending = java.begin("send-sync", topic=topic, tag="a", count=100, paceMs=10)
        java.do("send-sync", topic=topic, tag="b", count=COUNT)
        if is_late:
            members.append(stack.enter_context(member(java, fresh("c"), **shared)))
        java.finish(sending)
        share(members, 4)
        # Whose announcement was left out is refused until its next heartbeat (members.py).
        wait_until(lambda: sum(len(one.received(0)) for one in members) >= 100, RECEIVE_TIMEOUT_S)
        got = [message for one in members for message in one.received(10_000, timeout_s=QUIET_S)]
    assert {body(message) for message in got} == set(numbered("body", 100))
    assert {message["properties"]["TAGS"] for message in got} == {"a"}


def test_a_killed_member_leaves_its_tag_to_the_other(
    cluster: Cluster, java: JavaClient, fresh: Fresh, tmp_path: Path
) -> None:
    topic = fresh("tags")
    java.do("admin-create", topic=topic, queues=4)
    shared = {"topic": topic, "group": fresh("group"), "expression": "a"}
    doomed = Doomed(java.version, cluster.name_server, tmp_path)
    with member(java, fresh("c"), **shared) as first:
        share([first, doomed.join("victim", **shared)], 4)
        sending = java.begin("send-sync", topic=topic, tag="a", count=100, paceMs=10)
        java.do("send-sync", topic=topic, tag="b", count=COUNT, prefix="other")
        while not doomed.consumed():
            first.received(10_000, timeout_s=0.1)
        doomed.kill()
        java.finish(sending)
        share([first], 4)
        first.received(100 - len(doomed.consumed()))
        seen = {body(message) for message in first.received(10_000, timeout_s=QUIET_S)}
    assert seen | set(doomed.consumed()) == set(numbered("body", 100))


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize(
    ("expression", "sent", "wanted"),
    [("*", [NO_TAG], [NO_TAG]), ("a", ["a"], ["a"]), ("a", ["b", "a"], ["a"])],
)
def test_a_group_of_two_topics_gets_both(
    java: JavaClient, fresh: Fresh, size: int, expression: str, sent: list[str], wanted: list[str]
) -> None:
    plain, tagged, group = fresh("plain"), fresh("tagged"), fresh("group")
    for topic in (plain, tagged):
        java.do("admin-create", topic=topic, queues=4)
    with ExitStack() as stack:
        members = [
            stack.enter_context(
                member(
                    java, fresh("c"), topic=plain, group=group, alsoTopic=tagged, alsoExpression=expression
                )
            )
            for _ in range(size)
        ]
        send(java, tagged, sent)
        java.do("send-sync", topic=plain, count=COUNT, prefix="plain")
        expected = numbered("plain", COUNT) + of_tags(wanted)
        if size == 1:
            assert_gets_only(members[0], sorted(expected))
            return
        for _ in range(40):
            got = [message for one in members for message in one.received(10_000, timeout_s=0.5)]
            if {body(message) for message in got} >= set(expected):
                break
    assert {body(message) for message in got} == set(expected)

"""The official 5.x client with the broker's balance: queues shared by POP, messages that come back."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .clusters import Cluster
from .java_client import JavaClient
from .mqadmin import AdminShell
from .received import bodies, body, numbered

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
SetMode = Callable[[str, str], None]

INVISIBLE_MS = 5_000
"""The shortest that the client allows."""


@pytest.fixture(scope="module")
def popped_topic(
    cluster: Cluster, java_5: JavaClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SetMode]:
    """A topic that a group pops: both are made, then mqadmin sets the mode."""
    shell = AdminShell("5", cluster.name_server, tmp_path_factory.mktemp("mqadmin"))

    def make(topic: str, group: str) -> None:
        shell.run("updateTopic", "-b", cluster.broker, "-t", topic, "-r", "4", "-w", "4")
        shell.run("updateSubGroup", "-b", cluster.broker, "-g", group)
        printed = shell.run(
            "setConsumeMode", "-b", cluster.broker, "-t", topic, "-g", group, "-m", "POP", "-q", "0"
        )
        assert "success" in printed, printed

    yield make
    shell.close()


@contextmanager
def pop_consumer(java: JavaClient, name: str, **options: object) -> Iterator[str]:
    java.do("pop-start", name=name, **options)
    try:
        yield name
    finally:
        java.do("pop-stop", name=name)


def retried(messages: list[dict[str, object]]) -> dict[str, int]:
    """Body: the most tries seen."""
    tries: dict[str, int] = {}
    for message in messages:
        text = base64.b64decode(str(message["body"])).decode()
        tries[text] = max(tries.get(text, 0), int(str(message["reconsumeTimes"])))
    return tries


def test_popping_members_share_every_queue(java_5: JavaClient, fresh: Fresh, popped_topic: SetMode) -> None:
    topic, group = fresh("popped"), fresh("poppers")
    popped_topic(topic, group)
    java_5.do("send-sync", topic=topic, count=20, prefix="old")
    with (
        pop_consumer(java_5, fresh("c"), topic=topic, group=group) as first,
        pop_consumer(java_5, fresh("c"), topic=topic, group=group) as second,
    ):
        java_5.do("pop-wait", name=first, count=1, timeoutMs=40_000)
        java_5.do("send-sync", topic=topic, count=40, prefix="new")
        everything: list[dict[str, object]] = []
        for _ in range(20):
            everything = [
                message
                for name in (first, second)
                for message in java_5.do("pop-wait", name=name, count=10_000, timeoutMs=1_000)
            ]
            if len(everything) >= 60:
                break
    assert bodies(everything) == sorted(numbered("old", 20) + numbered("new", 40))


def test_a_message_that_failed_comes_back_once(
    java_5: JavaClient, fresh: Fresh, popped_topic: SetMode
) -> None:
    topic, group = fresh("failed"), fresh("poppers")
    popped_topic(topic, group)
    java_5.do("send-sync", topic=topic, count=3, prefix="m")
    options = {"topic": topic, "group": group, "listener": "fail-once"}
    with pop_consumer(java_5, fresh("c"), **options) as name:
        received = java_5.do("pop-wait", name=name, count=6, timeoutMs=90_000)
        assert bodies(received) == sorted(numbered("m", 3) * 2)
        assert retried(received) == dict.fromkeys(numbered("m", 3), 1)
        assert {message["topic"] for message in received} == {topic}
        assert len(java_5.do("pop-wait", name=name, count=7, timeoutMs=3_000)) == 6


def test_pulling_and_popping_groups_each_get_everything(
    java_5: JavaClient, fresh: Fresh, popped_topic: SetMode
) -> None:
    topic, group = fresh("both"), fresh("poppers")
    popped_topic(topic, group)
    java_5.do("send-sync", topic=topic, count=10, prefix="m")
    pulling = fresh("puller")
    java_5.do("push-start", name=pulling, topic=topic, group=fresh("pullers"))
    try:
        with pop_consumer(java_5, fresh("c"), topic=topic, group=group) as popping:
            assert bodies(java_5.do("pop-wait", name=popping, count=10, timeoutMs=60_000)) == numbered(
                "m", 10
            )
            assert bodies(java_5.do("push-wait", name=pulling, count=10)) == numbered("m", 10)
    finally:
        java_5.do("push-stop", name=pulling)


def test_what_a_killed_consumer_held_goes_to_another(
    cluster: Cluster, java_5: JavaClient, fresh: Fresh, popped_topic: SetMode, tmp_path: Path
) -> None:
    topic, group = fresh("killed"), fresh("poppers")
    popped_topic(topic, group)
    java_5.do("send-sync", topic=topic, count=8, prefix="m")
    victim = JavaClient("5", cluster.name_server, tmp_path)
    options = {"topic": topic, "group": group, "invisibleMs": INVISIBLE_MS}
    victim.do("pop-start", name="victim", listener="hang", **options)
    held = victim.do("pop-wait", name="victim", count=8, timeoutMs=60_000)
    assert bodies(held) == numbered("m", 8)
    victim.kill()
    with pop_consumer(java_5, fresh("c"), **options) as name:
        received = java_5.do("pop-wait", name=name, count=8, timeoutMs=90_000)
    assert sorted({body(message) for message in received}) == numbered("m", 8)
    assert all(tries >= 1 for tries in retried(received).values())


def test_what_was_consumed_does_not_come_again(
    java_5: JavaClient, fresh: Fresh, popped_topic: SetMode
) -> None:
    topic, group = fresh("popped"), fresh("poppers")
    popped_topic(topic, group)
    options = {"topic": topic, "group": group, "invisibleMs": INVISIBLE_MS}
    with pop_consumer(java_5, fresh("c"), **options) as name:
        java_5.do("send-sync", topic=topic, prefix="m")
        (received,) = java_5.do("pop-wait", name=name, count=1, timeoutMs=60_000)
        assert received["properties"]["POP_CK"]
        assert len(java_5.do("pop-wait", name=name, count=2, timeoutMs=INVISIBLE_MS + 3_000)) == 1


def test_failed_messages_of_long_names_are_retried_twice(
    java_5: JavaClient, fresh: Fresh, popped_topic: SetMode
) -> None:
    """Their retry topic is longer than a topic may be. Side by side, for the pauses are long."""
    topics = {kind: f"{fresh(kind)}-".ljust(78, "T") for kind in ("fail-twice", "suspend-twice")}
    groups = {kind: f"{fresh(kind)}-".ljust(78, "G") for kind in topics}
    names = {kind: fresh("c") for kind in topics}
    for kind, topic in topics.items():
        popped_topic(topic, groups[kind])
        java_5.do("pop-start", name=names[kind], topic=topic, group=groups[kind], listener=kind)
        java_5.do("send-sync", topic=topic, count=10, prefix="m")
    try:
        for kind, topic in topics.items():
            received = java_5.do("pop-wait", name=names[kind], count=30, timeoutMs=90_000)
            tries = sorted((body(message), message["reconsumeTimes"]) for message in received)
            assert tries == [(text, times) for text in numbered("m", 10) for times in range(3)], kind
            assert {message["topic"] for message in received} == {topic}
    finally:
        for name in names.values():
            java_5.do("pop-stop", name=name)

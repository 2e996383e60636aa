"""Groups of Java consumers that share a topic's queues while members join and are killed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from .clusters import Cluster
from .java_client import JavaClient
from .members import Doomed, Member, member, share
from .received import Message, bodies, body, numbered
from .remoting import create_topic

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
QUEUES = 12  # so that one, two, three and four members have even shares
COUNT = 400
PACED, PACE_MS = 150, 20  # three seconds, in which members come and go
MISSING_TIMEOUT_S = 50


@pytest.fixture
def topic(cluster: Cluster, fresh: Fresh) -> str:
    name = fresh("balance")
    create_topic(cluster.broker, name, QUEUES)
    return name


@pytest.fixture
def doomed(cluster: Cluster, java: JavaClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doomed]:
    process = Doomed(java.version, cluster.name_server, tmp_path_factory.mktemp("doomed"))
    yield process
    process.kill()


def joined(stack: ExitStack, java: JavaClient, count: int, fresh: Fresh, **options: object) -> list[Member]:
    return [stack.enter_context(member(java, fresh("member"), **options)) for _ in range(count)]


def everything(
    members: list[Member], sent: list[str], elsewhere: Callable[[], list[str]] = list
) -> list[list[Message]]:
    """What each has got, once nothing of ``sent`` is missing; some may have been consumed elsewhere."""
    deadline = time.monotonic() + MISSING_TIMEOUT_S
    while True:
        got = [one.received(0) for one in members]
        seen = {body(message) for messages in got for message in messages}.union(elsewhere())
        if seen.issuperset(sent):
            return got
        assert time.monotonic() < deadline, f"missing: {sorted(set(sent) - seen)}"
        time.sleep(0.2)


def assert_even(got: list[list[Message]], count: int) -> None:
    """Each the share of its queues; a tenth is left to the producer, whose turns may skip a queue."""
    fair = count / len(got)
    assert all(abs(len(messages) - fair) <= fair / 10 for messages in got), [len(one) for one in got]


@pytest.mark.parametrize(("size", "count"), [(2, 400), (4, 600)])
def test_members_get_even_shares(java: JavaClient, fresh: Fresh, topic: str, size: int, count: int) -> None:
    with ExitStack() as stack:
        members = joined(stack, java, size, fresh, topic=topic, group=fresh("group"))
        held = share(members, QUEUES)
        java.do("send-sync", topic=topic, count=count)
        got = everything(members, numbered("body", count))
    assert bodies(message for messages in got for message in messages) == numbered("body", count)
    assert [{message["queueId"] for message in messages} for messages in got] == held
    assert_even(got, count)


@pytest.mark.parametrize("survivors", [1, 2])
def test_survivors_share_what_a_killed_member_had(
    java: JavaClient, fresh: Fresh, topic: str, doomed: Doomed, survivors: int
) -> None:
    options = {"topic": topic, "group": fresh("group")}
    with ExitStack() as stack:
        members = joined(stack, java, survivors, fresh, **options)
        victim = doomed.join("victim", **options)
        share([*members, victim], QUEUES)
        java.do("send-sync", topic=topic, count=COUNT, prefix="before")
        assert_even(everything([*members, victim], numbered("before", COUNT)), COUNT)
        doomed.kill()
        java.do("send-sync", topic=topic, count=COUNT, prefix="after")
        everything(members, numbered("before", COUNT) + numbered("after", COUNT), doomed.consumed)
        share(members, QUEUES)
        java.do("send-sync", topic=topic, count=COUNT, prefix="settled")
        got = everything(members, numbered("settled", COUNT))
    assert_even([[m for m in messages if body(m).startswith("settled")] for messages in got], COUNT)


def send_until(java: JavaClient, topic: str, is_enough: Callable[[], bool]) -> list[str]:
    """Sends to every queue again and again; returns the bodies."""
    sent: list[str] = []
    while not is_enough():
        prefix = f"more{len(sent)}"
        java.do("send-sync", topic=topic, count=QUEUES, prefix=prefix, paceMs=PACE_MS)
        sent += numbered(prefix, QUEUES)
        assert len(sent) < 100 * QUEUES
    return sent


@pytest.mark.parametrize("added", [1, 2])
@pytest.mark.parametrize("should_kill", [False, True], ids=["stay", "killed"])
def test_nothing_is_missed_while_members_are_added(
    java: JavaClient, fresh: Fresh, topic: str, doomed: Doomed, added: int, should_kill: bool
) -> None:
    options = {"topic": topic, "group": fresh("group")}
    with ExitStack() as stack:
        (first,) = joined(stack, java, 1, fresh, **options)
        share([first], QUEUES)
        sending = java.begin("send-sync", topic=topic, count=PACED, paceMs=PACE_MS)
        newcomers = [doomed.join(fresh("added"), **options) for _ in range(added)]
        share([first, *newcomers], QUEUES)
        sent = send_until(java, topic, lambda: len(doomed.consumed()) >= QUEUES)
        if should_kill:
            doomed.kill()
        java.finish(sending)
        everything([first], numbered("body", PACED) + sent, doomed.consumed)
        if should_kill:
            share([first], QUEUES)


@pytest.mark.parametrize("killed", [1, 2])
def test_nothing_is_missed_while_members_are_killed(
    java: JavaClient, fresh: Fresh, topic: str, doomed: Doomed, killed: int
) -> None:
    options = {"topic": topic, "group": fresh("group")}
    with ExitStack() as stack:
        (first,) = joined(stack, java, 1, fresh, **options)
        victims = [doomed.join(fresh("victim"), **options) for _ in range(killed)]
        share([first, *victims], QUEUES)
        sending = java.begin("send-sync", topic=topic, count=PACED, paceMs=PACE_MS)
        sent = send_until(java, topic, lambda: len(doomed.consumed()) >= QUEUES)
        doomed.kill()
        java.finish(sending)
        everything([first], numbered("body", PACED) + sent, doomed.consumed)
        share([first], QUEUES)


def test_a_member_is_told_when_its_queues_change(java_5: JavaClient, fresh: Fresh, topic: str) -> None:
    """Only 5.x consumers have a listener for it."""
    options = {"topic": topic, "group": fresh("group")}
    with ExitStack() as stack:
        (watching,) = joined(stack, java_5, 1, fresh, watch="true", **options)
        joined(stack, java_5, 1, fresh, **options)
        assert java_5.do("push-rebalanced", name=watching.name, timeoutMs=30_000) >= 1

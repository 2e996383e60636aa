"""Transactions with every fate at once, and of producers that are killed before they could decide.

Apache's TransactionalMsgIT. A message carries the answer to questions about itself, so that whoever of the
group is asked can give it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from .clusters import Cluster
from .java_client import JavaClient
from .received import bodies, body, numbered, wait_until
from .subscribed import subscribed

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
QUESTIONS_S = 4
"""More than two rounds of questions (every 1.5 s about what is older than 1 s)."""
FATES = (
    ("commit", "unknown"),
    ("rollback", "unknown"),
    ("unknown", "commit"),
    ("unknown", "rollback"),
    ("unknown", "unknown"),
)
"""What is decided at once, and what is answered later."""


@pytest.fixture
def doomed(
    cluster: Cluster, java: JavaClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaClient]:
    """A second JVM of the same version, to be killed."""
    client = JavaClient(java.version, cluster.name_server, tmp_path_factory.mktemp("doomed"))
    yield client
    client.kill()


def test_only_what_is_committed_sooner_or_later_is_seen(java: JavaClient, fresh: Fresh) -> None:
    topic, group = fresh("fates"), fresh("shop")
    java.do("send-sync", topic=topic, prefix="plain")
    with subscribed(java, topic, fresh) as consumer:
        sent = java.do(
            "tx-send",
            group=group,
            topic=topic,
            count=120,
            prefix="t",
            decision=",".join(decision for decision, _ in FATES),
            answers=",".join(answer for _, answer in FATES),
        )
        assert {result["sent"]["status"] for result in sent} == {"SEND_OK"}
        consumer.received(49)
        time.sleep(QUESTIONS_S)
        received = consumer.received()
    seen = [n for n in range(120) if n % len(FATES) in (0, 2)]
    assert bodies(received) == sorted(["plain-0", *(f"t-{n}" for n in seen)])
    asked = {
        int(body(message).removeprefix("t-")) % len(FATES) for message in java.do("tx-checked", group=group)
    }
    assert asked == {2, 3, 4}, "what was decided at once must not be asked about"
    java.do("tx-stop", group=group)


def test_the_group_answers_for_a_killed_producer(java: JavaClient, doomed: JavaClient, fresh: Fresh) -> None:
    topic, group = fresh("orphans"), fresh("shop")
    java.do("send-sync", topic=topic, prefix="plain")
    options = {"group": group, "topic": topic}
    with subscribed(java, topic, fresh) as consumer:
        # Known to the broker as a member of the group before its colleague dies.
        java.do("tx-send", prefix="own", decision="rollback", **options)
        doomed.do("tx-send", count=10, prefix="t", decision="unknown", answers="commit,rollback", **options)
        doomed.kill()
        consumer.received(6)
        time.sleep(QUESTIONS_S)
        received = consumer.received()
    assert bodies(received) == ["plain-0", *(f"t-{n}" for n in range(0, 10, 2))]
    assert bodies(java.do("tx-checked", group=group)) == numbered("t", 10)
    java.do("tx-stop", group=group)


@pytest.mark.parametrize(("answer", "seen"), [("commit", 10), ("rollback", 0)])
def test_a_producer_that_comes_back_is_asked_about_its_former_life(
    java: JavaClient, doomed: JavaClient, fresh: Fresh, answer: str, seen: int
) -> None:
    """All members of the group are dead for a while: nobody can be asked, and nothing is given up."""
    topic, group = fresh("orphans"), fresh("shop")
    java.do("send-sync", topic=topic, prefix="plain")
    doomed.do("tx-send", group=group, topic=topic, count=10, prefix="t", decision="unknown", answers=answer)
    doomed.kill()
    with subscribed(java, topic, fresh) as consumer:
        time.sleep(QUESTIONS_S)
        assert [body(message) for message in consumer.received(1)] == ["plain-0"]
        java.do("tx-send", group=group, topic=topic, prefix="own", decision="rollback")
        wait_until(lambda: len(java.do("tx-checked", group=group)) >= 10, 40)
        time.sleep(QUESTIONS_S)
        received = consumer.received()
    assert bodies(received) == sorted(["plain-0", *numbered("t", seen)])
    assert bodies(java.do("tx-checked", group=group)) == numbered("t", 10), "each is asked about once"
    java.do("tx-stop", group=group)

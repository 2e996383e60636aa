"""Transactions through the official Java client: commit, rollback, and being asked what became of one."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from .java_client import JavaClient
from .received import bodies, body, numbered, read_all

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]


def test_committed_messages_are_stored_once_and_others_not_at_all(java: JavaClient, fresh: Fresh) -> None:
    topic, group = fresh("tx"), fresh("shop")
    java.do("send-sync", topic=topic, count=1, prefix="plain")
    for decision in ("commit", "rollback", "commit"):
        prefix = fresh(decision)
        results = java.do("tx-send", group=group, topic=topic, count=5, prefix=prefix, decision=decision)
        states = {result["state"] for result in results}
        assert states == {"COMMIT_MESSAGE" if decision == "commit" else "ROLLBACK_MESSAGE"}
        assert all(result["sent"]["status"] == "SEND_OK" for result in results)
        assert all(result["sent"]["transactionId"] == result["sent"]["msgId"] for result in results)
    stored = read_all(java, topic, 11)
    time.sleep(4)  # two more rounds of questions change nothing
    assert bodies(read_all(java, topic, 11)) == bodies(stored)
    assert len(stored) == 11
    assert not [message for message in stored if body(message).startswith("rollback")]
    assert not java.do("tx-checked", group=group)
    java.do("tx-stop", group=group)


@pytest.mark.parametrize("answer", ["commit", "rollback"])
def test_an_unknown_transaction_is_asked_about(java: JavaClient, fresh: Fresh, answer: str) -> None:
    topic, group = fresh("tx"), fresh("shop")
    java.do("send-sync", topic=topic, count=1, prefix="plain")
    sent = java.do(
        "tx-send", group=group, topic=topic, count=3, prefix="ask", tag="t", decision="unknown", answer=answer
    )
    deadline = time.monotonic() + 40
    while len(checked := java.do("tx-checked", group=group)) < 3 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert bodies(checked) == numbered("ask", 3)
    assert {message["topic"] for message in checked} == {topic}
    assert {message["properties"]["UNIQ_KEY"] for message in checked} == {
        result["sent"]["msgId"] for result in sent
    }
    count = 4 if answer == "commit" else 1
    stored = read_all(java, topic, count)
    time.sleep(4)
    assert bodies(read_all(java, topic, count)) == bodies(stored)
    assert len(stored) == count
    assert len(java.do("tx-checked", group=group)) == 3
    java.do("tx-stop", group=group)


def test_unknown_answers_are_asked_again_until_one_counts(java: JavaClient, fresh: Fresh) -> None:
    topic, group = fresh("tx"), fresh("shop")
    java.do("tx-send", group=group, topic=topic, prefix="ask", decision="unknown", answer="unknown")
    deadline = time.monotonic() + 40
    while len(checked := java.do("tx-checked", group=group)) < 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    times = [int(message["properties"]["TRANSACTION_CHECK_TIMES"]) for message in checked]
    assert times == list(range(1, len(times) + 1))
    assert len(times) >= 2
    java.do("tx-answer", group=group, answer="commit")
    deadline = time.monotonic() + 40
    while not (stored := read_all(java, topic, 1)) and time.monotonic() < deadline:
        pass
    assert [body(message) for message in stored] == ["ask-0"]
    java.do("tx-stop", group=group)


def test_another_member_of_the_group_is_asked(
    java: JavaClient, java_clients: Callable[[str], JavaClient], fresh: Fresh
) -> None:
    topic, group = fresh("tx"), fresh("shop")
    other = java_clients("4.9" if java.version == "5" else "5")
    java.do("tx-send", group=group, topic=topic, prefix="ask", decision="unknown")
    java.do("tx-stop", group=group)
    other.do("send-sync", topic=topic, prefix="plain")
    other.do("tx-send", group=group, topic=topic, prefix="other", decision="rollback", answer="commit")
    stored = read_all(java, topic, 1)
    deadline = time.monotonic() + 40
    while len(stored) < 2 and time.monotonic() < deadline:
        stored = read_all(java, topic, 2)
    assert bodies(stored) == ["ask-0", "plain-0"]
    other.do("tx-stop", group=group)

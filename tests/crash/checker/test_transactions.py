"""The checker of transactions sees what it must, and nothing else."""

from __future__ import annotations

import pytest

from tests.crash.checker.events import FAIL, INFO, NEMESIS, OK, PULL, Event
from tests.crash.checker.transactions import (
    COMMITTED,
    GIVEN_UP_TOPIC,
    ROLLED_BACK,
    TX,
    UNDECIDED,
    check_transactions,
)

VALUE = ("t0", 1)
DRAINED = Event(NEMESIS, key="drain")


def half(decision: str, status: str = OK) -> Event:
    return Event(TX, "t0", status=status, key=decision, value=VALUE)


def read(topic: str = "Orders") -> Event:
    return Event(PULL, "c0", topic=topic, value=VALUE)


@pytest.mark.parametrize(
    "events",
    [
        [half(COMMITTED), DRAINED, read()],
        [half(ROLLED_BACK), DRAINED],
        [half(COMMITTED, INFO), DRAINED],
        [half(COMMITTED, FAIL), DRAINED],
        [half(COMMITTED, INFO), DRAINED, read()],
        [half(UNDECIDED), DRAINED, read(GIVEN_UP_TOPIC)],
        [half(COMMITTED), DRAINED, read(), DRAINED, read()],
    ],
)
def test_kept_promises_pass(events: list[Event]) -> None:
    assert not check_transactions(events)


@pytest.mark.parametrize(
    ("events", "word"),
    [
        ([half(COMMITTED), DRAINED], "missing"),
        ([half(COMMITTED), read(), DRAINED], "missing"),
        ([half(COMMITTED), DRAINED, read(), read()], "2 times"),
        ([half(COMMITTED, INFO), DRAINED, read(), read()], "2 times"),
        ([half(ROLLED_BACK), DRAINED, read()], "shown"),
        ([half(ROLLED_BACK, INFO), DRAINED, read()], "shown"),
        ([half(COMMITTED, FAIL), DRAINED, read()], "refused"),
        ([half(UNDECIDED, FAIL), DRAINED, read(GIVEN_UP_TOPIC)], "refused"),
        ([half(UNDECIDED), DRAINED], "vanished"),
        ([half(UNDECIDED), DRAINED, read()], "shown"),
    ],
)
def test_broken_promises_are_seen(events: list[Event], word: str) -> None:
    (violation,) = check_transactions(events)
    assert word in violation.text

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.crash.checker.check import check_history
from tests.crash.checker.events import DRAIN, Event
from tests.crash.checker.front import check_front, without_expired
from tests.crash.checker.stories import assigned, expired, front, good_story, mark, read, sent

FIVE = [sent("a", seq, seq) for seq in range(5)]


@pytest.mark.parametrize(
    "events",
    [
        [front(0)],
        [front(7)],  # nobody was told of anything below it
        [*FIVE, front(0), front(0, node="slave")],
        [*FIVE, front(4, queue=1)],
        [sent("a", 0, status="info"), sent("a", 1, status="fail"), sent("a", 2, 1), front(1)],
        [*FIVE, expired(3), front(3)],
        [*FIVE, expired(3), front(1), front(3), front(2, node="slave")],
        [*FIVE, front(0), expired(3), front(3), sent("a", 5, 5), front(3)],
    ],
)
def test_a_front_that_hides_nothing_unexpired_passes(events: list[Event]) -> None:
    assert check_front(events) == []


@pytest.mark.parametrize(
    ("events", "gone"),
    [
        ([*FIVE, front(2)], [0, 1]),
        ([*FIVE, front(5)], [0, 1, 2, 3, 4]),  # an emptied queue
        ([*FIVE, front(0), front(1, node="slave")], [0]),  # the master still has it, a slave does not
        ([front(2), *FIVE], [0, 1]),  # written down after the front was asked for
        ([*FIVE, expired(2), front(4)], [2, 3]),
        ([*FIVE, expired(2, queue=1), front(2)], [0, 1]),
        ([*FIVE, front(2), expired(2)], [0, 1]),  # deleted before it was old enough
        ([*FIVE, front(1), front(3), front(3, node="slave")], [0, 1, 2]),  # each once
        ([sent("a", 0, status="info"), read("a", 0, 0), front(1)], [0]),  # not acknowledged, but read
        ([*FIVE, replace(front(2), node="", proc="c0")], [0, 1]),  # a reader that was moved forward
    ],
)
def test_a_readable_message_that_is_gone_at_the_front_is_caught(events: list[Event], gone: list[int]) -> None:
    violations = check_front(events)
    assert [violation.evidence[0].offset for violation in violations] == gone
    assert {violation.checker for violation in violations} == {"front"}


def test_the_text_says_what_is_gone_and_who_does_not_have_it() -> None:
    (violation,) = check_front([sent("a", 0, 0), front(1, node="member-1")])
    assert violation.text == (
        "('a', 0) at ('T', 0, 0) was acknowledged and has not expired, but member-1 shows nothing below 1"
    )


def test_what_expired_need_not_be_in_the_drain() -> None:
    before = [assigned(0), *FIVE, *(read("a", seq, seq) for seq in range(5)), expired(2), mark(DRAIN)]
    after = [assigned(2, by="d"), front(2), *(read("a", seq, seq, by="d") for seq in range(2, 5))]
    assert check_history(before + after) == []
    caught = {violation.checker for violation in check_history(before + after[:2] + after[3:])}
    assert caught == {"lost", "lost-by-offset", "phantom", "order"}
    assert without_expired(FIVE) == FIVE


def test_a_planted_loss_at_the_front_spoils_a_good_history() -> None:
    assert check_history([*good_story(), front(0), front(0, queue=1)]) == []
    (violation,) = check_history([*good_story(), front(0), front(1, queue=1)])
    assert violation.checker == "front"

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.crash.checker.delivery import Given, check_delivery

A = ("a", 0)


def given(popped_ms: int, acked_ms: float | None = None, *, tries: int = 0, is_unsure: bool = False) -> Given:
    """Try by try at one place after the other of the retry topic."""
    place = ("1", 0, 10 + tries) if tries else ("0", 2, 7)
    return Given(A, popped_ms, popped_ms + 1_000, popped_ms - 5, tries, place, acked_ms, is_unsure)


def elsewhere(copy: Given) -> Given:
    """The same try of the same message at another place."""
    kind, queue_id, queue_offset = copy.place
    return replace(copy, place=(kind, queue_id, queue_offset + 1))


def texts(*copies: Given) -> list[str]:
    return [violation.text for violation in check_delivery([A], copies)]


def test_a_message_that_comes_back_until_it_is_acknowledged_is_fine() -> None:
    assert texts(given(5_000, 5_100)) == []
    assert texts(given(5_000), given(6_000, tries=1), given(7_050, 7_060, tries=2)) == []


def test_an_acknowledgement_that_was_answered_too_late_counts_or_not() -> None:
    """The broker may have taken it in time, and only its answer waited for the disk."""
    assert texts(given(5_000, 6_500), given(6_010, 6_020, tries=1)) == []
    assert texts(given(5_000, 6_500)) == []


def test_what_was_in_doubt_may_come_back_or_not() -> None:
    assert texts(given(5_000, is_unsure=True)) == []
    assert texts(given(5_000, is_unsure=True), given(5_500, 5_600, tries=1)) == []


def test_twins_are_told_from_an_early_return() -> None:
    once = given(6_000, 6_100, tries=1)
    twins, early = texts(given(5_000), once, elsewhere(once))
    assert "came 2 times as try 1: it lies at [('1', 0, 11), ('1', 0, 12)]" in twins
    assert "before its time" in early
    (early,) = texts(given(5_000), given(5_000, 5_100))
    assert "before its time" in early, "one place, given twice: somebody forgot the first time"


def test_twins_are_caught_however_late_the_second_comes() -> None:
    first = given(6_000, tries=1)
    second = elsewhere(given(7_000, 7_100, tries=1))
    (text,) = texts(given(5_000), first, second)
    assert "came 2 times as try 1" in text


def test_twins_are_caught_where_the_first_was_in_doubt() -> None:
    first = given(6_000, tries=1, is_unsure=True)
    (text,) = texts(given(5_000), first, elsewhere(given(6_500, 6_600, tries=1)))
    assert "came 2 times as try 1" in text


@pytest.mark.parametrize(
    ("copies", "said"),
    [
        ((), "never given"),
        ((given(5_000),), "gone without"),
        ((given(5_000, 5_100), given(6_100, 6_200, tries=1)), "though its acknowledgement"),
        ((given(5_000), given(5_999, 6_100, tries=1)), "before its time"),
    ],
)
def test_each_broken_promise_is_caught(copies: tuple[Given, ...], said: str) -> None:
    (text,) = texts(*copies)
    assert said in text

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.crash.checker.delivery import Given, check_delivery

A = ("a", 0)


def given(popped_ms: int, acked_ms: float | None = None, *, is_unsure: bool = False) -> Given:
    return Given(A, popped_ms, popped_ms + 1_000, popped_ms - 5, acked_ms, is_unsure)


def texts(*copies: Given) -> list[str]:
    return [violation.text for violation in check_delivery([A], copies)]


def test_a_message_that_comes_back_until_it_is_acknowledged_is_fine() -> None:
    assert texts(given(5_000, 5_100)) == []
    assert texts(given(5_000), given(6_000), given(7_050, 7_060)) == []


def test_an_acknowledgement_that_was_too_late_does_not_count() -> None:
    assert texts(given(5_000, 6_500), given(6_010, 6_020)) == []


def test_what_was_in_doubt_may_come_back_or_not() -> None:
    assert texts(given(5_000, is_unsure=True)) == []
    assert texts(given(5_000, is_unsure=True), given(5_500, 5_600)) == []


def test_two_copies_in_one_pop_are_no_early_return() -> None:
    once = given(5_000, 5_100)
    assert texts(once, once) == []
    (text,) = texts(given(5_000), replace(given(5_000, 5_100), asked_ms=4_990.5))
    assert "before its time" in text, "another pop of the same moment is"


@pytest.mark.parametrize(
    ("copies", "said"),
    [
        ((), "never given"),
        ((given(5_000),), "gone without"),
        ((given(5_000, 5_100), given(6_100, 6_200)), "though its acknowledgement"),
        ((given(5_000), given(5_999, 6_100)), "before its time"),
    ],
)
def test_each_broken_promise_is_caught(copies: tuple[Given, ...], said: str) -> None:
    (text,) = texts(*copies)
    assert said in text

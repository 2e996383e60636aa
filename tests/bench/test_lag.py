"""A lag is the age of the newest byte that a slave has: checked on histories whose answer is known."""

from __future__ import annotations

import pytest

from bench.lag import Timeline, lags


def line(*points: tuple[float, int], is_early: bool) -> Timeline:
    made = Timeline(is_early)
    for at, log_end in points:
        made.note(at, at, log_end)
    return made


MASTER = line((0.0, 0), (1.0, 100), (2.0, 300), (3.0, 300), (4.0, 400), is_early=True)


@pytest.mark.parametrize(
    ("now", "log_end", "lag_s"),
    [
        (1.0, 100, 0.0),  # level
        (2.0, 100, 1.0),  # since the master had it, it has gone on for a second
        (2.0, 200, 0.5),  # evenly between two answers
        (3.5, 300, 0.5),  # it stood still until 3.0
        (4.0, 400, 0.0),  # level at the end
        (4.0, 50, 3.5),
    ],
)
def test_the_age_of_the_newest_byte(now: float, log_end: int, lag_s: float) -> None:
    assert lags(MASTER, line((now, log_end), is_early=False)) == [pytest.approx(lag_s)]


def test_what_the_master_was_not_asked_about_is_left_out() -> None:
    assert lags(MASTER, line((5.0, 400), is_early=False)) == []
    assert lags(line((1.0, 10), is_early=True), line((0.5, 5), is_early=False)) == []


def test_answers_are_dated_so_that_no_lag_is_too_short() -> None:
    master, slave = Timeline(is_early=True), Timeline(is_early=False)
    master.note(1.0, 1.3, 10)
    slave.note(1.0, 1.3, 10)
    assert (master.times, slave.times) == ([1.0], [1.3])

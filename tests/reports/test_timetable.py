"""When schedules are due: cron expressions in time zones, around changes of the clock too."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.core.problems import Problem
from reports.selectors.timetable import check_cron, check_zone, next_time, times

NOON = datetime(2026, 11, 16, 12, 0, 30, tzinfo=UTC)


def test_every_minute_is_the_next_full_one() -> None:
    assert next_time("* * * * *", "UTC", NOON) == datetime(2026, 11, 16, 12, 1, tzinfo=UTC)


def test_hours_are_those_of_the_time_zone() -> None:
    assert next_time("0 6 * * *", "Asia/Shanghai", NOON) == datetime(2026, 11, 16, 22, 0, tzinfo=UTC)
    assert next_time("0 6 * * *", "America/New_York", NOON) == datetime(2026, 11, 17, 11, 0, tzinfo=UTC)


def test_an_hour_that_is_left_out_or_comes_twice_runs_once() -> None:
    before = datetime(2026, 3, 28, 12, tzinfo=UTC)
    spring = [next(found := times("30 2 * * *", "Europe/Berlin", before)), next(found)]
    assert spring == [datetime(2026, 3, 29, 1, 0, tzinfo=UTC), datetime(2026, 3, 30, 0, 30, tzinfo=UTC)]
    autumn = times("30 2 * * *", "Europe/Berlin", datetime(2026, 10, 24, 12, tzinfo=UTC))
    assert [next(autumn).date().day, next(autumn).date().day] == [25, 26]


def test_moments_rise_and_are_later_than_asked() -> None:
    found = times("*/7 3 * * 1", "UTC", NOON)
    listed = [next(found) for _ in range(20)]
    assert listed == sorted(set(listed)) and listed[0] > NOON


@pytest.mark.parametrize(
    "cron", ["", "* * * *", "* * * * * *", "60 * * * *", "0 0 30 2 *", "@daily", "a b c d e", "0 0 * * 9"]
)
def test_what_is_no_expression_is_refused_with_its_field(cron: str) -> None:
    with pytest.raises(Problem) as refused:
        check_cron(cron, "UTC", NOON)
    assert (refused.value.status, refused.value.errors[0]["field"]) == (400, "cron")


@given(st.text(alphabet="0123456789*/,-#LWMONFEB @?\n\té", max_size=30))
def test_no_text_does_anything_but_name_moments_or_be_refused(cron: str) -> None:
    try:
        check_cron(cron, "Europe/Berlin", NOON)
    except Problem as problem:
        assert problem.status == 400


@pytest.mark.parametrize("zone", ["", "Mars/Base", "../etc/passwd", "utc\0", "Europe/berlin\n"])
def test_what_is_no_time_zone_is_refused(zone: str) -> None:
    with pytest.raises(Problem):
        check_zone(zone)

"""What options and pushed filters narrow, checked against what they mean."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringStartsWith,
)

from engine.errors import BadInput
from spark.sources.wanted import FIRST, LAST, Span, Wanted, moment_ms, narrow, wanted_by_options

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
NOON_MS = int(NOON.timestamp()) * 1000
COMPARISONS = {
    EqualTo: lambda value, wanted: value == wanted,
    GreaterThan: lambda value, wanted: value > wanted,
    GreaterThanOrEqual: lambda value, wanted: value >= wanted,
    LessThan: lambda value, wanted: value < wanted,
    LessThanOrEqual: lambda value, wanted: value <= wanted,
}


@given(st.sampled_from(list(COMPARISONS)), st.integers(-5000, 5000), st.integers(-5, 5))
def test_a_pushed_time_means_the_same_in_milliseconds(compare: Any, wanted_us: int, stored_ms: int) -> None:
    """Spark compares microseconds, records hold milliseconds."""
    literal = NOON + timedelta(microseconds=wanted_us)
    wanted, rest = narrow(Wanted(), [compare(("store_time",), literal)])
    stored = NOON + timedelta(milliseconds=stored_ms)
    span = wanted.times_ms
    assert (span.start <= NOON_MS + stored_ms < span.end) == COMPARISONS[compare](stored, literal)
    assert rest == []


@given(st.sampled_from(list(COMPARISONS)), st.integers(-3, 3), st.integers(-5, 5))
def test_a_pushed_offset_means_the_same(compare: Any, literal: int, offset: int) -> None:
    pushed = compare(("commit_log_offset",), literal)
    wanted, rest = narrow(Wanted(), [pushed])
    assert (wanted.offsets.start <= offset < wanted.offsets.end) == COMPARISONS[compare](offset, literal)
    assert rest == [pushed]


def test_filters_narrow_together() -> None:
    filters: list[Filter] = [
        In(("topic",), ("orders", "logs", None)),
        EqualTo(("topic",), "orders"),
        StringStartsWith(("topic",), "or"),
        GreaterThan(("store_time",), NOON),
        LessThan(("store_time",), NOON + timedelta(hours=1)),
        EqualTo(("kind",), "normal"),
        EqualTo(("cluster",), "east"),
        EqualTo(("queue_id",), 3),
        GreaterThanOrEqual(("queue_offset",), 100),
    ]
    wanted, rest = narrow(Wanted(), filters)
    assert wanted.topics == {"orders"} and wanted.kinds == {"normal"} and wanted.clusters == {"east"}
    assert wanted.times_ms == Span(NOON_MS + 1, NOON_MS + 3_600_000)
    assert wanted.queue_ids == {3} and wanted.queue_offsets == Span(100, LAST)
    assert rest == filters[-2:]
    assert wanted.wants_topic("orders", "", "") and not wanted.wants_topic("logs", "", "")


@pytest.mark.parametrize(
    "pushed",
    [
        Not(EqualTo(("topic",), "orders")),
        IsNotNull(("topic",)),
        StringContains(("topic",), "rd"),
        StringStartsWith(("tags",), "p"),
        EqualTo(("tags",), "paid"),
        EqualTo(("properties", "region"), "east"),
        EqualTo(("topic",), None),
        GreaterThan(("topic",), "orders"),
        EqualTo(("store_time",), "2026-11-16"),
        EqualTo(("commit_log_offset",), True),
    ],
)
def test_what_is_not_understood_is_left_to_spark(pushed: Filter) -> None:
    assert narrow(Wanted(), [pushed]) == (Wanted(), [pushed])


def test_times_without_a_zone_are_utc() -> None:
    assert moment_ms("2026-11-16T12:00:00") == moment_ms("2026-11-16T13:00:00+01:00") == NOON_MS
    assert moment_ms("2026-11-16") == NOON_MS - 12 * 3_600_000
    naive, _ = narrow(Wanted(), [EqualTo(("store_time",), NOON.replace(tzinfo=None))])
    aware, _ = narrow(Wanted(), [EqualTo(("store_time",), NOON.astimezone(timezone(timedelta(hours=9))))])
    assert naive.times_ms == aware.times_ms == Span(NOON_MS, NOON_MS + 1)


def test_options_say_topics_and_times() -> None:
    wanted = wanted_by_options({"topics": "orders, logs", "from": "2026-11-16T12:00:00"})
    assert wanted == Wanted(topics=frozenset(["orders", "logs"]), times_ms=Span(NOON_MS, LAST))
    assert wanted_by_options({}).times_ms == Span(FIRST, LAST)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"from": "yesterday"}, "not a time: 'yesterday' (as 2024-05-31 or 2024-05-31T12:00:00+02:00)"),
        (
            {"from": "2026-11-16", "to": "2026-11-15"},
            "wrong time range: from 2026-11-16 is not before to 2026-11-15",
        ),
    ],
)
def test_a_wrong_time_range_is_one_line(options: dict[str, str], told: str) -> None:
    with pytest.raises(BadInput) as caught:
        wanted_by_options(options)
    assert str(caught.value) == told

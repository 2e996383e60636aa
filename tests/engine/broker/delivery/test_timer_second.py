"""The passing second: exact times, their order, and messages that join it."""

from __future__ import annotations

import pytest

from engine.broker.delivery.timed_messages import TimerSecond, due_ms, exact_time_ms
from engine.protocol.layouts.timer_files import TIMER_DEFAULT, TIMER_ROLL, TimerLogUnit

T = 7_000


def unit(number: int, exact_ms: int = 0, magic: int = TIMER_DEFAULT) -> TimerLogUnit:
    return TimerLogUnit(-1, magic, 0, T, number, 100, 0, exact_ms)


def offsets(second: TimerSecond, now_ms: int, limit: int = 10) -> list[int]:
    return [found.commit_log_offset for _, _, found in second.due(now_ms, limit)]


@pytest.mark.parametrize(
    ("properties", "exact_ms"),
    [
        ({"TIMER_DELIVER_MS": "7300"}, 7_300),
        ({"TIMER_DELIVER_MS": "8000"}, 8_000),
        ({"TIMER_DELAY_MS": "2500"}, 7_500),
        ({"TIMER_DELAY_SEC": "2"}, 8_000),
        ({"TIMER_DELIVER_MS": "99000"}, 8_000),
        ({}, 8_000),
    ],
)
def test_the_exact_time_lies_in_the_second_or_at_its_end(properties: dict[str, str], exact_ms: int) -> None:
    assert exact_time_ms({**properties, "TIMER_OUT_MS": "7000"}, T, 5_000) == exact_ms


def test_a_unit_of_another_engine_waits_for_the_end_of_its_second() -> None:
    assert due_ms(unit(1), T) == 8_000
    assert due_ms(unit(1, 7_001), T) == 7_001
    assert due_ms(unit(1, 9_999), T) == 8_000
    assert due_ms(unit(1, 7_001, TIMER_DEFAULT | TIMER_ROLL), T) == 8_000


def test_messages_come_by_time_and_then_in_their_order() -> None:
    second = TimerSecond(T)
    second.take([unit(1, 7_900), unit(2, 7_100), unit(3, 7_100)], 3)
    assert offsets(second, 7_099) == []
    assert offsets(second, 7_100) == [2, 3]
    second.take([unit(4, 7_050)], 4)
    assert offsets(second, 8_000) == [4, 1]
    assert not second.has_waiting
    assert second.taken == 4


def test_what_the_store_did_not_take_waits_in_its_place() -> None:
    second = TimerSecond(T)
    second.take([unit(number, 7_100) for number in range(5)], 5)
    entries = second.due(8_000, 3)
    second.put_back(entries[1:])
    assert offsets(second, 8_000) == [1, 2, 3, 4]


def test_units_that_cannot_be_read_are_not_looked_for_again() -> None:
    second = TimerSecond(T)
    second.take([unit(1, 7_100)], 3)
    assert second.taken == 3

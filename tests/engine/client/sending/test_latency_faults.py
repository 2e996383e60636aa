"""RocketMQ's latency classes."""

from __future__ import annotations

import pytest

from engine.client.sending.latency_faults import LatencyFaults, avoidance_ms


@pytest.mark.parametrize(
    ("latency_ms", "expected"),
    [
        (0, 0),
        (100, 0),
        (549, 0),
        (550, 2_000),
        (1_799, 2_000),
        (1_800, 5_000),
        (3_000, 6_000),
        (5_000, 10_000),
        (15_000, 30_000),
        (10**6, 30_000),
    ],
)
def test_each_class_has_its_time(latency_ms: float, expected: int) -> None:
    assert avoidance_ms(latency_ms) == expected


def test_a_slow_broker_is_avoided_until_its_time_is_over() -> None:
    faults = LatencyFaults()
    faults.record("a", 600, now_ms=1_000)
    assert not faults.is_available("a", 2_999)
    assert faults.is_available("a", 3_000)
    assert faults.is_available("b", 1_000)


def test_a_failure_counts_as_ten_seconds() -> None:
    faults = LatencyFaults()
    faults.record_failure("a", now_ms=0)
    assert not faults.is_available("a", 9_999)
    assert faults.is_available("a", 10_000)


def test_a_quick_answer_ends_the_avoidance() -> None:
    faults = LatencyFaults()
    faults.record_failure("a", now_ms=0)
    faults.record("a", 3, now_ms=1)
    assert faults.is_available("a", 1)
    assert not faults


def test_when_all_are_bad_the_first_to_come_back_is_used() -> None:
    faults = LatencyFaults()
    faults.record("a", 20_000, now_ms=0)
    faults.record("b", 600, now_ms=0)
    assert faults.least_bad(["a", "b"]) == "b"

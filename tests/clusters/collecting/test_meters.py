"""Rates from totals, and when a backlog will be gone."""

from __future__ import annotations

import pytest

from clusters.collecting.clearing import NEVER, LagTrend, queue_eta, slowest
from clusters.collecting.meters import Meter


def test_one_sample_says_nothing() -> None:
    meter = Meter()
    meter.feed(0, 100)
    assert meter.rate() is None


def test_a_rate_is_the_growth_of_the_last_ten_seconds() -> None:
    meter = Meter()
    for second in range(31):
        meter.feed(second, second * 5 if second <= 20 else 100)
    assert meter.rate() == 0.0
    meter.feed(31, 120)
    assert meter.rate() == 2.0


def test_a_total_that_fell_begins_anew() -> None:
    meter = Meter()
    meter.feed(0, 100)
    meter.feed(10, 40)
    assert meter.rate() is None
    meter.feed(20, 60)
    assert meter.rate() == 2.0


def test_what_was_at_rest_is_measured_from_when_it_still_was() -> None:
    meter = Meter()
    meter.feed(0, 100)
    meter.feed(3600, 150, quiet_until_s=3590)
    assert meter.rate() == 5.0


@pytest.mark.parametrize(
    ("before", "after", "elapsed_s", "eta"),
    [
        ((0, 100), (100, 100), 60, 0.0),
        (None, (0, 10), 60, None),
        ((0, 100), (0, 100), 2, None),
        ((0, 100), (60, 100), 60, 40.0),
        ((0, 100), (10, 110), 60, NEVER),
        ((0, 100), (0, 160), 60, NEVER),
        ((0, 100), (50, 120), 60, 140.0),
        # Keeps up: all that was there a minute ago is consumed.
        ((0, 10), (600, 605), 60, 0.5),
        # Set back: nothing can be compared.
        ((50, 100), (0, 100), 60, None),
    ],
)
def test_when_a_queue_will_be_clear(before: object, after: object, elapsed_s: float, eta: object) -> None:
    assert queue_eta(before, after, elapsed_s) == eta  # type: ignore[arg-type]


def test_one_stuck_queue_makes_the_whole_never_clear() -> None:
    assert slowest([1.0, 3.0, 2.0]) == 3.0
    assert slowest([1.0, None]) is None
    assert slowest([None, NEVER, 1.0]) is NEVER
    trend = LagTrend()
    trend.feed(0, {("a", 0): (0, 600), ("a", 1): (0, 10)})
    trend.feed(60, {("a", 0): (300, 600), ("a", 1): (0, 10)})
    clearing = trend.clearing()
    assert clearing.whole is NEVER
    assert clearing.queues == {("a", 0): 60.0, ("a", 1): NEVER}

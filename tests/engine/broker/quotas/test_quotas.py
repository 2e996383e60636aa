"""Token buckets on a fake clock: rates hold, large requests pass and are paid, tables stay small."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.broker.quotas.quota_table import Charge, Quotas

FOREVER = 1e9


def test_one_seconds_worth_passes_at_once_and_then_the_rate_holds():
    quotas = Quotas()
    waits = [quotas.reserve([Charge("a", 10, 1)], FOREVER, 100.0) for _ in range(30)]
    assert waits[:10] == [0.0] * 10
    assert [round(wait, 6) for wait in waits[10:]] == [round((n + 1) / 10, 6) for n in range(20)]


def test_a_request_that_costs_more_than_a_second_passes_when_the_bucket_is_full_and_is_paid():
    quotas = Quotas()
    assert quotas.reserve([Charge("a", 100, 1000)], FOREVER, 0.0) == 0.0
    assert quotas.reserve([Charge("a", 100, 1)], 5.0, 0.0) is None
    assert quotas.reserve([Charge("a", 100, 1)], 5.0, 9.0) == 0.01
    assert quotas.reserve([Charge("a", 100, 1000)], FOREVER, 20.0) == 0.0


def test_a_refusal_costs_nothing_anywhere():
    quotas = Quotas()
    quotas.pay([Charge("empty", 1, 100)], 0.0)
    for _ in range(10):
        assert quotas.reserve([Charge("full", 1, 1), Charge("empty", 1, 1)], 2.0, 0.0) is None
    assert quotas.reserve([Charge("full", 1, 1)], 0.0, 0.0) == 0.0


def test_the_longest_wait_of_all_buckets_counts():
    quotas = Quotas()
    quotas.pay([Charge("a", 10, 20), Charge("b", 10, 50)], 0.0)
    assert quotas.reserve([Charge("a", 10, 0), Charge("b", 10, 0)], FOREVER, 0.0) == 4.0


def test_what_a_read_took_is_waited_for_by_the_next():
    quotas = Quotas()
    read = Charge("group", 1000, 0)
    assert quotas.reserve([read], FOREVER, 0.0) == 0.0
    quotas.pay([Charge("group", 1000, 4000)], 0.0)
    assert quotas.reserve([read], FOREVER, 0.0) == 3.0
    assert quotas.reserve([read], FOREVER, 3.0) == 0.0


def test_a_changed_rate_counts_from_now_on():
    quotas = Quotas()
    quotas.reserve([Charge("a", 10, 10)], FOREVER, 0.0)
    assert quotas.reserve([Charge("a", 1000, 1000)], FOREVER, 0.0) == 1.0
    assert quotas.reserve([Charge("a", 10, 1)], FOREVER, 2.0) == 0.0
    quotas.pay([Charge("b", 1_000_000, 3_000_000)], 0.0)
    assert round(quotas.reserve([Charge("b", 1, 0)], FOREVER, 0.0) or 0, 6) == 2.0, "a debt of two seconds"


def test_buckets_that_are_full_again_are_forgotten():
    quotas = Quotas()
    for number in range(100_000):
        quotas.reserve([Charge(number, 10, 1)], FOREVER, number / 1000)
    assert len(quotas) < 10_000


@given(
    rate=st.integers(1, 1000),
    asked=st.lists(st.tuples(st.floats(0, 0.5), st.integers(0, 2000)), min_size=1, max_size=60),
)
def test_however_it_is_asked_no_more_than_the_rate_and_one_request_passes(rate, asked):
    """At any time, what has begun is at most a second's worth, the rate since, and the last request whole."""
    quotas, now = Quotas(), 0.0
    begun: list[tuple[float, int]] = []
    for pause, cost in asked:
        now += pause
        wait = quotas.reserve([Charge("a", rate, cost)], 2.0, now)
        if wait is not None:
            begun.append((now + wait, cost))
    for at, _ in begun:
        before = sum(cost for when, cost in begun if when < at)
        assert before <= rate * (1 + at) + max(cost for _, cost in begun) + 1e-6

from __future__ import annotations

import pytest

from tests.crash.checker.delay import Delivery, Outage, Waiting, check_delay

A = ("a", 0)


def texts(waitings: list[Waiting], deliveries: list[Delivery], outages: tuple[Outage, ...] = ()) -> list[str]:
    return [violation.text for violation in check_delay(waitings, deliveries, outages, late_ms=1_000)]


def test_a_message_in_its_time_is_fine() -> None:
    assert texts([Waiting(A, 5_000)], [Delivery(A, 5_000)]) == []
    assert texts([Waiting(A, 5_000)], [Delivery(A, 6_000)]) == []


@pytest.mark.parametrize(
    ("waitings", "deliveries", "said"),
    [
        ([Waiting(A, 5_000)], [Delivery(A, 4_999)], "1 ms early"),
        ([Waiting(A, 5_000)], [Delivery(A, 6_001)], "later than allowed"),
        ([Waiting(A, 5_000)], [], "never delivered"),
        ([Waiting(A, 5_000)], [Delivery(A, 5_000), Delivery(A, 5_001)], "2 times"),
        ([Waiting(A, 5_000, is_recalled=True)], [Delivery(A, 5_000)], "recalled"),
        ([Waiting(A, 5_000, is_sure=False, is_refused=True)], [Delivery(A, 5_000)], "refused"),
        ([], [Delivery(A, 5_000)], "never sent"),
    ],
)
def test_each_broken_promise_is_caught(
    waitings: list[Waiting], deliveries: list[Delivery], said: str
) -> None:
    (text,) = texts(waitings, deliveries)
    assert said in text


def test_what_is_in_doubt_may_be_delivered_or_not() -> None:
    for waiting in (Waiting(A, 5_000, is_sure=False), Waiting(A, 5_000, is_recall_unsure=True)):
        assert texts([waiting], []) == []
        assert texts([waiting], [Delivery(A, 5_500)]) == []
    assert texts([Waiting(A, 5_000, is_recalled=True)], []) == []


def test_lateness_counts_from_when_the_broker_was_back() -> None:
    outages = (Outage(4_000, 9_000), Outage(9_500, 12_000))
    assert texts([Waiting(A, 5_000)], [Delivery(A, 13_000)], outages) == []
    assert len(texts([Waiting(A, 5_000)], [Delivery(A, 13_001)], outages)) == 1
    assert len(texts([Waiting(A, 13_000)], [Delivery(A, 14_001)], outages)) == 1

from __future__ import annotations

from tests.crash.checker.order import check_order
from tests.crash.checker.stories import assigned, read, sent


def test_rising_sequences_with_gaps_are_fine() -> None:
    assert check_order([sent("a", 1, 0), sent("b", 9, 1), sent("a", 4, 2), sent("b", 10, 3)]) == []


def test_two_messages_of_one_producer_the_wrong_way_round_are_caught() -> None:
    (violation,) = check_order([sent("a", 2, 0), sent("b", 0, 1), sent("a", 1, 2)])
    assert [event.value for event in violation.evidence] == [("a", 2), ("a", 1)]


def test_the_log_is_judged_by_offset_not_by_line() -> None:
    assert check_order([sent("a", 2, 1), sent("a", 1, 0)]) == []
    assert len(check_order([sent("a", 1, 1), sent("a", 2, 0)])) == 1


def test_different_queues_have_no_common_order() -> None:
    assert check_order([sent("a", 2, 0), sent("a", 1, 1, queue=1)]) == []


def test_a_poll_that_skips_is_caught() -> None:
    (violation,) = check_order([assigned(0), read("a", 0, 0), read("a", 2, 2)])
    assert "skipped" in violation.text


def test_a_first_poll_past_the_assigned_offset_is_caught() -> None:
    assert len(check_order([assigned(0), read("a", 2, 2)])) == 1


def test_a_poll_that_goes_back_is_caught() -> None:
    (violation,) = check_order([read("a", 3, 3), read("a", 3, 3)])
    assert "went back" in violation.text


def test_a_new_assignment_may_start_anywhere() -> None:
    assert check_order([read("a", 3, 3), assigned(0), read("a", 0, 0), read("a", 1, 1)]) == []


def test_two_readers_walk_apart() -> None:
    assert check_order([read("a", 3, 3), read("a", 0, 0, by="c1"), read("a", 4, 4)]) == []

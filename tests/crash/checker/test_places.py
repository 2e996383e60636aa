"""Inconsistent offset and duplicate append: the two ways in which places and messages can disagree."""

from __future__ import annotations

from tests.crash.checker.duplicate_append import check_duplicate_append
from tests.crash.checker.inconsistent_offset import check_inconsistent_offset
from tests.crash.checker.stories import read, sent


def test_a_message_read_often_at_its_place_is_fine() -> None:
    events = [sent("a", 0, 7), read("a", 0, 7), read("a", 0, 7, by="c1")]
    assert check_inconsistent_offset(events) == []
    assert check_duplicate_append(events) == []


def test_two_acknowledgements_of_one_offset_are_caught() -> None:
    (violation,) = check_inconsistent_offset([sent("a", 0, 7), sent("b", 0, 7)])
    assert [event.value for event in violation.evidence] == [("a", 0), ("b", 0)]


def test_a_reader_that_sees_another_message_at_an_acknowledged_offset_is_caught() -> None:
    assert len(check_inconsistent_offset([sent("a", 0, 7), read("a", 1, 7)])) == 1


def test_the_same_offset_of_two_queues_is_not_one_place() -> None:
    assert check_inconsistent_offset([sent("a", 0, 7), sent("a", 1, 7, queue=1)]) == []


def test_a_message_at_two_offsets_is_caught() -> None:
    (violation,) = check_duplicate_append([sent("a", 0, 7), read("a", 0, 7), read("a", 0, 8)])
    assert violation.evidence[1].offset == 8


def test_a_message_in_two_queues_is_caught() -> None:
    assert len(check_duplicate_append([read("a", 0, 7), read("a", 0, 7, queue=1)])) == 1


def test_a_send_of_unknown_fate_has_no_place_yet() -> None:
    assert check_duplicate_append([sent("a", 0, status="info"), read("a", 0, 3)]) == []

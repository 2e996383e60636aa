from __future__ import annotations

import pytest

from tests.crash.checker.events import DRAIN
from tests.crash.checker.inconsistent_offset import check_inconsistent_offset
from tests.crash.checker.lost import check_lost, find_losses, loss_window_s, without_lost
from tests.crash.checker.lost_by_offset import check_lost_by_offset
from tests.crash.checker.stories import mark, read, sent


def test_everything_acknowledged_and_read_is_fine() -> None:
    assert check_lost([sent("a", 0, 0), sent("a", 1, 1), read("a", 0, 0), read("a", 1, 1)]) == []


@pytest.mark.parametrize(("missing", "where"), [(0, "prefix"), (1, "middle"), (2, "postfix")])
def test_a_missing_message_is_placed_among_those_read(missing: int, where: str) -> None:
    sends = [sent("a", seq, seq) for seq in range(3)]
    reads = [read("a", seq, seq) for seq in range(3) if seq != missing]
    (loss,) = find_losses(sends + reads)
    assert loss.where == where and loss.send.value == ("a", missing)


def test_producers_are_judged_apart() -> None:
    events = [sent("a", 5, 0), sent("b", 1, 1), sent("b", 9, 2), read("b", 1, 1), read("b", 9, 2)]
    (violation,) = check_lost(events)
    assert violation.evidence[0].value == ("a", 5)


def test_sends_of_unknown_fate_or_refused_may_be_missing() -> None:
    assert check_lost([sent("a", 0, status="info"), sent("a", 1, status="fail")]) == []


def test_a_read_before_the_last_drain_does_not_count() -> None:
    events = [sent("a", 0, 0), read("a", 0, 0), mark(DRAIN)]
    assert len(check_lost(events)) == 1
    assert check_lost([*events, read("a", 0, 0)]) == []


def test_a_hole_in_a_queue_is_a_loss_without_a_full_drain() -> None:
    sends = [sent("a", seq, seq) for seq in range(4)]
    (violation,) = check_lost_by_offset([*sends, read("a", 0, 0), read("a", 2, 2)])
    assert violation.evidence[0].offset == 1


def test_queues_do_not_cover_for_each_other() -> None:
    events = [sent("a", 0, 0), sent("a", 1, 1, queue=1), read("a", 1, 1, queue=1)]
    assert check_lost_by_offset(events) == []


def test_a_reader_that_stopped_early_is_no_loss_by_offset() -> None:
    assert check_lost_by_offset([sent("a", 0, 0), sent("a", 1, 1), read("a", 0, 0)]) == []


def test_the_loss_window_is_from_newest_kept_to_newest_acknowledged() -> None:
    events = [sent("a", seq, seq, t=seq / 10) for seq in range(10)]
    assert loss_window_s(events + [read("a", seq, seq) for seq in range(7)]) == pytest.approx(0.3)
    assert loss_window_s(events + [read("a", seq, seq) for seq in range(10)]) == 0.0


def test_a_lost_tail_taken_out_leaves_its_offsets_to_others() -> None:
    events = [
        sent("a", 0, 0),
        sent("a", 1, 1),
        mark(DRAIN),
        read("a", 0, 0),
        sent("b", 0, 1),
        read("b", 0, 1),
    ]
    assert len(check_inconsistent_offset(events)) > 0
    assert check_inconsistent_offset(without_lost(events)) == []

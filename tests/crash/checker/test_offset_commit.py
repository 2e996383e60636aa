from __future__ import annotations

import dataclasses

from tests.crash.checker.events import CLEAN_STOP, CRASH, Event
from tests.crash.checker.offset_commit import check_offset_commit
from tests.crash.checker.stories import committed, fetched, mark
from tests.crash.checker.violations import Violation


def check(*events: Event) -> list[Violation]:
    return check_offset_commit(events, persist_interval_s=5.0)


def test_the_last_commit_read_back_is_fine() -> None:
    assert check(committed(3, t=1), committed(9, t=2), fetched(9, t=3)) == []


def test_an_offset_ahead_of_every_commit_is_caught() -> None:
    (violation,) = check(committed(9, t=1), mark(CRASH, t=2), fetched(10, t=3))
    assert "ahead" in violation.text


def test_an_offset_that_nobody_committed_is_ahead() -> None:
    assert len(check(fetched(0))) == 1


def test_a_commit_of_unknown_fate_may_have_arrived() -> None:
    assert check(committed(9, t=1, status="info"), mark(CRASH, t=2), fetched(9, t=3)) == []


def test_going_back_within_the_persist_interval_is_allowed() -> None:
    assert check(committed(3, t=1), committed(9, t=8), mark(CRASH, t=10), fetched(3, t=11)) == []


def test_going_back_further_is_caught() -> None:
    (violation,) = check(committed(3, t=1), committed(9, t=4), mark(CRASH, t=10), fetched(3, t=11))
    assert "back from 9" in violation.text


def test_a_clean_stop_loses_nothing() -> None:
    assert len(check(committed(9, t=10), mark(CLEAN_STOP, t=10), fetched(8, t=11))) == 1
    assert check(committed(9, t=10), mark(CLEAN_STOP, t=10), fetched(9, t=11)) == []


def test_what_one_crash_took_a_later_one_does_not_demand() -> None:
    first = [committed(9, t=9), mark(CRASH, t=10), fetched(-1, t=11)]
    assert check(*first, committed(2, t=12), mark(CRASH, t=20), fetched(2, t=21)) == []


def test_a_commit_that_a_dying_process_answered_is_not_demanded_later() -> None:
    """Asked for before it was gone, read and written down after the mark."""
    dying = dataclasses.replace(mark(CRASH, t=10), t_done=10.3)
    story = [committed(3, t=1), dying, committed(9, t=10.2), fetched(3, t=11)]
    assert check(*story, committed(4, t=12), mark(CRASH, t=20), fetched(4, t=21)) == []


def test_a_commit_after_the_crash_is_demanded() -> None:
    dying = dataclasses.replace(mark(CRASH, t=10), t_done=10.3)
    story = [committed(3, t=1), dying, fetched(3, t=11), committed(9, t=10.4)]
    (violation,) = check(*story, mark(CRASH, t=20), fetched(3, t=21))
    assert "back from 9" in violation.text


def test_a_group_that_sets_itself_back_is_there_and_no_further() -> None:
    story = [committed(9, t=1), committed(4, t=2)]
    assert check(*story, mark(CRASH, t=10), fetched(4, t=11)) == []
    (violation,) = check(*story, mark(CRASH, t=10), fetched(3, t=11))
    assert "back from 4" in violation.text
    # Whether the last one was saved is not known.
    late = [committed(9, t=1), committed(4, t=8), mark(CRASH, t=10)]
    assert check(*late, fetched(4, t=11)) == check(*late, fetched(9, t=11)) == []

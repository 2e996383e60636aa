"""What is done about a process that is not as it should be: pure decisions about crashes, reboots, loops."""

from __future__ import annotations

import pytest

from clusters.provisioning.driver import Presence, Seen
from clusters.provisioning.reconcile import LOOP_CRASHES, WINDOW_S, crashed, decide

ABSENT, ANSWERS = Seen(Presence.ABSENT), Seen(Presence.ANSWERS, 1, "token")
NOW = 1_000_000.0


def test_what_runs_and_should_is_left_alone() -> None:
    decision = decide(ANSWERS, "running", "running", [], None, NOW)
    assert (decision.observed, decision.does) == ("running", "")


def test_what_ended_by_itself_is_started_after_a_second() -> None:
    first = decide(ABSENT, "running", "running", [], None, NOW)
    assert (first.observed, first.does, first.next_start_at) == ("crashed", "", NOW + 1)
    early = decide(ABSENT, "running", "crashed", first.crashes, first.next_start_at, NOW + 0.5)
    assert early.does == ""
    due = decide(ABSENT, "running", "crashed", first.crashes, first.next_start_at, NOW + 1)
    assert due.does == "start"


def test_waits_double_and_the_fifth_crash_is_a_loop() -> None:
    waits, crashes = [], ()
    for number in range(LOOP_CRASHES):
        decision = crashed(crashes, NOW + number, "ended")
        crashes = decision.crashes
        waits.append(decision.next_start_at - (NOW + number))
    assert waits == [1, 2, 4, 8, 60]
    assert decision.observed == "crash_loop"
    still = decide(ABSENT, "running", "crash_loop", crashes, decision.next_start_at, NOW + 20)
    assert (still.observed, still.does) == ("crash_loop", "")


def test_old_crashes_are_forgotten() -> None:
    decision = crashed([NOW - WINDOW_S - 1] * 10, NOW, "ended")
    assert decision.observed == "crashed" and len(decision.crashes) == 1


@pytest.mark.parametrize("was", ["running", "stopped", "unknown"])
def test_a_reboot_is_no_crash(was: str) -> None:
    seen = Seen(Presence.ABSENT, was_rebooted=True)
    decision = decide(seen, "running", was, [], None, NOW)
    assert (decision.does, decision.crashes) == ("start", ())


def test_what_was_stopped_in_order_is_started_without_a_crash() -> None:
    decision = decide(ABSENT, "running", "stopped", [], None, NOW)
    assert (decision.does, decision.crashes) == ("start", ())


def test_what_should_not_run_is_stopped() -> None:
    assert decide(ANSWERS, "stopped", "running", [], None, NOW).does == "stop"
    assert decide(ABSENT, "stopped", "running", [], None, NOW).observed == "stopped"


def test_a_foreign_process_in_its_place_is_neither_stopped_nor_started() -> None:
    decision = decide(Seen(Presence.FOREIGN), "running", "running", [], None, NOW)
    assert decision.does == "" and "not ours" in decision.why

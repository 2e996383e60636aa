"""Where queues are to go, as a table; undo; and how a read-back is judged. No broker, no database."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.actions.offsets import judged
from clusters.actions.reset_plans import Target, plan_reset, plan_undo
from clusters.gateway.offsets import Members, Moved, Position
from console.core.problems import Problem


def at(committed: int | None, low: int = 10, high: int = 100, **more: Any) -> Position:
    return Position("t", "b", 0, low, high, committed, **more)


@pytest.mark.parametrize(
    ("position", "target", "to", "replayed", "skipped"),
    [
        (at(50), Target("earliest"), 10, 40, 0),
        (at(50), Target("latest"), 100, 0, 50),
        (at(50), Target("shift", by=-20), 30, 20, 0),
        (at(50), Target("shift", by=-90), 10, 40, 0),
        (at(50), Target("shift", by=900), 100, 0, 50),
        (at(50, at_time=70), Target("time", at_ms=1), 70, 0, 20),
        (at(50, source=20), Target("copy", source_group="g"), 20, 30, 0),
        (at(None), Target("earliest"), 10, None, None),
        # What was deleted before it was read is neither replayed nor skipped.
        (at(3), Target("earliest"), 10, 0, 0),
        (at(3), Target("latest"), 100, 0, 90),
        # Committed beyond the end, as after a broker lost its store.
        (at(500), Target("latest"), 100, 400, 0),
        (at(0, low=0, high=0), Target("earliest"), 0, 0, 0),
    ],
)
def test_targets(position: Position, target: Target, to: int, replayed: Any, skipped: Any) -> None:
    [move] = plan_reset([position], target)
    assert (move.to, move.replayed, move.skipped) == (to, replayed, skipped)


def test_a_wish_outside_of_the_queue_is_moved_to_its_end_and_said() -> None:
    [move] = plan_reset([at(50)], Target("shift", by=-900))
    assert move.to == 10 and "nearest end" in move.detail


@pytest.mark.parametrize(
    ("position", "target", "why"),
    [
        (at(None), Target("shift", by=1), "nothing is committed"),
        (at(5), Target("copy", source_group="g"), "the other group has nothing"),
        (Position("t", "b", -1, error="down"), Target("latest"), "down"),
    ],
)
def test_queues_that_stay_say_why(position: Position, target: Target, why: str) -> None:
    [move] = plan_reset([position], target)
    assert move.to is None and move.replayed is None and why in move.detail


def test_exact_offsets_are_taken_or_refused_never_moved() -> None:
    places = [at(50), Position("t", "b", 1, 0, 9, 9)]
    [move] = plan_reset(places, Target("exact", queues={("t", "b", 0): 77}))
    assert (move.queue, move.to) == (0, 77)
    for wrong in ({("t", "b", 0): 101}, {("t", "b", 0): 9}, {("t", "b", 5): 1}):
        with pytest.raises(Problem):
            plan_reset(places, Target("exact", queues=wrong))


def row(committed: int | None, to: int, ok: bool = True) -> dict[str, Any]:
    return {"topic": "t", "broker": "b", "queue": 0, "committed": committed, "to": to, "ok": ok}


def test_an_undo_goes_back_and_counts_what_was_read_since() -> None:
    [(move, consumed)] = plan_undo([at(60)], [row(50, 40)])
    assert (move.to, consumed) == (50, 20)
    [(move, _)] = plan_undo([at(60, low=55)], [row(50, 40)])
    assert move.to == 55 and "nearest end" in move.detail
    [(move, _)] = plan_undo([at(60)], [row(None, 40)])
    assert move.to is None and "cannot be put back" in move.detail
    assert plan_undo([at(60)], [row(50, 40, ok=False)]) == []
    [(move, consumed)] = plan_undo([], [row(50, 40)])
    assert move.to is None and consumed is None


@pytest.mark.parametrize(
    ("read_back", "error", "online", "ok", "says"),
    [
        (10, "", 0, True, ""),
        (13, "", 1, True, "gone on"),
        (13, "", None, True, "gone on"),
        (13, "", 0, False, "13 instead"),
        (50, "", 1, False, "50 instead"),
        (3, "", 1, False, "3 instead"),
        (None, "", 0, False, "did not say"),
        (None, "no answer", 0, False, "no answer"),
    ],
)
def test_what_is_read_back_is_judged(
    read_back: int | None, error: str, online: int | None, ok: bool, says: str
) -> None:
    moves = plan_reset([at(50)], Target("earliest"))
    [judgement] = judged(moves, [Moved("t", "b", 0, read_back, error)], Members(online, ""))
    assert judgement["ok"] is ok and says in judgement["detail"]

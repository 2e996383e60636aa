"""Open pops with a fake clock."""

from __future__ import annotations

from engine.broker.pop.checkpoints import BACK_OFF_S, Checkpoints
from engine.protocol.bodies.pop import PopCheckpoint


def checkpoint(start: int, *offsets: int, pop_time: int = 1_000) -> PopCheckpoint:
    diffs = tuple(offset - start for offset in offsets)
    return PopCheckpoint(
        start, pop_time, 500, num=len(offsets), queue_id=2, topic="t", group="g", diffs=diffs
    )


def test_what_is_not_acknowledged_is_due_when_its_time_has_come() -> None:
    table = Checkpoints()
    table.note(checkpoint(10, 10, 12), 3, 7, 1_500)
    assert table.take_due(1_499, 10) == []
    (entry,) = table.take_due(1_500, 10)
    assert (entry.topic, entry.group, entry.queue_id, list(entry.unacked)) == ("t", "g", 2, [10, 12])
    assert table.take_due(9_999, 10) == []


def test_an_acknowledged_pop_is_closed_and_never_due() -> None:
    table = Checkpoints()
    noted = checkpoint(10, 10, 12)
    table.note(noted, 3, 7, 1_500)
    assert table.unacked_of(noted.key, [9, 10, 11, 12]) == [10, 12]
    table.ack(noted.key, [10])
    assert table.first_open(3) == 7
    table.ack(noted.key, [12, 99])
    assert len(table) == 0
    assert table.first_open(3) is None
    assert table.take_due(9_999, 10) == []


def test_the_oldest_open_pop_of_a_revive_queue_is_known() -> None:
    table = Checkpoints()
    pops = [checkpoint(start, start) for start in (0, 1, 2)]
    for place, noted in enumerate(pops):
        table.note(noted, 0, 100 + place, 1_500)
    table.ack(pops[1].key, [1])
    assert table.first_open(0) == 100
    table.ack(pops[0].key, [0])
    assert table.first_open(0) == 102
    assert table.first_open(1) is None


def test_what_could_not_be_revived_is_tried_later_and_later() -> None:
    table = Checkpoints()
    table.note(checkpoint(0, 0), 0, 0, 1_000)
    now_ms = 1_000
    waits = []
    for _ in range(len(BACK_OFF_S) + 2):
        (entry,) = table.take_due(now_ms, 10)
        table.put_off(entry, now_ms)
        waits.append((entry.due_ms - now_ms) // 1000)
        assert table.take_due(entry.due_ms - 1, 10) == []
        now_ms = entry.due_ms
    assert waits == [*BACK_OFF_S, BACK_OFF_S[-1], BACK_OFF_S[-1]]


def test_a_pop_that_is_in_the_log_twice_counts_once() -> None:
    table = Checkpoints()
    table.note(checkpoint(0, 0), 0, 0, 1_000)
    table.note(checkpoint(0, 0), 0, 5, 1_000)
    assert len(table.take_due(2_000, 10)) == 1
    assert table.first_open(0) == 0

"""Requests that wait for a flush: answered in order, once, in time."""

from __future__ import annotations

from engine.broker.process.waits import FlushWaits


def waits_at(*places: tuple[int, float]) -> tuple[FlushWaits, list[tuple[int, bool]]]:
    waits, told = FlushWaits(), list[tuple[int, bool]]()
    for offset, deadline in places:
        waits.add(offset, deadline, lambda ok, offset=offset: told.append((offset, ok)))  # type: ignore[misc]
    return waits, told


def test_a_flush_answers_all_up_to_it() -> None:
    waits, told = waits_at((10, 5.0), (20, 5.0), (30, 5.0))
    waits.flushed(20)
    assert told == [(10, True), (20, True)]
    waits.flushed(29)
    assert len(waits) == 1


def test_time_runs_out_for_each_by_itself() -> None:
    waits, told = waits_at((10, 9.0), (20, 5.0))
    waits.expire(4.9)
    assert told == []
    waits.expire(5.0)
    assert told == [(20, False)]
    waits.flushed(20)
    assert told == [(20, False), (10, True)]


def test_a_failed_sync_answers_everybody() -> None:
    waits, told = waits_at((10, 5.0), (20, 5.0))
    waits.fail_all()
    assert told == [(10, False), (20, False)]
    assert len(waits) == 0

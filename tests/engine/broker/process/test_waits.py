"""Requests that wait: for a flush, answered in order, once, in time; long polls that find no room."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from engine.broker.process.waits import BrokerWaits, FlushWaits
from engine.net.connection import Connection
from engine.net.outcomes import HeldRequest, Later, Reply


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


class ClientWithoutTurn:
    """A connection whose time slice is used up: whatever it runs is held back."""

    def __init__(self) -> None:
        self.tags: dict[str, object] = {}
        self.is_closed = False
        self.held_back: list[Callable[[], None]] = []

    def on_close(self, callback: Callable[[Connection], None]) -> None:
        """It stays."""

    def run_step(self, step: Callable[[], None], *, is_costly: bool) -> None:
        self.held_back.append(step)


async def test_a_poll_without_room_is_answered_at_once_and_holds_nothing() -> None:
    """Held back until the client's turn it would keep its filter, which nothing counts: 300 connections
    with large filters took 350 MB."""
    waits = BrokerWaits(asyncio.get_running_loop(), want_flush=lambda: None, most_holds=1)
    client, answered = ClientWithoutTurn(), list[int]()

    def poll(opaque: int) -> HeldRequest:
        later = Later(Reply, (("Orders", opaque),))
        owner = cast(Connection, client)
        return HeldRequest(later, owner, lambda held: answered.append(held.opaque), 11, opaque, 0, 0)

    for opaque in (1, 2, 3):
        waits.when_woken(poll(opaque), 30_000)
    assert answered == [2, 3] and len(waits.holds) == 1 and not client.held_back
    waits.close()

"""Who is looked at when messages arrive faster than all who wait can be looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.broker.pulling.long_polls import Holds, Parked
from engine.broker.pulling.wake_walks_task import AT_ONCE, MOST_BEHIND, WakeWalks
from engine.store.results import Arrival
from tests.engine.broker.pulling.test_holds import Request, park


class Loop:
    """Runs a step of each callback when told to."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []

    def call_soon(self, step: Callable[..., None], *arguments: Any) -> None:
        self.soon.append(lambda: step(*arguments))

    def turn(self) -> None:
        soon, self.soon = self.soon, []
        for step in soon:
            step()

    def run(self) -> int:
        turns = 0
        while self.soon:
            self.turn()
            turns += 1
        return turns


class Scene:
    def __init__(self) -> None:
        self.loop = Loop()
        self.holds = Holds()
        self.woken: list[Parked] = []
        self.looks = 0
        self.walks = WakeWalks(self.loop, self.holds, self.woken.extend)  # type: ignore[arg-type]

    def park(self, count: int, wants: Callable[[int], bool], queue_id: int = 0) -> list[Request]:
        def accepts(arrival: object) -> bool:
            self.looks += 1
            return isinstance(arrival, Arrival) and wants(arrival.next_queue_offset)

        return [park(self.holds, ("orders", queue_id), accepts=accepts) for _ in range(count)]

    def arrive(self, *numbers: int, queue_id: int = 0) -> None:
        for number in numbers:
            self.walks.arrived(Arrival("orders", queue_id, number, 0))


@pytest.fixture
def scene() -> Scene:
    return Scene()


def nothing(number: int) -> bool:
    return False


def test_few_are_looked_at_at_once_and_for_each_message(scene: Scene) -> None:
    first = scene.park(AT_ONCE - 1, lambda number: number == 2)
    (second,) = scene.park(1, lambda number: number == 1)
    scene.arrive(1, 2)
    assert scene.woken == [second, *first]
    assert not scene.loop.soon


def test_many_are_looked_at_in_steps_in_the_order_in_which_they_came(scene: Scene) -> None:
    waiting = scene.park(3 * AT_ONCE + 1, lambda number: number == 7)
    scene.arrive(7)
    assert scene.woken == waiting[:AT_ONCE]
    scene.loop.turn()
    assert scene.woken == waiting[: 2 * AT_ONCE]
    scene.loop.run()
    assert scene.woken == waiting
    assert len(scene.holds) == 0


def test_what_arrives_during_a_walk_is_looked_at_afterwards(scene: Scene) -> None:
    scene.park(AT_ONCE, nothing)
    second = scene.park(10, lambda number: number == 2)
    third = scene.park(10, lambda number: number == 3)
    scene.arrive(1, 2, 3)
    assert scene.looks == AT_ONCE, "of one walk, not of three"
    scene.loop.run()
    assert scene.woken == [*second, *third]
    assert len(scene.holds) == AT_ONCE


def test_other_queues_do_not_wait_for_a_walk(scene: Scene) -> None:
    scene.park(2 * AT_ONCE, nothing)
    (other,) = scene.park(1, lambda number: True, queue_id=1)
    scene.arrive(1)
    scene.arrive(1, queue_id=1)
    assert scene.woken == [other]


def test_behind_too_many_messages_everybody_is_woken_and_looks_by_itself(scene: Scene) -> None:
    waiting = scene.park(4 * AT_ONCE, nothing)
    messages = 100 * MOST_BEHIND
    scene.arrive(*range(messages))
    assert scene.loop.run() < 20
    assert scene.woken == waiting
    assert scene.looks == len(waiting), "once each, not for all messages"
    later = scene.park(1, lambda number: number == messages)
    scene.arrive(messages)
    assert scene.woken[len(waiting) :] == later


def test_a_walk_passes_over_those_who_are_gone(scene: Scene) -> None:
    waiting = scene.park(2 * AT_ONCE, lambda number: True)
    scene.arrive(1)
    scene.holds.release(waiting[AT_ONCE:])
    scene.loop.run()
    assert scene.woken == waiting[:AT_ONCE]

"""The measure of a busy loop: what waited must count, what came later must not."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from engine.net.flow import LoopLag


class FakeLoop:
    """Turns of an event loop under a fake clock: timers first, then what was soon, then reads (as libuv)."""

    def __init__(self) -> None:
        self.now = 100.0
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._soon: deque[Callable[[], Any]] = deque()

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (when, len(self._timers), callback))

    def call_soon(self, callback: Callable[..., Any], *arguments: Any) -> None:
        self._soon.append(lambda: callback(*arguments))

    def turn(self, reads: Callable[[], None] = lambda: None) -> None:
        while self._timers and self._timers[0][0] <= self.now:
            heapq.heappop(self._timers)[2]()
        for _ in range(len(self._soon)):
            self._soon.popleft()()
        reads()


def started() -> tuple[FakeLoop, LoopLag]:
    loop = FakeLoop()
    lag = LoopLag(cast(asyncio.AbstractEventLoop, loop), interval_s=0.05)
    lag.start()
    return loop, lag


def delay_of_a_read(loop: FakeLoop, lag: LoopLag) -> float:
    """What a request would hear that is read in the next turn and served at once."""
    delays: list[float] = []
    loop.turn(lambda: delays.append(lag.delay_ms(loop.now)))
    return round(delays[0])


def test_an_idle_loop_delays_nothing() -> None:
    loop, lag = started()
    for _ in range(20):
        loop.now += 0.01
        assert delay_of_a_read(loop, lag) == 0


def test_a_request_counts_from_its_read() -> None:
    loop, lag = started()
    read_at = loop.now
    loop.now += 0.03
    assert round(lag.delay_ms(read_at)) == 30


def test_what_waited_during_a_long_step_is_late() -> None:
    loop, lag = started()
    loop.now += 0.25
    assert delay_of_a_read(loop, lag) == 200


def test_a_read_behind_a_long_step_of_the_same_turn_is_late() -> None:
    loop, lag = started()

    def reads() -> None:
        loop.now += 0.35  # another connection's requests
        assert round(lag.delay_ms(loop.now)) == 300

    loop.turn(reads)


def test_a_long_step_is_not_held_against_what_came_later() -> None:
    loop, lag = started()
    loop.now += 1.0
    assert delay_of_a_read(loop, lag) == 950
    loop.now += 0.001
    assert delay_of_a_read(loop, lag) == 0
    assert round(lag.lag_ms) == 950


def test_a_socket_that_is_read_twice_in_a_turn_is_late_once() -> None:
    loop, lag = started()
    loop.now += 0.35

    def reads() -> None:
        first = loop.now
        assert round(lag.delay_ms(first, first - 60)) == 300
        loop.now += 0.02
        assert round(lag.delay_ms(loop.now, first)) == 20

    loop.turn(reads)


def test_a_loop_that_stays_slow_stays_late() -> None:
    loop, lag = started()
    for _ in range(5):
        loop.now += 0.3
        assert delay_of_a_read(loop, lag) == 250


def test_a_real_loop_forgets_a_long_step() -> None:
    async def scenario() -> float:
        loop = asyncio.get_running_loop()
        lag = LoopLag(loop, interval_s=0.001)
        lag.start()
        while lag.lag_ms < 20:
            until = loop.time() + 0.04
            while loop.time() < until:
                pass
            await asyncio.sleep(0)
        for _ in range(4):
            await asyncio.sleep(0)
        lag.stop()
        return lag._turn_ms

    assert asyncio.run(scenario()) < 20

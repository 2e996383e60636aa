"""Who is served how long before the next one: one connection's requests never run to their end first.

A connection is served for a slice of time. What is left of its requests then waits here, unparsed, and its
socket is not read; connections that wait are served by turns, addresses first, within a bounded part of each
turn of the event loop. Reads that come when a turn has already taken long are not parsed at all but wait as
well. Loop thread only.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter
from typing import Protocol

from engine.net.intake import ReceiveRoom

SLICE_S = 0.004
"""For one connection at a time."""
TURN_S = 0.02
"""Of reading, and of serving who waits, before the loop looks at its sockets again."""
MOST_S = 0.1
"""Of reading in all, with the small reads that are served although their turn is full."""
SMALL_BYTES = 4 * 1024
WORTH_NOTING_S = 0.005


class Served(Protocol):
    remote: tuple[str, int]

    def serve_waiting(self) -> None:
        """For one slice; it queues itself again if that was not enough."""


class _Queue:
    """Of one address: who has little waiting comes first."""

    __slots__ = ("large", "small")

    def __init__(self) -> None:
        self.small: deque[Served] = deque()
        self.large: deque[Served] = deque()

    def __len__(self) -> int:
        return len(self.small) + len(self.large)


class Turns:
    def __init__(self, loop: asyncio.AbstractEventLoop, room: ReceiveRoom) -> None:
        self._loop = loop
        self._room = room
        self._queues: dict[str, _Queue] = {}
        self._addresses: deque[str] = deque()
        self._is_scheduled = False
        self.spent_s = 0.0
        self._is_turn_noted = False
        self.is_full = False
        """Whether reads of this turn have taken as long as they may."""
        self.longest_s = 0.0
        """The longest slice so far."""

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def may_serve_one(self, size_bytes: int) -> bool:
        """Whether one request of a small read is served at once although the turn is full: most clients send
        one at a time, and should not wait for the many of others."""
        return size_bytes <= SMALL_BYTES and self.spent_s < MOST_S

    def spent(self, seconds: float) -> None:
        """A read was served for so long."""
        self.spent_s += seconds
        if self.spent_s < WORTH_NOTING_S:
            return
        if not self._is_turn_noted:
            # So rarely that a quiet loop does not feel it: a few quiet turns may count as one.
            self._is_turn_noted = True
            self._loop.call_soon(self._begin_turn)
        if seconds > self.longest_s:
            self.longest_s = seconds
        if self.spent_s >= TURN_S and not self.is_full:
            self.is_full = True
            self._room.is_short_of("time", True)

    def queue(self, served: Served, *, is_small: bool) -> None:
        address = served.remote[0]
        queue = self._queues.get(address)
        if queue is None:
            queue = self._queues[address] = _Queue()
            self._addresses.append(address)
        (queue.small if is_small else queue.large).append(served)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._run)

    def _begin_turn(self) -> None:
        self.spent_s = 0.0
        self._is_turn_noted = False
        if self.is_full:
            self.is_full = False
            self._room.is_short_of("time", False)

    def _run(self) -> None:
        self._is_scheduled = False
        until = perf_counter() + TURN_S
        for _ in range(len(self)):
            self._next().serve_waiting()
            if perf_counter() >= until:
                break
        if self._addresses and not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._run)

    def _next(self) -> Served:
        address = self._addresses.popleft()
        queue = self._queues[address]
        served = (queue.small or queue.large).popleft()
        if len(queue):
            self._addresses.append(address)
        else:
            del self._queues[address]
        return served

"""Wakes the long polls of a queue when a message arrives: in slices, one walk per queue at a time.

To check a hundred thousand long polls in one turn would stall the loop. Messages that arrive during a walk
are handled afterwards, one walk each. If too many arrive, as when thousands wait for a busy queue with
filters that nothing matches, all long polls of the queue are woken and read by themselves, or the backlog
would grow without bound; a pull that finds nothing then learns its next offset. Loop thread only.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from engine.broker.pulling.long_polls import Holds, Parked, QueueKey
from engine.store.results import Arrival

AT_ONCE = 512
MOST_BEHIND = 64
"""Messages that may wait for the end of a walk."""


@dataclass(eq=False, repr=False)
class WakeWalks:
    """`finish` is called with the holds that were released."""

    loop: asyncio.AbstractEventLoop
    holds: Holds
    finish: Callable[[list[Parked]], None]
    _behind: dict[QueueKey, deque[Arrival]] = field(default_factory=dict, init=False)
    """Of the queues with a walk under way: the arrivals since it began, or one too many of them."""

    def arrived(self, arrival: Arrival) -> None:
        key = arrival.topic, arrival.queue_id
        behind = self._behind.get(key)
        if behind is not None:
            if len(behind) <= MOST_BEHIND:
                behind.append(arrival)
            return
        waiting = self.holds.at_queue(*key)
        if len(waiting) <= AT_ONCE:
            self.finish(self.holds.wake_among(waiting, arrival))
        else:
            self._behind[key] = deque()
            self._walk(key, iter(waiting), arrival)

    def wake_at(self, key: Hashable) -> None:
        """Without a message: the long polls under this key read again."""
        self._wake_some(iter(self.holds.at(key)), object())

    def _wake_some(self, waiting: Iterator[Parked], arrival: object) -> None:
        some = list(islice(waiting, AT_ONCE))
        self.finish(self.holds.wake_among(some, arrival))
        if len(some) == AT_ONCE:
            self.loop.call_soon(self._wake_some, waiting, arrival)

    def _walk(self, key: QueueKey, waiting: Iterator[Parked], arrival: Arrival | None) -> None:
        """One step of a walk; None: all are woken."""
        some = list(islice(waiting, AT_ONCE))
        if arrival is None:
            self.finish(self.holds.release(some))
        else:
            self.finish(self.holds.wake_among(some, arrival))
        if len(some) == AT_ONCE:
            self.loop.call_soon(self._walk, key, waiting, arrival)
        else:
            self._end(key)

    def _end(self, key: QueueKey) -> None:
        behind = self._behind.pop(key)
        if len(behind) > MOST_BEHIND:
            self._behind[key] = deque()
            self.loop.call_soon(self._walk, key, iter(self.holds.at_queue(*key)), None)
            return
        while behind:
            self.arrived(behind.popleft())

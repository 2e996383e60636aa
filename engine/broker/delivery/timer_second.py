"""The second that is passing: its messages in the order of their exact times, delivered one by one. Pure.

A message waits under a whole second, but knows its millisecond: the timer log keeps it in a field that
RocketMQ leaves empty. Where it is empty, the message waits for the end of its second, as RocketMQ does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush

from engine.broker.delivery.timed_messages import asked_time_ms
from engine.protocol.layouts.timer_files import TIMER_ROLL, TimerLogUnit
from engine.protocol.properties import Property
from engine.store.timers.timer_wheel import PRECISION_MS

Entry = tuple[int, int, TimerLogUnit]
"""When it is due, the how-manieth it is, and the message."""


def exact_time_ms(properties: Mapping[str, str], out_ms: int, store_timestamp: int) -> int:
    """The millisecond of a message that waits under `out_ms`; a delay counts from when it was stored."""
    asked = {name: value for name, value in properties.items() if name != Property.TIMER_OUT_MS}
    deliver_ms = asked_time_ms(asked, store_timestamp)
    end_ms = out_ms + PRECISION_MS
    return end_ms if deliver_ms is None or not out_ms < deliver_ms < end_ms else deliver_ms


def due_ms(unit: TimerLogUnit, time_ms: int) -> int:
    end_ms = time_ms + PRECISION_MS
    return unit.reserved if time_ms < unit.reserved < end_ms and not unit.magic & TIMER_ROLL else end_ms


class TimerSecond:
    def __init__(self, time_ms: int) -> None:
        self.time_ms = time_ms
        self.taken = 0
        self._sequence = 0
        self.recalled: set[str] = set()
        self._waiting: list[Entry] = []

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def take(self, units: Iterable[TimerLogUnit], count: int) -> None:
        """More messages, oldest first: all that make up for the `count` of the slot. A unit that could not
        be read is not looked for again, or its neighbours would come twice."""
        for unit in units:
            heappush(self._waiting, (due_ms(unit, self.time_ms), self._sequence, unit))
            self._sequence += 1
        self.taken = count

    def due(self, now_ms: int, limit: int) -> list[Entry]:
        """Those whose time has come, at most `limit`, out of the waiting ones; `put_back` what failed."""
        found: list[Entry] = []
        while self._waiting and len(found) < limit and self._waiting[0][0] <= now_ms:
            found.append(heappop(self._waiting))
        return found

    def put_back(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            heappush(self._waiting, entry)

"""Every ten seconds: where the counters stand, and fresh put times. One slice per turn of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from engine.broker.stats.broker_stats import TICK_MS, BrokerStats
from engine.broker.stats.put_times import PutTimes, TimedAppends

_END = object()


@dataclass(eq=False, repr=False)
class Sampling:
    loop: asyncio.AbstractEventLoop
    stats: BrokerStats
    put_times: PutTimes
    appends: TimedAppends
    now_ms: Callable[[], int]
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)

    def start(self) -> None:
        self._note_counters(self.stats.tick(self.now_ms()))
        self.put_times.tick()
        self.appends.arm()
        self._timer = self.loop.call_later(TICK_MS / 1000, self.start)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _note_counters(self, slices: Iterator[None]) -> None:
        if next(slices, _END) is not _END:
            self.loop.call_soon(self._note_counters, slices)

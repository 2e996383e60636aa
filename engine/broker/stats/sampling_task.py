"""Every ten seconds: where the counters stand, and fresh put times. One slice per turn of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from engine.broker.stats.broker_stats import TICK_MS, BrokerStats
from engine.broker.stats.put_times import PutTimes, TimedAppends

_END = object()


class Sampling:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        stats: BrokerStats,
        put_times: PutTimes,
        appends: TimedAppends,
        *,
        now_ms: Callable[[], int],
    ) -> None:
        self._loop = loop
        self._stats = stats
        self._put_times = put_times
        self._appends = appends
        self._now_ms = now_ms
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._note_counters(self._stats.tick(self._now_ms()))
        self._put_times.tick()
        self._appends.arm()
        self._timer = self._loop.call_later(TICK_MS / 1000, self.start)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _note_counters(self, slices: Iterator[None]) -> None:
        if next(slices, _END) is not _END:
            self._loop.call_soon(self._note_counters, slices)

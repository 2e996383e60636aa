"""How a consumer fares, per topic, over the last minute: what it answers when it is asked (307). Pure but for
the clock that is passed in."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from engine.client.consuming.listeners import Outcome
from engine.protocol.bodies.clients import ConsumeStatus

WINDOW_S = 60.0
_SLICE_S = 10.0


@dataclass(slots=True)
class _Slice:
    begun_at: float
    ok: int = 0
    failed: int = 0
    calls: int = 0
    elapsed_ms: float = 0.0


class ConsumeRates:
    """`record` per listener call, `status` per topic; memory is a few slices of ten seconds per topic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._slices: dict[str, deque[_Slice]] = {}
        self._failed: dict[str, int] = {}

    def record(self, topic: str, messages: int, outcome: Outcome) -> None:
        now = self._clock()
        slices = self._slices.setdefault(topic, deque())
        if not slices or now - slices[-1].begun_at >= _SLICE_S:
            slices.append(_Slice(now))
            while now - slices[0].begun_at > WINDOW_S:
                slices.popleft()
        current = slices[-1]
        current.calls += 1
        current.elapsed_ms += outcome.elapsed_ms
        if outcome.is_success:
            current.ok += messages
        else:
            current.failed += messages
            self._failed[topic] = self._failed.get(topic, 0) + messages

    def status(self) -> dict[str, ConsumeStatus]:
        return {topic: self._status_of(topic, slices) for topic, slices in self._slices.items()}

    def _status_of(self, topic: str, slices: deque[_Slice]) -> ConsumeStatus:
        now = self._clock()
        recent = [part for part in slices if now - part.begun_at <= WINDOW_S]
        span_s = max(now - recent[0].begun_at, _SLICE_S) if recent else WINDOW_S
        calls = sum(part.calls for part in recent)
        return ConsumeStatus(
            consume_rt=sum(part.elapsed_ms for part in recent) / calls if calls else 0.0,
            consume_ok_tps=sum(part.ok for part in recent) / span_s,
            consume_failed_tps=sum(part.failed for part in recent) / span_s,
            consume_failed_msgs=self._failed.get(topic, 0),
        )

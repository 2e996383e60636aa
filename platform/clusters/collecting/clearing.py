"""When a backlog will be gone: per queue, and for the whole with its slowest queue. Pure.

A queue is compared with itself about a minute ago. If everything that was there then has been consumed, the
group keeps up, and what is left takes lag / consume rate. Otherwise only the shrinking counts: lag / how fast
the lag falls, and a lag that does not fall never clears. One queue that never clears makes the whole "never":
a mean over queues would promise an end that the stuck queue does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

WINDOW_S = 60.0
_SHORTEST_S = 4.0
"""Less history than this says nothing."""
_SPACING_S = 4.0

QueueKey = tuple[str, int]
"""Broker name and queue id."""
Progress = tuple[int, int]
"""Committed offset and the queue's end."""


class Never(Enum):
    NEVER = "never"


NEVER = Never.NEVER
Eta = float | Never | None
"""Seconds, never, or not known."""


@dataclass(frozen=True, slots=True)
class Clearing:
    whole: Eta
    queues: Mapping[QueueKey, Eta]


class LagTrend:
    """How one group got on with one topic lately."""

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: list[tuple[float, Mapping[QueueKey, Progress]]] = []

    def feed(self, at_s: float, progress: Mapping[QueueKey, Progress]) -> None:
        samples = self._samples
        if len(samples) > 1 and at_s - samples[-2][0] < _SPACING_S:
            samples.pop()
        samples.append((at_s, progress))
        while len(samples) > 2 and samples[1][0] <= at_s - WINDOW_S:
            del samples[0]

    def clearing(self) -> Clearing:
        (first_s, before), (last_s, after) = self._samples[0], self._samples[-1]
        queues = {
            key: queue_eta(before.get(key), progress, last_s - first_s) for key, progress in after.items()
        }
        return Clearing(slowest(queues.values()), queues)


def queue_eta(before: Progress | None, after: Progress, elapsed_s: float) -> Eta:
    committed, end = after
    lag = end - committed
    if lag <= 0:
        return 0.0
    if before is None or elapsed_s < _SHORTEST_S or committed < before[0]:
        return None
    consumed = committed - before[0]
    is_keeping_up = consumed > 0 and committed >= before[1]
    gained = consumed if is_keeping_up else (before[1] - before[0]) - lag
    return round(lag * elapsed_s / gained, 1) if gained > 0 else NEVER


def slowest(etas: Iterable[Eta]) -> Eta:
    worst: Eta = 0.0
    for eta in etas:
        if eta is NEVER:
            return NEVER
        if eta is None or worst is None:
            worst = None
        elif eta > worst:
            worst = eta
    return worst

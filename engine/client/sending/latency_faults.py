"""Brokers that a producer avoids for a while because their answers took long.

RocketMQ's latency classes: an answer that took at least so long keeps its broker out of the choice for the
time given. A broker that did not answer at all counts as having taken ten seconds. Avoidance is advice: when
every broker is to be avoided, the one that comes back first is used. Pure; `now_ms` is passed in.
"""

from __future__ import annotations

from collections.abc import Iterable

LATENCY_CLASSES_MS = (
    (15_000, 30_000),
    (5_000, 10_000),
    (3_000, 6_000),
    (1_800, 5_000),
    (550, 2_000),
)
"""(answer took at least, avoid for), the slowest class first."""

NO_ANSWER_LATENCY_MS = 10_000
HARMLESS_LATENCY_MS = LATENCY_CLASSES_MS[-1][0]


def avoidance_ms(latency_ms: float) -> int:
    """For how long a broker with this latency is avoided."""
    return next((avoid_ms for at_least_ms, avoid_ms in LATENCY_CLASSES_MS if latency_ms >= at_least_ms), 0)


class LatencyFaults:
    """Broker name → until when it is avoided. Empty most of the time, so that checks are cheap."""

    __slots__ = ("_avoided_until_ms",)

    def __init__(self) -> None:
        self._avoided_until_ms: dict[str, float] = {}

    def __bool__(self) -> bool:
        return bool(self._avoided_until_ms)

    def record(self, broker_name: str, latency_ms: float, now_ms: float) -> None:
        """An answer came; a quick one ends the avoidance."""
        duration_ms = avoidance_ms(latency_ms)
        if duration_ms:
            self._avoided_until_ms[broker_name] = now_ms + duration_ms
        else:
            self._avoided_until_ms.pop(broker_name, None)

    def record_failure(self, broker_name: str, now_ms: float) -> None:
        """No answer, no connection, or a refusal that another broker may not give."""
        self.record(broker_name, NO_ANSWER_LATENCY_MS, now_ms)

    def is_available(self, broker_name: str, now_ms: float) -> bool:
        return self._avoided_until_ms.get(broker_name, 0) <= now_ms

    def least_bad(self, broker_names: Iterable[str]) -> str:
        """The broker that may be used soonest."""
        return min(broker_names, key=lambda name: self._avoided_until_ms.get(name, 0))

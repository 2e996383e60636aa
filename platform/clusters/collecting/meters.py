"""Rates from growing totals. Pure.

A meter keeps a few (time, total) pairs and says how fast the total grew over about the last ten seconds,
however often it was fed: once a second while somebody watches, every ten seconds otherwise. With one sample
nothing is known; a total that fell (an offset was set back, a topic was made anew) begins a new measurement.
"""

from __future__ import annotations

WINDOW_S = 10.0
"""Over which a rate is taken: short enough to move, long enough not to jitter."""
_SPACING_S = 0.9
"""Samples that are closer than this replace each other."""


class Meter:
    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: list[tuple[float, int]] = []

    def feed(self, at_s: float, total: int, quiet_until_s: float = 0.0) -> None:
        """Until `quiet_until_s` the total is known to have stood where it was: meters of what is at rest are
        not fed."""
        samples = self._samples
        if samples and samples[-1][0] < quiet_until_s < at_s:
            samples[:] = [(quiet_until_s, samples[-1][1])]
        if samples and total < samples[-1][1]:
            samples.clear()
        if len(samples) > 1 and at_s - samples[-2][0] < _SPACING_S:
            samples.pop()
        samples.append((at_s, total))
        while len(samples) > 2 and samples[1][0] <= at_s - WINDOW_S:
            del samples[0]

    def rate(self) -> float | None:
        """Per second; None when there is nothing to compare with."""
        if len(self._samples) < 2:
            return None
        (first_s, first), (last_s, last) = self._samples[0], self._samples[-1]
        return round((last - first) / (last_s - first_s), 2) if last_s > first_s else None

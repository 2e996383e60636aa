"""How often a client may speak: a bucket that fills at a rate and holds so many. Pure, `now_s` passed in."""

from __future__ import annotations


class Allowance:
    def __init__(self, per_second: float, burst: int) -> None:
        self._per_second = per_second
        self._burst = burst
        self._left = float(burst)
        self._at_s: float | None = None

    def admits(self, now_s: float) -> bool:
        if self._at_s is not None:
            self._left = min(self._burst, self._left + (now_s - self._at_s) * self._per_second)
        self._at_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True

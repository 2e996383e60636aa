"""How fast a client, a topic or a group may go: token buckets in a table. Pure, `now_s` is passed in.

A bucket holds one second's worth of its rate. A request needs what it costs, or a full bucket if it costs
more than that, and pays in full, so a bucket may be in debt; `reserve` returns how long to wait until it has
enough; earlier requests come first. The cost of a read is known afterwards: it needs a bucket without debt,
and pays then. A full bucket is the same as none and is deleted. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

_SWEEP_ABOVE = 4_096


class Charge(NamedTuple):
    """`cost` on the bucket of `key`, which fills by `rate` a second."""

    key: Hashable
    rate: int
    cost: float


class _Bucket:
    __slots__ = ("at_s", "level", "rate")

    def __init__(self, rate: int, now_s: float) -> None:
        self.rate = rate
        self.level = float(rate)
        self.at_s = now_s

    def fill(self, rate: int, now_s: float) -> None:
        self.level = min(float(self.rate), self.level + (now_s - self.at_s) * self.rate)
        self.at_s = now_s
        if rate != self.rate:
            # A debt stays as long as it was, in seconds.
            self.level *= rate / self.rate
            self.rate = rate

    def wait_s(self, cost: float) -> float:
        return max(0.0, (min(cost, self.rate) - self.level) / self.rate)


class Quotas:
    def __init__(self) -> None:
        self._buckets: dict[Hashable, _Bucket] = {}
        self._sweep_above = _SWEEP_ABOVE

    def __len__(self) -> int:
        return len(self._buckets)

    def reserve(self, charges: Sequence[Charge], longest_s: float, now_s: float) -> float | None:
        """Seconds until all buckets have enough, all of them charged; None: longer than `longest_s`, and
        nothing is charged."""
        buckets = [self._bucket(charge, now_s) for charge in charges]
        wait_s = max(
            (bucket.wait_s(charge.cost) for bucket, charge in zip(buckets, charges, strict=True)), default=0.0
        )
        if wait_s > longest_s:
            return None
        for bucket, charge in zip(buckets, charges, strict=True):
            bucket.level -= charge.cost
        return wait_s

    def pay(self, charges: Sequence[Charge], now_s: float) -> None:
        """Charge what has been sent already."""
        for charge in charges:
            self._bucket(charge, now_s).level -= charge.cost

    def _bucket(self, charge: Charge, now_s: float) -> _Bucket:
        bucket = self._buckets.get(charge.key)
        if bucket is None:
            if len(self._buckets) >= self._sweep_above:
                self._sweep(now_s)
            bucket = self._buckets[charge.key] = _Bucket(charge.rate, now_s)
        bucket.fill(charge.rate, now_s)
        return bucket

    def _sweep(self, now_s: float) -> None:
        """Delete full buckets; rarer the more are in use, so that its cost per request is bounded."""
        for key, bucket in list(self._buckets.items()):
            bucket.fill(bucket.rate, now_s)
            if bucket.level >= bucket.rate:
                del self._buckets[key]
        self._sweep_above = max(_SWEEP_ABOVE, 2 * len(self._buckets))

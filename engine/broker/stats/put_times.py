"""How long appends take: the first of every ten seconds are timed, so that the hot path costs nothing.

`TimedAppends` stands before the store with the same two methods. Times fall into buckets that double
(1 µs, 2 µs, 4 µs …), so a percentile is known to within a factor of two; the two last periods are kept.
Beside them each time counts in one of RocketMQ's 13 classes of milliseconds: tools look these up by name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Protocol

from engine.protocol._batches_cy import Batch
from engine.protocol._sends_cy import PlainSend
from engine.store.results import MessageDraft, PutResult

TIMED = 256
_BUCKETS = 40
_TICKS_PER_PERIOD = 6
_CLASS_ENDS_MS = (1, 10, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000, 10_000)
_CLASS_NAMES = (
    *("<=0ms", "0~10ms", "10~50ms", "50~100ms", "100~200ms", "200~500ms", "500ms~1s"),
    *("1~2s", "2~3s", "3~4s", "4~5s", "5~10s", "10s~"),
)
"""Part of the protocol. A time is cut to whole milliseconds first: `<=0ms` is what took less than one."""


class Appends(Protocol):
    @property
    def refusal(self) -> PutResult | None: ...

    def put(self, draft: MessageDraft, now_ms: int) -> PutResult: ...

    def put_batch(self, draft: MessageDraft, batch: Batch, now_ms: int) -> PutResult: ...

    def put_plain(
        self,
        plain: PlainSend,
        fields: dict[str, str],
        body: bytes,
        opaque: int,
        born_host: bytes,
        now_ms: int,
    ) -> tuple[bytes, int] | None: ...


class PutTimes:
    """Microseconds, in buckets: number n holds what is below 2ⁿ."""

    def __init__(self) -> None:
        self._current = [0] * _BUCKETS
        self._previous = [0] * _BUCKETS
        self._current_classes = [0] * len(_CLASS_NAMES)
        self._previous_classes = [0] * len(_CLASS_NAMES)
        self._ticks = 0
        self.max_us = 0

    def add(self, took_us: int) -> None:
        self._current[min(took_us.bit_length(), _BUCKETS - 1)] += 1
        self._current_classes[bisect_right(_CLASS_ENDS_MS, took_us // 1000)] += 1
        if took_us > self.max_us:
            self.max_us = took_us

    def tick(self) -> None:
        """Every ten seconds; each minute a new period begins and the one before last is forgotten."""
        self._ticks += 1
        if self._ticks % _TICKS_PER_PERIOD:
            return
        self._previous, self._current = self._current, [0] * _BUCKETS
        self._previous_classes, self._current_classes = self._current_classes, [0] * len(_CLASS_NAMES)

    def distribution(self) -> str:
        """How many of the timed appends took how long: `[<=0ms]:12 [0~10ms]:3 … [10s~]:0 `.

        Every class is there, also without appends: rocketmq-exporter fails as a whole if one is missing.
        """
        both = zip(_CLASS_NAMES, self._current_classes, self._previous_classes, strict=True)
        return "".join(f"[{name}]:{now + before} " for name, now, before in both)

    def percentile_ms(self, part: float) -> float:
        counts = [now + before for now, before in zip(self._current, self._previous, strict=True)]
        wanted = part * sum(counts)
        reached = 0
        for bucket, count in enumerate(counts):
            reached += count
            if count and reached >= wanted:
                return (1 << bucket) / 1000
        return 0.0


class TimedAppends:
    """Single appends are timed until `TIMED` are, then pass straight to the store until `arm` is called."""

    def __init__(self, store: Appends, times: PutTimes, clock_ns: Callable[[], int]) -> None:
        self._store = store
        self._put = store.put
        self._put_batch = store.put_batch
        self._put_plain = store.put_plain
        self._times = times
        self._clock_ns = clock_ns
        self._left = TIMED

    @property
    def refusal(self) -> PutResult | None:
        return self._store.refusal

    def arm(self) -> None:
        self._left = TIMED
        self.__dict__.pop("put", None)
        self.__dict__.pop("put_plain", None)

    def put(self, draft: MessageDraft, now_ms: int) -> PutResult:
        began_ns = self._clock_ns()
        result = self._put(draft, now_ms)
        self._times.add((self._clock_ns() - began_ns) // 1000)
        self._count()
        return result

    def put_plain(
        self,
        plain: PlainSend,
        fields: dict[str, str],
        body: bytes,
        opaque: int,
        born_host: bytes,
        now_ms: int,
    ) -> tuple[bytes, int] | None:
        began_ns = self._clock_ns()
        result = self._put_plain(plain, fields, body, opaque, born_host, now_ms)
        if result is not None:
            self._times.add((self._clock_ns() - began_ns) // 1000)
            self._count()
        return result

    def _count(self) -> None:
        self._left -= 1
        if self._left <= 0:
            # The store's own methods hide these: not even a call is added to the hot path.
            self.put = self._put  # type: ignore[method-assign]
            self.put_plain = self._put_plain  # type: ignore[method-assign]

    def put_batch(self, draft: MessageDraft, batch: Batch, now_ms: int) -> PutResult:
        began_ns = self._clock_ns()
        result = self._put_batch(draft, batch, now_ms)
        self._times.add((self._clock_ns() - began_ns) // 1000)
        return result

"""The recent past of counters that only grow: how much did they grow within the last minute, hour, day?

A `Track` keeps rows of (time, values…) at least `interval_ms` apart and hardly older than `span_ms`, flat
stretches as their two ends only. What lies between two rows is taken as a straight line. Rows are packed in
one array (8 bytes a number), because a broker keeps three tracks per busy topic. Pure: time is passed in.
"""

from __future__ import annotations

from array import array


class Track:
    __slots__ = ("_began_ms", "_interval_ms", "_rows", "_span_ms", "_width")

    def __init__(self, interval_ms: int, span_ms: int, now_ms: int, values: tuple[int, ...]) -> None:
        self._interval_ms = interval_ms
        self._span_ms = span_ms
        self._began_ms = now_ms
        self._width = len(values) + 1
        self._rows = array("q", (now_ms, *values))

    def note(self, now_ms: int, previous_ms: int, values: tuple[int, ...]) -> None:
        """The counters now; `previous_ms` is when this was called last."""
        rows, width = self._rows, self._width
        last_ms = rows[-width]
        if now_ms <= last_ms or now_ms - last_ms < self._interval_ms or self._last() == values:
            return
        if previous_ms - last_ms >= self._interval_ms:
            # They stood still until the previous call: a line from the last row to here would hide that.
            rows.extend((previous_ms, *rows[1 - width :]))
        rows.extend((now_ms, *values))
        self._forget(now_ms - self._span_ms)

    def _forget(self, oldest_ms: int) -> None:
        """Drop rows from the front; the newest of those that are too old stays, as the beginning."""
        rows, width = self._rows, self._width
        count = 0
        while (count + 1) * width < len(rows) and rows[(count + 1) * width] <= oldest_ms:
            count += 1
        del rows[: count * width]

    def growth(self, now_ms: int, window_ms: int, values: tuple[int, ...]) -> tuple[int, ...]:
        """By how much the counters, which are `values` now, grew within the last `window_ms`."""
        base = self._at(now_ms - window_ms)
        return tuple(max(0, value - then) for value, then in zip(values, base, strict=True))

    def covered_ms(self, now_ms: int, window_ms: int) -> int:
        """How much of the window this track has seen; never 0, because rates divide by it."""
        return max(1, min(window_ms, now_ms - self._began_ms))

    def _at(self, time_ms: int) -> tuple[int, ...]:
        rows, width = self._rows, self._width
        after = 0
        while after < len(rows) and rows[after] <= time_ms:
            after += width
        if after == 0:
            return tuple(rows[1:width])
        if after == len(rows):
            return self._last()
        begin_ms, end_ms = rows[after - width], rows[after]
        part = (time_ms - begin_ms) / (end_ms - begin_ms)
        return tuple(
            low + int((high - low) * part)
            for low, high in zip(
                rows[after - width + 1 : after], rows[after + 1 : after + width], strict=True
            )
        )

    def _last(self) -> tuple[int, ...]:
        return tuple(self._rows[1 - self._width :])

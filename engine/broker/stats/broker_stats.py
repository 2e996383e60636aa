"""Rates and sums per topic, group and broker, as mqadmin and dashboards ask for them (315, 28, 202, 208).

The hot path only counts (`traffic`, the store's totals); a tick every ten seconds notes where the counters
stand, and a question compares them with their past. Work per request is a look-up; a tick goes through the
topics and pairs in slices, so that requests are served in between. At most `MAX_ITEMS` have a past, those
that came first; the others answer as unknown.
Pure: time is passed in. Loop thread only.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from engine.broker.stats.traffic import Count, Traffic
from engine.protocol.bodies.stats import BrokerStatsData, BrokerStatsItem
from engine.store.results import StoreStats


class Track:
    """The recent past of counters that only grow: how much did they grow within the last minute, hour, day?

    Keeps rows of (time, values…) at least `interval_ms` apart and hardly older than `span_ms`, flat stretches
    as their two ends only. What lies between two rows is taken as a straight line. Rows are packed in one
    array (8 bytes a number), because a broker keeps three tracks per busy topic.
    """

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


TICK_MS = 10_000
MAX_ITEMS = 20_000
SLICE = 250
"""Items noted at a time: a millisecond or so."""
_SECOND_MS, _MINUTE_MS, _HOUR_MS, _DAY_MS = 1_000, 60_000, 3_600_000, 86_400_000
_RATE_SPAN_MS = 600 * _SECOND_MS

_K = TypeVar("_K")


class Past:
    """One item's counters over a minute, an hour and a day."""

    __slots__ = ("_day", "_hour", "_minute")

    def __init__(self, began_ms: int, values: tuple[int, ...]) -> None:
        self._minute = Track(0, _MINUTE_MS, began_ms, values)
        self._hour = Track(_HOUR_MS // 6, _HOUR_MS, began_ms, values)
        self._day = Track(_HOUR_MS, _DAY_MS, began_ms, values)

    def note(self, now_ms: int, previous_ms: int, values: tuple[int, ...]) -> None:
        for track in (self._minute, self._hour, self._day):
            track.note(now_ms, previous_ms, values)

    def data(self, now_ms: int, values: tuple[int, ...], column: int) -> BrokerStatsData:
        """Sum, rate and average per request of one counter; the last counter is the requests'."""
        minute, hour, day = (
            _item(track, now_ms, window_ms, values, column)
            for track, window_ms in (
                (self._minute, _MINUTE_MS),
                (self._hour, _HOUR_MS),
                (self._day, _DAY_MS),
            )
        )
        return BrokerStatsData(minute, hour, day)

    def rate(self, now_ms: int, values: tuple[int, ...], column: int) -> float:
        """Per second, over the last minute."""
        return _item(self._minute, now_ms, _MINUTE_MS, values, column).tps


def _item(track: Track, now_ms: int, window_ms: int, values: tuple[int, ...], column: int) -> BrokerStatsItem:
    growth = track.growth(now_ms, window_ms, values)
    seconds = track.covered_ms(now_ms, window_ms) / _SECOND_MS
    requests = growth[-1]
    return BrokerStatsItem(
        growth[column], growth[column] / seconds, growth[column] / requests if requests else 0.0
    )


class _Items(Generic[_K]):
    """The pasts of the counts of one table."""

    def __init__(self, counts: Mapping[_K, Count], now_ms: int) -> None:
        self._counts = counts
        self._pasts: dict[_K, Past] = {}
        self._pastless: set[_K] = set()
        """Added when there was no room any more; they have no past until they are removed."""
        self._ticked_ms = now_ms

    def tick(self, now_ms: int, room: int) -> Iterator[None]:
        """Note the counters; yields after every slice, so that the loop can serve others."""
        for gone in self._pasts.keys() - self._counts.keys():
            del self._pasts[gone]
        self._pastless &= self._counts.keys()
        for number, (key, count) in enumerate(list(self._counts.items()), 1):
            past = self._pasts.get(key) or self._new_past(key, room)
            if past is not None:
                past.note(now_ms, self._ticked_ms, _values(count))
            if number % SLICE == 0:
                yield
        self._ticked_ms = now_ms

    def _new_past(self, key: _K, room: int) -> Past | None:
        if key in self._pastless or len(self._pasts) >= room:
            self._pastless.add(key)
            return None
        # At the tick before this one it did not exist, so it stood at nothing.
        past = self._pasts[key] = Past(self._ticked_ms, _NOTHING)
        return past

    def __len__(self) -> int:
        return len(self._pasts)

    def find(self, key: _K) -> tuple[Past, tuple[int, ...]] | None:
        count = self._counts.get(key)
        if count is None or key in self._pastless:
            return None
        return self._pasts.get(key) or Past(self._ticked_ms, _NOTHING), _values(count)

    def rate(self, key: _K, now_ms: int) -> float:
        """Messages per second, over the last minute."""
        found = self.find(key)
        return found[0].rate(now_ms, found[1], 0) if found else 0.0


_NOTHING = (0, 0, 0)


def _values(count: Count) -> tuple[int, int, int]:
    return count.messages, count.size_bytes, count.requests


class Totals(NamedTuple):
    """The whole broker's counters since its start."""

    put: int
    got: int
    pulls_found: int
    pulls_missed: int


class Rates(NamedTuple):
    """`Totals`, per second."""

    put: float
    got: float
    pulls_found: float
    pulls_missed: float


class DayMarks(NamedTuple):
    """What the totals were when a day began."""

    put: int = 0
    got: int = 0


class BrokerStats:
    def __init__(
        self,
        cluster: str,
        traffic: Traffic,
        store_stats: StoreStats,
        now_ms: int,
        day_of: Callable[[int], int],
    ) -> None:
        self._cluster = cluster
        self._store_stats = store_stats
        self._topics = _Items(traffic.put_by_topic, now_ms)
        self._pairs = _Items(traffic.got_by_pair, now_ms)
        self._views: dict[str, tuple[_Items[Any], int]] = {
            "TOPIC_PUT_NUMS": (self._topics, 0),
            "TOPIC_PUT_SIZE": (self._topics, 1),
            "GROUP_GET_NUMS": (self._pairs, 0),
            "GROUP_GET_SIZE": (self._pairs, 1),
            "SNDBCK_PUT_NUMS": (_Items(traffic.sent_back_by_pair, now_ms), 0),
            "GROUP_ACK_NUMS": (_Items(traffic.acked_by_pair, now_ms), 0),
            "GROUP_CK_NUMS": (_Items(traffic.checkpoints_by_pair, now_ms), 0),
        }
        """Items and the column of their counters, under RocketMQ's names."""
        self._broker = {name: Past(now_ms, values) for name, values in self._broker_values().items()}
        self._rates = Track(0, _RATE_SPAN_MS, now_ms, self.totals())
        self._ticked_ms = now_ms
        self._day_of = day_of
        self._day = day_of(now_ms)
        self.yesterday_morning = DayMarks()
        self.today_morning = DayMarks()

    def totals(self) -> Totals:
        stats = self._store_stats
        return Totals(stats.put_count, stats.get_message_count, stats.get_found_count, stats.get_missed_count)

    def tick(self, now_ms: int) -> Iterator[None]:
        """Every ten seconds; the caller runs it to its end, with other work in between."""
        self._tick_broker(now_ms)
        tables = list(dict.fromkeys(items for items, _ in self._views.values()))
        for items in tables:
            others = sum(len(other) for other in tables if other is not items)
            yield from items.tick(now_ms, MAX_ITEMS - others)

    def _tick_broker(self, now_ms: int) -> None:
        totals = self.totals()
        for name, values in self._broker_values().items():
            self._broker[name].note(now_ms, self._ticked_ms, values)
        self._rates.note(now_ms, self._ticked_ms, totals)
        self._ticked_ms = now_ms
        day = self._day_of(now_ms)
        if day != self._day:
            self._day = day
            self.yesterday_morning, self.today_morning = (
                self.today_morning,
                DayMarks(totals.put, totals.got),
            )

    # -- answers --------------------------------------------------------------------------------------------

    def view(self, name: str, key: str, now_ms: int) -> BrokerStatsData | None:
        """Under RocketMQ's names; None: there is no such item."""
        if name in self._views:
            items, column = self._views[name]
            topic, _, group = key.partition("@")
            found = items.find(key if items is self._topics else (topic, group))
            return found and found[0].data(now_ms, found[1], column)
        if name in self._broker and key == self._cluster:
            return self._broker[name].data(now_ms, self._broker_values()[name], 0)
        return None

    def _broker_values(self) -> dict[str, tuple[int, int]]:
        """Messages, and the requests that they came with (for puts the store does not count those)."""
        totals = self.totals()
        return {
            "BROKER_PUT_NUMS": (totals.put, totals.put),
            "BROKER_GET_NUMS": (totals.got, totals.pulls_found),
        }

    def put_rate(self, topic: str, now_ms: int) -> float:
        return self._topics.rate(topic, now_ms)

    def get_rate(self, topic: str, group: str, now_ms: int) -> float:
        return self._pairs.rate((topic, group), now_ms)

    def rates(self, now_ms: int, window_s: int) -> Rates:
        """Over the last 10, 60 or 600 seconds."""
        window_ms = window_s * _SECOND_MS
        seconds = self._rates.covered_ms(now_ms, window_ms) / _SECOND_MS
        growth = self._rates.growth(now_ms, window_ms, self.totals())
        return Rates(*(grown / seconds for grown in growth))


def local_day(now_ms: int) -> int:
    """A number that changes at midnight."""
    return datetime.fromtimestamp(now_ms / 1000).toordinal()

"""The history of one cluster as it is written: open chunks in memory, handed out to be stored. Pure.

Values come every ten seconds (`note`); minutes and hours are rolled up as they end (`advance`): means of
rates, the largest of everything else, so that a peak of lag is still seen ninety days later. Only changes are
kept, so a topic at rest costs one point per chunk. `sampled` is kept for every slot: it is what says that
nothing else was missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusters.selectors.packing import BUCKET_S, POINT, RESOLUTIONS, SAMPLED, bucket_start, pack, unpack

Key = tuple[str, str, str]
"""Subject, name, metric."""
Stored = tuple[Key, int, int, bytes]
"""Key, resolution in seconds, start of the chunk in seconds since 1970, points."""

_FINER = {60: 10, 3600: 60}
_STORE_EVERY_S = {10: 60, 60: 600, 3600: 3600}
"""Longer chunks are rewritten less often; what a killed collector loses of them it rolls up again."""


class _Chunk:
    __slots__ = ("is_stored", "last", "points", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.points = bytearray()
        self.last: float | None = None
        self.is_stored = False

    @property
    def last_slot(self) -> int:
        if not self.points:
            return -1
        slot: int = POINT.unpack_from(self.points, len(self.points) - POINT.size)[0]
        return slot


class SeriesBook:
    def __init__(self) -> None:
        self._open: dict[int, dict[Key, _Chunk]] = {resolution: {} for resolution in RESOLUTIONS}
        self._closed: list[Stored] = []
        self._touched: dict[int, set[Key]] = {10: set(), 60: set()}
        self._settling: dict[int, set[Key]] = {10: set(), 60: set()}
        """Changed in the slot before: their mean may still be different in this one."""
        self._now_s = 0
        self._stored_s = dict.fromkeys(RESOLUTIONS, 0)

    def load(self, stored: Iterable[Stored], now_s: int) -> None:
        """Chunks that are still open, as a collector before this one left them."""
        for key, resolution, start, points in stored:
            if start != bucket_start(now_s, resolution):
                continue
            chunk = self._open[resolution][key] = _Chunk(start)
            chunk.points += points
            chunk.is_stored = True
            *_, (_, chunk.last) = unpack(points)
        self._roll_again(now_s)

    def _roll_again(self, now_s: int) -> None:
        """The minutes that whoever collected before had rolled up and not stored."""
        for ended_s in range(now_s - now_s % 60 - _STORE_EVERY_S[60], now_s - now_s % 60, 60):
            self._touched[10] = {
                key for key, chunk in self._open[10].items() if chunk.start + 10 * chunk.last_slot >= ended_s
            }
            self._roll(60, 10, ended_s)
        self._touched[10] = set()

    def note(self, at_s: int, points: Iterable[tuple[Key, float | None]]) -> None:
        """Values of the ten-second slot that `at_s` is in."""
        slot_s = at_s - at_s % 10
        for key, value in points:
            self._put(10, key, slot_s, value)

    def advance(self, now_s: int) -> None:
        """Roll up what has ended since the last call, and begin new chunks with what still holds."""
        before_s, self._now_s = self._now_s or now_s, now_s
        for resolution, finer in _FINER.items():
            ended_s = now_s - now_s % resolution - resolution
            # Of several that ended, what was not sampled is a gap anyway.
            if ended_s + resolution > before_s:
                self._roll(resolution, finer, ended_s)
        for resolution in RESOLUTIONS:
            start = bucket_start(now_s, resolution)
            if start > before_s:
                self._carry(resolution, start)

    def take_due(self, now_s: int, *, is_last: bool = False) -> list[Stored]:
        """What is to be stored now; everything that is not stored yet when it is the last time."""
        due, self._closed = self._closed, []
        for resolution in RESOLUTIONS:
            if is_last or now_s - self._stored_s[resolution] >= _STORE_EVERY_S[resolution]:
                self._stored_s[resolution] = now_s
                due += self._take_open(resolution)
        return due

    # -- chunks ---------------------------------------------------------------------------------------------

    def _put(self, resolution: int, key: Key, slot_s: int, value: float | None) -> None:
        start = bucket_start(slot_s, resolution)
        chunk = self._open[resolution].get(key)
        if chunk is None or chunk.start != start:
            if chunk is not None:
                self._close(resolution, key, chunk)
            if value is None:
                self._open[resolution].pop(key, None)
                return
            chunk = self._open[resolution][key] = _Chunk(start)
        elif chunk.last == value and key[2] != SAMPLED:
            return
        slot = (slot_s - start) // resolution
        if slot < chunk.last_slot:
            # The past is not written anew.
            return
        if slot == chunk.last_slot:
            del chunk.points[-POINT.size :]
        chunk.points += pack(slot, value)
        chunk.last, chunk.is_stored = value, False
        if resolution in self._touched:
            self._touched[resolution].add(key)

    def _close(self, resolution: int, key: Key, chunk: _Chunk) -> None:
        if not chunk.is_stored:
            self._closed.append((key, resolution, chunk.start, bytes(chunk.points)))

    def _take_open(self, resolution: int) -> Iterator[Stored]:
        for key, chunk in self._open[resolution].items():
            if not chunk.is_stored:
                chunk.is_stored = True
                yield key, resolution, chunk.start, bytes(chunk.points)

    def _carry(self, resolution: int, start: int) -> None:
        for key, chunk in list(self._open[resolution].items()):
            if chunk.start != start and key[2] != SAMPLED:
                self._put(resolution, key, start, chunk.last)

    # -- roll-ups -------------------------------------------------------------------------------------------

    def _roll(self, resolution: int, finer: int, ended_s: int) -> None:
        touched, self._touched[finer] = self._touched[finer], set()
        for key in touched | self._settling[finer]:
            chunk = self._open[finer].get(key)
            if chunk is None or not chunk.start <= ended_s < chunk.start + BUCKET_S[finer]:
                continue
            first = (ended_s - chunk.start) // finer
            is_sampled = key[2] == SAMPLED
            held = list(_held(chunk.points, first, first + resolution // finer, carries=not is_sampled))
            if held or not is_sampled:
                self._put(resolution, key, ended_s, summary(key[2], held))
        self._settling[finer] = touched


def _held(points: bytearray, first: int, end: int, *, carries: bool) -> Iterator[float]:
    """The value of each slot that has one, from the first slot to before the end."""
    before: float | None = None
    changes: dict[int, float | None] = {}
    for slot, value in unpack(points):
        if slot < first:
            before = value
        elif slot < end:
            changes[slot] = value
    for slot in range(first, end):
        before = changes.get(slot, before if carries else None)
        if before is not None:
            yield before


def summary(metric: str, values: list[float]) -> float | None:
    if not values:
        return None
    return round(sum(values) / len(values), 3) if metric.endswith("rate") else max(values)

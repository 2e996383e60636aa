"""The history of one cluster as it is written: open chunks in memory, handed out to be stored. Pure.

Values come every ten seconds (`note`); minutes and hours are rolled up as they end (`advance`): means of
rates, the largest of everything else, so that a peak of lag is still seen ninety days later. Only changes are
kept, so a topic at rest costs one point per chunk. `sampled` is kept for every slot: it is what says that
nothing else was missed. Therefore it is stored behind all that it speaks for, as it was when their turn came:
whoever reads between two rounds sees an end that is a little older, and never an old value as a new one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from clusters.collecting.summaries import summary
from clusters.selectors.packing import BUCKET_S, POINT, RESOLUTIONS, SAMPLED, bucket_start, pack, unpack

Key = tuple[str, str, str]
"""Subject, name, metric."""
Stored = tuple[Key, int, int, bytes]
"""Key, resolution in seconds, start of the chunk in seconds since 1970, points."""

_STORE_EVERY_S = {10: 60, 60: 600, 3600: 60}
"""Minutes change every minute and have long chunks: what a killed collector loses of them, the next one rolls
up again. Hours change once."""
_FINER = {60: 10, 3600: 60}
_ROLL_AGAIN_S = 900
"""How far back minutes may be that were not stored: since it was their turn, and the rounds that it took."""
SHARE = 6_000
"""Minutes and hours that a round rolls up (or a fifth of what waits if that is more), and chunks that it
stores (or a tenth): all of a large cluster's would take longer than a round may."""


class _Chunk:
    __slots__ = ("is_stored", "is_waiting", "last", "points", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.points = bytearray()
        self.last: float | None = None
        self.is_stored = False
        self.is_waiting = False

    @property
    def last_slot(self) -> int:
        if not self.points:
            return -1
        slot: int = POINT.unpack_from(self.points, len(self.points) - POINT.size)[0]
        return slot

    def copy(self) -> _Chunk:
        made = _Chunk(self.start)
        made.points += self.points
        return made


Roll = tuple[int, Key, _Chunk, int]
"""A minute or an hour that has ended: its length, of what, the finer chunk that has it, when it began."""


class SeriesBook:
    def __init__(self) -> None:
        self._open: dict[int, dict[Key, _Chunk]] = {resolution: {} for resolution in RESOLUTIONS}
        self._waiting: deque[tuple[Key, int, _Chunk]] = deque()
        """To be stored, in this order."""
        self._rolls: deque[Roll | int] = deque()
        """To be rolled up, in this order. A number is an hour, by its beginning: its minutes are before it,
        and which of them changed is known once they are rolled up."""
        self._touched: dict[int, set[Key]] = {10: set(), 60: set()}
        self._settling: dict[int, set[Key]] = {10: set(), 60: set()}
        """Changed in the slot before: their mean may still be different in this one."""
        self._now_s = 0
        self._queued_s = dict.fromkeys(RESOLUTIONS, 0)

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
        for ended_s in range(now_s - now_s % 60 - _ROLL_AGAIN_S, now_s - now_s % 60, 60):
            self._touched[10] = {
                key for key, chunk in self._open[10].items() if chunk.start + 10 * chunk.last_slot >= ended_s
            }
            self._queue_rolls(60, ended_s)
        self._roll_everything()
        self._touched[10] = set()

    def note(self, at_s: int, points: Iterable[tuple[Key, float | None]]) -> None:
        """Values of the ten-second slot that `at_s` is in."""
        slot_s = at_s - at_s % 10
        for key, value in points:
            self._put(10, key, slot_s, value)

    def advance(self, now_s: int) -> None:
        """Roll up what has ended since the last call, and begin new chunks with what still holds."""
        before_s, self._now_s = self._now_s or now_s, now_s
        # Of several that ended, what was not sampled is a gap anyway.
        if (minute_s := now_s - now_s % 60) > before_s:
            self._queue_rolls(60, minute_s - 60)
        if (hour_s := now_s - now_s % 3600) > before_s:
            self._rolls.append(hour_s - 3600)
        full = [one for one in RESOLUTIONS if bucket_start(now_s, one) > before_s]
        # The past is not written into a new chunk: what ended of minutes or hours comes first.
        if 3600 in full:
            self._roll_everything()
        self._roll_up(len(self._rolls) if 60 in full else max(SHARE, len(self._rolls) // 5))
        for resolution in full:
            self._carry(resolution, bucket_start(now_s, resolution))

    def take_due(self, now_s: int, *, is_last: bool = False) -> list[Stored]:
        """What is to be stored now; everything that is not stored yet when it is the last time."""
        if is_last:
            self._roll_everything()
        for resolution in RESOLUTIONS:
            if is_last or now_s - self._queued_s[resolution] >= _STORE_EVERY_S[resolution]:
                self._queued_s[resolution] = now_s
                self._queue_open(resolution)
        most = len(self._waiting) if is_last else max(SHARE, len(self._waiting) // 10)
        return list(self._take(min(most, len(self._waiting))))

    def _queue_open(self, resolution: int) -> None:
        heard: list[tuple[Key, int, _Chunk]] = []
        for key, chunk in self._open[resolution].items():
            if chunk.is_stored or chunk.is_waiting:
                continue
            if key[2] == SAMPLED:
                chunk.is_stored = True
                heard.append((key, resolution, chunk.copy()))
            else:
                self._wait(key, resolution, chunk)
        self._waiting += heard

    def _wait(self, key: Key, resolution: int, chunk: _Chunk) -> None:
        chunk.is_waiting = True
        self._waiting.append((key, resolution, chunk))

    def _take(self, count: int) -> Iterator[Stored]:
        for _ in range(count):
            key, resolution, chunk = self._waiting.popleft()
            chunk.is_stored, chunk.is_waiting = True, False
            yield key, resolution, chunk.start, bytes(chunk.points)

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
        if not chunk.is_stored and not chunk.is_waiting:
            self._wait(key, resolution, chunk)

    def _carry(self, resolution: int, start: int) -> None:
        for key, chunk in list(self._open[resolution].items()):
            if chunk.start != start and key[2] != SAMPLED:
                self._put(resolution, key, start, chunk.last)

    # -- roll-ups -------------------------------------------------------------------------------------------

    def _queue_rolls(self, resolution: int, ended_s: int) -> None:
        """What was heard comes last: it speaks for all the others."""
        changed = sorted(self._changed(_FINER[resolution], ended_s), key=lambda one: one[0][2] == SAMPLED)
        self._rolls += ((resolution, key, chunk, ended_s) for key, chunk in changed)

    def _roll_up(self, count: int) -> None:
        for _ in range(min(count, len(self._rolls))):
            one = self._rolls.popleft()
            if isinstance(one, int):
                self._queue_rolls(3600, one)
            else:
                self._roll_one(*one)

    def _roll_everything(self) -> None:
        while self._rolls:
            self._roll_up(len(self._rolls))

    def _changed(self, finer: int, ended_s: int) -> Iterator[tuple[Key, _Chunk]]:
        touched, self._touched[finer] = self._touched[finer], set()
        for key in touched | self._settling[finer]:
            # Without a chunk it ended with the one before: nothing held since then, which must be said, too.
            chunk = self._open[finer].get(key) or _Chunk(bucket_start(ended_s, finer))
            if chunk.start <= ended_s < chunk.start + BUCKET_S[finer]:
                yield key, chunk
        self._settling[finer] = touched

    def _roll_one(self, resolution: int, key: Key, chunk: _Chunk, ended_s: int) -> None:
        finer = _FINER[resolution]
        first = (ended_s - chunk.start) // finer
        value = summary(key[2], chunk.points, first, first + resolution // finer)
        if value is not None or key[2] != SAMPLED:
            self._put(resolution, key, ended_s, value)

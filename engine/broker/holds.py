"""Long polls that wait for a message: parked under the queues that they want until one arrives or time is up.

Pure: deadlines are compared with a `now_ms` that is passed in, and what is woken is returned, not run. A hold
that waits for several queues is woken once. Deadlines are kept in slices of 50 ms, so that a hold that was
woken early leaves nothing behind. Loop thread only.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable

SLICE_MS = 50


class Parked:
    """One waiting request. `done` is its owner's; this table never calls it."""

    __slots__ = ("accepts", "client", "deadline_ms", "done", "keys")

    def __init__(
        self,
        keys: tuple[Hashable, ...],
        deadline_ms: int,
        accepts: Callable[[object], bool],
        client: Hashable,
        done: Callable[[], None],
    ) -> None:
        self.keys = keys
        self.deadline_ms = deadline_ms
        self.accepts = accepts
        self.client = client
        self.done = done


class Holds:
    def __init__(self) -> None:
        # Dicts as ordered sets: who waited first is woken first.
        self._by_key: dict[Hashable, dict[Parked, None]] = {}
        self._by_client: dict[Hashable, dict[Parked, None]] = {}
        self._by_slice: dict[int, dict[Parked, None]] = {}
        self._slices: list[int] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: Hashable) -> bool:
        return key in self._by_key

    def count_of(self, client: Hashable) -> int:
        return len(self._by_client.get(client, ()))

    def count_at(self, key: Hashable) -> int:
        """How many wait under this key."""
        return len(self._by_key.get(key, ()))

    def park(self, hold: Parked) -> None:
        for key in hold.keys:
            self._by_key.setdefault(key, {})[hold] = None
        self._by_client.setdefault(hold.client, {})[hold] = None
        number = hold.deadline_ms // SLICE_MS
        if number not in self._by_slice:
            self._by_slice[number] = {}
            heapq.heappush(self._slices, number)
        self._by_slice[number][hold] = None
        self._count += 1

    def wake(self, key: Hashable, arrival: object) -> list[Parked]:
        """The holds that accept what arrived; they are parked no more."""
        return self.wake_among(self.at(key), key, arrival)

    def at(self, key: Hashable) -> list[Parked]:
        """Those that wait under this key, in the order in which they came."""
        return list(self._by_key.get(key, ()))

    def wake_among(self, holds: Iterable[Parked], key: Hashable, arrival: object) -> list[Parked]:
        """Those of `holds` that still wait and accept what arrived; they are parked no more."""
        waiting = self._by_key.get(key, {})
        return self._release([hold for hold in holds if hold in waiting and hold.accepts(arrival)])

    def expire(self, now_ms: int) -> list[Parked]:
        due: list[Parked] = []
        while self._slices and self._slices[0] < now_ms // SLICE_MS:
            due += self._by_slice.pop(heapq.heappop(self._slices))
        return self._release(due)

    def drop_client(self, client: Hashable) -> list[Parked]:
        """The client is gone: what it waited for is over."""
        return self._release(list(self._by_client.get(client, ())))

    def release_all(self) -> list[Parked]:
        return self._release([hold for holds in self._by_client.values() for hold in holds])

    def fair_share(self, most: int) -> int:
        """How many each client may have if all of them together may have `most`."""
        return most // (len(self._by_client) or 1)

    def thin_out(self, most: int) -> list[Parked]:
        """The oldest holds of the clients that have the most, so many that `most` are left."""
        share, over = self.fair_share(most), len(self) - most
        thinned: list[Parked] = []
        for waiting in sorted(self._by_client.values(), key=len, reverse=True):
            spare = min(len(waiting) - share, over - len(thinned))
            if spare <= 0:
                break
            thinned += list(waiting)[:spare]
        return self._release(thinned)

    def _release(self, holds: list[Parked]) -> list[Parked]:
        self._count -= len(holds)
        for hold in holds:
            for key in hold.keys:
                _discard(self._by_key, key, hold)
            _discard(self._by_client, hold.client, hold)
            # An emptied slice stays until its time comes; it is one small dict.
            self._by_slice.get(hold.deadline_ms // SLICE_MS, {}).pop(hold, None)
        return holds


def _discard(table: dict[Hashable, dict[Parked, None]], key: Hashable, hold: Parked) -> None:
    waiting = table.get(key)
    if waiting is not None:
        waiting.pop(hold, None)
        if not waiting:
            del table[key]

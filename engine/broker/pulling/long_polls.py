"""Long polls that wait for a message: parked under the queues that they want until one arrives or time is up.

Pure: deadlines are compared with a `now_ms` that is passed in, and what is woken is returned, not run. A hold
that waits for several queues is woken once. A key (topic, ALL_QUEUES) stands for all queues of a topic: a pop
is one entry, however many queues there are. Deadlines are kept in slices of 50 ms. Nothing remains of a
released hold, not even an empty slice: one small long-lived object keeps a whole megabyte of Python's memory
from being returned to the system. Loop thread only.

How many may be parked is counted by weight: a hold counts as one, and a large filter as several, once for all
holds of a client that share it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Protocol, cast

from engine.net.outcomes import Poll, Shared

SLICE_MS = 50
ALL_QUEUES = -1
NOT_PARKED = -1

QueueKey = tuple[str, int]
"""(topic, queue id)"""


class Parked(Protocol):
    """One waiting request. `done` is its owner's; this table never calls it."""

    due: int
    """The slice of its deadline; NOT_PARKED before it is parked and after its release."""

    @property
    def client(self) -> Hashable: ...

    @property
    def poll(self) -> Poll: ...

    def done(self) -> None: ...


Waiting = Parked | dict[Parked, None]
"""The holds under one key: usually a single one, which needs no dict. Otherwise a dict as an ordered set: the
first to wait is woken first."""


class Holds:
    def __init__(self) -> None:
        self._by_key: dict[Hashable, Waiting] = {}
        self._by_client: dict[Hashable, Waiting] = {}
        self._by_slice: dict[int, tuple[int, dict[Parked, None]]] = {}
        """With the slice number as one int object, which all its holds share."""
        self._shared: dict[tuple[Hashable, Shared], int] = {}
        """How many holds of a client share it."""
        self._shared_weights: dict[Hashable, int] = {}
        """Of the clients that have any."""
        self._count = 0
        self.weight = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: object) -> bool:
        """Whether anybody waits for this queue."""
        by_key = self._by_key
        return key in by_key or (cast(QueueKey, key)[0], ALL_QUEUES) in by_key

    def weight_of(self, client: Hashable) -> int:
        return _count(self._by_client.get(client)) + self._shared_weights.get(client, 0)

    def count_at(self, key: Hashable) -> int:
        """How many wait under this key."""
        return _count(self._by_key.get(key))

    def park(self, hold: Parked, deadline_ms: int) -> None:
        for key in hold.poll.parked_under():
            _add(self._by_key, key, hold)
        _add(self._by_client, hold.client, hold)
        number = deadline_ms // SLICE_MS
        waiting = self._by_slice.get(number)
        if waiting is None:
            waiting = self._by_slice[number] = number, {}
        hold.due = waiting[0]
        waiting[1][hold] = None
        self._count += 1
        self.weight += 1
        if hold.poll.shared is not None:
            self._share(hold.client, hold.poll.shared, 1)

    def wake(self, key: Hashable, arrival: object) -> list[Parked]:
        """Releases and returns the holds that accept the arrival."""
        return self.wake_among(self.at(key), arrival)

    def at(self, key: Hashable) -> list[Parked]:
        """Those that wait under this key, in the order in which they came."""
        return _list(self._by_key.get(key))

    def at_queue(self, topic: str, queue_id: int) -> list[Parked]:
        """Those that wait for this queue alone, then those that wait for all queues of the topic."""
        return self.at((topic, queue_id)) + self.at((topic, ALL_QUEUES))

    def wake_among(self, holds: Iterable[Parked], arrival: object) -> list[Parked]:
        """Releases and returns those of `holds` that still wait and accept the arrival."""
        return self._release(
            [hold for hold in holds if hold.due != NOT_PARKED and hold.poll.accepts(arrival)]
        )

    def release(self, holds: Iterable[Parked]) -> list[Parked]:
        """Releases and returns those of `holds` that still wait."""
        return self._release([hold for hold in holds if hold.due != NOT_PARKED])

    def expire(self, now_ms: int) -> list[Parked]:
        now = now_ms // SLICE_MS
        due = sorted(number for number in self._by_slice if number < now)
        return self._release([hold for number in due for hold in self._by_slice[number][1]])

    def drop_client(self, client: Hashable) -> list[Parked]:
        """The client has disconnected: its holds are released."""
        return self._release(_list(self._by_client.get(client)))

    def release_all(self) -> list[Parked]:
        return self._release([hold for waiting in self._by_client.values() for hold in _list(waiting)])

    def fair_share(self, most: int) -> int:
        """The weight that each client may have if all of them together may have `most`."""
        return most // (len(self._by_client) or 1)

    def thin_out(self, most: int) -> list[Parked]:
        """Releases the oldest holds of the clients with the most weight, until the total weight is `most`."""
        share = self.fair_share(most)
        thinned: list[Parked] = []
        for client in sorted(self._by_client, key=self.weight_of, reverse=True):
            if self.weight <= most or self.weight_of(client) <= share:
                break
            for hold in _list(self._by_client[client]):
                thinned += self._release([hold])
                if self.weight <= most or self.weight_of(client) <= share:
                    break
        return thinned

    def _share(self, client: Hashable, shared: Shared, more: int) -> None:
        """`more`: 1 for a new hold of the client that shares it, -1 for a released one."""
        key = client, shared
        before = self._shared.pop(key, 0)
        if before + more:
            self._shared[key] = before + more
        weight = shared.weight * (bool(before + more) - bool(before))
        own = self._shared_weights.pop(client, 0) + weight
        if own:
            self._shared_weights[client] = own
        self.weight += weight

    def _release(self, holds: list[Parked]) -> list[Parked]:
        self._count -= len(holds)
        self.weight -= len(holds)
        by_slice = self._by_slice
        for hold in holds:
            for key in hold.poll.parked_under():
                _discard(self._by_key, key, hold)
            _discard(self._by_client, hold.client, hold)
            waiting = by_slice[hold.due][1]
            del waiting[hold]
            if not waiting:
                del by_slice[hold.due]
            hold.due = NOT_PARKED
            if hold.poll.shared is not None:
                self._share(hold.client, hold.poll.shared, -1)
        return holds


def _count(waiting: Waiting | None) -> int:
    if waiting is None:
        return 0
    return len(waiting) if isinstance(waiting, dict) else 1


def _list(waiting: Waiting | None) -> list[Parked]:
    if waiting is None:
        return []
    return list(waiting) if isinstance(waiting, dict) else [waiting]


def _add(table: dict[Hashable, Waiting], key: Hashable, hold: Parked) -> None:
    waiting = table.get(key)
    if waiting is None:
        table[key] = hold
    elif isinstance(waiting, dict):
        waiting[hold] = None
    else:
        table[key] = {waiting: None, hold: None}


def _discard(table: dict[Hashable, Waiting], key: Hashable, hold: Parked) -> None:
    waiting = table.get(key)
    if isinstance(waiting, dict):
        waiting.pop(hold, None)
    if not waiting or waiting is hold:
        table.pop(key, None)

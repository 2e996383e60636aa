"""Requests that wait: for a flushed offset, an arrival, a saved table (`net.outcomes.LogWaits`).

Each request is called back exactly once, on the loop: when the event it waits for has happened, when its time
is up, or when its client is gone. One timer serves all long polls, another all flush waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from itertools import islice
from typing import NamedTuple

from engine.broker.pulling.long_polls import SLICE_MS, Holds, Parked
from engine.broker.pulling.wake_walks_task import AT_ONCE, WakeWalks
from engine.net.connection import Connection
from engine.net.outcomes import HeldRequest
from engine.store.results import Arrival

_WATCHED = "broker.holds_watched"
_FLUSH_TICK_S = 0.1
MAX_HOLDS_PER_CLIENT = 65_536
"""Beyond it a pull that finds nothing is answered at once, so that one client cannot fill the memory."""
MAX_HOLDS = 100_000
"""Of all clients, by weight. Beyond it only clients below their fair share may park, and the polls of the
largest clients are answered instead."""

SaveWait = Callable[[str, Callable[[OSError | None], None]], None]
ReplicaWait = Callable[[int, int, int, Callable[[bool], None]], None]
"""Number of members, commit-log offset, time-out in ms, callback."""


class _FlushWait(NamedTuple):
    commit_log_offset: int
    deadline: float
    done: Callable[[bool], None]


class FlushWaits:
    """Requests that wait for the log to be on disk. Offsets only grow, so the first is always the next."""

    def __init__(self) -> None:
        self._waiting: deque[_FlushWait] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, commit_log_offset: int, deadline: float, done: Callable[[bool], None]) -> None:
        self._waiting.append(_FlushWait(commit_log_offset, deadline, done))

    def flushed(self, commit_log_offset: int) -> None:
        waiting = self._waiting
        while waiting and waiting[0].commit_log_offset <= commit_log_offset:
            waiting.popleft().done(True)

    def fail_all(self) -> None:
        while self._waiting:
            self._waiting.popleft().done(False)

    def expire(self, now: float) -> None:
        late = [wait for wait in self._waiting if wait.deadline <= now]
        if late:
            self._waiting = deque(wait for wait in self._waiting if wait.deadline > now)
        for wait in late:
            wait.done(False)


class BrokerWaits:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        want_flush: Callable[[], None],
        most_holds: int = MAX_HOLDS,
    ) -> None:
        self._loop = loop
        self.most_holds = most_holds
        self._want_flush = want_flush
        self._hold_timer: asyncio.TimerHandle | None = None
        self._flush_timer: asyncio.TimerHandle | None = None
        self._flushed_offset = 0
        self._is_fenced = False
        self.is_closing = False
        self.holds = Holds()
        self._walks = WakeWalks(loop, self.holds, _finish)
        self.flushes = FlushWaits()
        self.when_persisted: SaveWait
        """This and the next: set when there is a table writer."""
        self.when_announced: SaveWait
        self.wait_for_replicas: ReplicaWait | None = None
        """Set for a broker in a group."""

    # -- long polls -----------------------------------------------------------------------------------------

    def when_woken(self, held: HeldRequest, timeout_ms: int) -> None:
        client = held.client
        if not self.can_park(client):
            # At once, not at the client's next turn: until then its filter would be held but not counted.
            held.finish(held)
            return
        if _WATCHED not in client.tags:
            client.tags[_WATCHED] = True
            client.on_close(self._client_left)
        self.holds.park(held, int(self._loop.time() * 1000) + timeout_ms)
        if self.holds.weight > self.most_holds + self.most_holds // 16:
            _finish(self.holds.thin_out(self.most_holds))
        if self._hold_timer is None:
            self._hold_timer = self._loop.call_later(SLICE_MS / 1000, self._expire_holds)

    def can_park(self, client: Connection) -> bool:
        """Whether a request of this client may wait. Otherwise it is resumed at once, so a poll that would
        wait again checks this first."""
        holds, most = self.holds, self.most_holds
        own = holds.weight_of(client)
        has_room = own < MAX_HOLDS_PER_CLIENT and (holds.weight < most or own < holds.fair_share(most))
        return has_room and not client.is_closed and not self.is_closing

    def wake_soon(self, key: Hashable) -> None:
        """Wake polls under this key although no message arrived: they may find something now."""
        if self.holds.count_at(key):
            self._loop.call_soon(self._walks.wake_at, key)

    def arrived(self, arrivals: list[Arrival]) -> None:
        for arrival in arrivals:
            self._walks.arrived(arrival)

    def release_holds(self) -> None:
        """Answer every long poll; from now on none is parked."""
        self.is_closing = True
        _finish(self.holds.release_all())

    def demoted(self) -> None:
        """Another broker is master: the outcome of sends that wait for an acknowledgement is unknown. Long
        polls look again, under the rules of a slave."""
        self.flushes.fail_all()
        _finish(self.holds.release_all())

    def _client_left(self, client: Connection) -> None:
        _finish(self.holds.drop_client(client))

    def _expire_holds(self) -> None:
        self._hold_timer = None
        self._finish_some(iter(self.holds.expire(int(self._loop.time() * 1000))))
        if len(self.holds):
            self._hold_timer = self._loop.call_later(SLICE_MS / 1000, self._expire_holds)

    def _finish_some(self, holds: Iterator[Parked]) -> None:
        some = list(islice(holds, AT_ONCE))
        _finish(some)
        if len(some) == AT_ONCE:
            self._loop.call_soon(self._finish_some, holds)

    # -- flushes --------------------------------------------------------------------------------------------

    def when_flushed(self, commit_log_offset: int, timeout_ms: int, done: Callable[[bool], None]) -> None:
        if self._is_fenced or commit_log_offset <= self._flushed_offset:
            done(not self._is_fenced)
            return
        self.flushes.add(commit_log_offset, self._loop.time() + timeout_ms / 1000, done)
        self._want_flush()
        if self._flush_timer is None:
            self._flush_timer = self._loop.call_later(_FLUSH_TICK_S, self._expire_flushes)

    def flushed(self, commit_log_offset: int) -> None:
        self._flushed_offset = commit_log_offset
        self.flushes.flushed(commit_log_offset)

    def fenced(self) -> None:
        """A sync failed: no waiting or later request can be known to be on disk."""
        self._is_fenced = True
        self.flushes.fail_all()

    def _expire_flushes(self) -> None:
        self._flush_timer = None
        self.flushes.expire(self._loop.time())
        if len(self.flushes):
            self._flush_timer = self._loop.call_later(_FLUSH_TICK_S, self._expire_flushes)

    # -- the others -----------------------------------------------------------------------------------------

    def when_replicated(
        self, commit_log_offset: int, count: int, timeout_ms: int, done: Callable[[bool], None]
    ) -> None:
        if self.wait_for_replicas is None:
            done(False)  # no replica will ever confirm it
        else:
            self.wait_for_replicas(count, commit_log_offset, timeout_ms, done)

    def close(self) -> None:
        for timer in (self._hold_timer, self._flush_timer):
            if timer is not None:
                timer.cancel()


def _finish(holds: list[Parked]) -> None:
    for hold in holds:
        hold.done()

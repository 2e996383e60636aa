"""Who may receive a large frame now, and who waits.

Every connection may hold `own_bytes` of an unfinished frame. A larger frame is received only after its whole
size was taken from the budget; until then its connection is not read. So frames are received a few at a time
and each to its end, instead of all of them a bit. Waiting connections are served by turns of their addresses,
smaller frames first. While somebody waits, a frame that makes no progress loses its place: its connection is
closed, the largest first. Loop thread only.
"""

from __future__ import annotations

import asyncio
import heapq
from dataclasses import dataclass
from typing import Protocol

from engine.net.budget import BudgetLimits, ByteBudget, Closings, Lack, Peer

CHECK_S = 0.25
PROGRESS_BYTES = 16 * 1024
"""What a frame must receive between two checks while others wait: 64 KB a second."""


class Receiver(Protocol):
    """A connection, as far as this module knows it."""

    @property
    def peer(self) -> Peer: ...

    @property
    def peer_name(self) -> str: ...

    @property
    def frame_progress(self) -> int | None:
        """Bytes received of the frame that it holds; None while we are the ones who keep it waiting."""

    def may_receive(self) -> None:
        """The frame it waits for has its place now."""

    def abort(self) -> None: ...


class ReceiveRoom:
    """The buffer that all connections are read into; a small part of it while memory or time is short."""

    def __init__(self, whole: memoryview, small_bytes: int) -> None:
        self.whole = whole
        self._small = self.whole[:small_bytes]
        self._short_of: set[str] = set()
        self.view = self.whole

    def is_short_of(self, what: str, is_short: bool) -> None:
        if is_short:
            self._short_of.add(what)
        else:
            self._short_of.discard(what)
        self._choose()

    def resize_small(self, size_bytes: int) -> None:
        self._small = self.whole[:size_bytes]
        self._choose()

    def _choose(self) -> None:
        self.view = self._small if self._short_of else self.whole


@dataclass(slots=True)
class _Held:
    peer: Peer
    size_bytes: int
    progress: int | None = None
    """At the last check; None if it was not checked yet."""
    is_stalled: bool = False


class Intake:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        room: ReceiveRoom,
        limits: BudgetLimits,
        closings: Closings,
    ) -> None:
        self._loop = loop
        self._room = room
        self._budget = ByteBudget(limits)
        self._closings = closings
        self._held: dict[Receiver, _Held] = {}
        self._waiting: dict[Peer, list[tuple[int, int, Receiver]]] = {}
        self._sizes: dict[Receiver, int] = {}
        """Of the frames that wait; who is not in here waits no more."""
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def held_bytes(self) -> int:
        return self._budget.held_bytes

    @property
    def waiting_count(self) -> int:
        return len(self._sizes)

    def take(self, receiver: Receiver, size_bytes: int) -> bool:
        """Whether so many bytes may be received now. If not, `may_receive` is called later."""
        peer = receiver.peer
        if peer not in self._waiting and self._budget.lack(peer, size_bytes) is None:
            self._hold(receiver, peer, size_bytes)
            return True
        self._count += 1
        # Frames of about the same size in the order in which they came.
        entry = (size_bytes.bit_length(), self._count, receiver)
        heapq.heappush(self._waiting.setdefault(peer, []), entry)
        self._sizes[receiver] = size_bytes
        self._room.is_short_of("memory", True)
        if self._timer is None:
            self._timer = self._loop.call_later(CHECK_S, self._check)
        return False

    def note(self, receiver: Receiver, size_bytes: int) -> None:
        """So many bytes are held already, whether there is room for them or not."""
        self._hold(receiver, receiver.peer, size_bytes)
        self._room.is_short_of("memory", bool(self._sizes) or self._is_nearly_full())

    def give_back(self, receiver: Receiver) -> None:
        """It holds nothing more, and waits for nothing."""
        self._sizes.pop(receiver, None)
        held = self._held.pop(receiver, None)
        if held is not None:
            self._budget.give(held.peer, held.size_bytes)
        if self._sizes:
            self._admit_waiting()
        if not self._sizes:
            self._waiting.clear()
            self._room.is_short_of("memory", self._is_nearly_full())

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    # -- inside ---------------------------------------------------------------------------------------------

    def _is_nearly_full(self) -> bool:
        return self._budget.held_bytes > self._budget.limits.total_bytes // 2

    def _hold(self, receiver: Receiver, peer: Peer, size_bytes: int) -> None:
        before = self._held.get(receiver)
        if before is not None:
            self._budget.give(before.peer, before.size_bytes)
        self._held[receiver] = _Held(peer, size_bytes)
        self._budget.take(peer, size_bytes)

    def _admit_waiting(self) -> None:
        """One of each peer by turns, until nobody's next frame has room."""
        is_going_on = True
        while is_going_on:
            is_going_on = False
            for peer in list(self._waiting):
                receiver = self._next_of(peer)
                if receiver is None:
                    continue
                size_bytes = self._sizes[receiver]
                if self._budget.lack(peer, size_bytes) is None:
                    del self._sizes[receiver]
                    heapq.heappop(self._waiting[peer])
                    self._hold(receiver, peer, size_bytes)
                    receiver.may_receive()
                    is_going_on = True

    def _next_of(self, peer: Peer) -> Receiver | None:
        queue = self._waiting.get(peer, [])
        while queue and queue[0][2] not in self._sizes:
            heapq.heappop(queue)
        if not queue:
            self._waiting.pop(peer, None)
            return None
        return queue[0][2]

    def _check(self) -> None:
        """Who made no progress twice in a row goes, if that helps somebody who waits. Twice, because what was
        sent meanwhile may still be in the socket when the loop is late."""
        self._timer = None
        for receiver in self._stalled():
            if not self._sizes:
                break
            held = self._held.get(receiver)
            if held is not None and self._would_help(held.peer):
                self._closings.close(
                    receiver,
                    f"its frame of {held.size_bytes} bytes made no progress while {len(self._sizes)} "
                    "connections waited for memory (signalboxMaxReceivingBytes)",
                )
                self.give_back(receiver)
        if self._sizes:
            self._timer = self._loop.call_later(CHECK_S, self._check)

    def _stalled(self) -> list[Receiver]:
        found: list[tuple[int, int, Receiver]] = []
        for receiver, held in self._held.items():
            progress = receiver.frame_progress
            has_stopped = (
                progress is not None
                and held.progress is not None
                and progress - held.progress < PROGRESS_BYTES
            )
            if has_stopped and held.is_stalled:
                found.append((-held.size_bytes, len(found), receiver))
            held.is_stalled = has_stopped
            held.progress = progress
        return [receiver for _, _, receiver in sorted(found)]

    def _would_help(self, peer: Peer) -> bool:
        for waiting in list(self._waiting):
            receiver = self._next_of(waiting)
            if receiver is None:
                continue
            lack = self._budget.lack(waiting, self._sizes[receiver])
            if lack is Lack.TOTAL or waiting == peer or (lack is Lack.UNVERIFIED and not peer[1]):
                return True
        return False

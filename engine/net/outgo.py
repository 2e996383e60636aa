"""What waits to be sent because its peer does not read.

A connection appears here from the moment that its socket takes no more until everything is sent. Beyond the
budget the worst are closed at once, until a quarter of it is free: those whose bytes have waited longest, by
bytes times seconds, so that a client that reads, however large its answers, comes last. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from engine.net.budget import BudgetLimits, ByteBudget, Closings, Lack, Peer


class Sender(Protocol):
    """A connection, as far as this module knows it."""

    @property
    def peer(self) -> Peer: ...

    @property
    def peer_name(self) -> str: ...

    def abort(self) -> None: ...


class _Waiting:
    __slots__ = ("peer", "since", "size_bytes")

    def __init__(self, peer: Peer, size_bytes: int, since: float) -> None:
        self.peer = peer
        self.size_bytes = size_bytes
        self.since = since


class Outgo:
    def __init__(self, clock: Callable[[], float], limits: BudgetLimits, closings: Closings) -> None:
        self._clock = clock
        self._budget = ByteBudget(limits)
        self._closings = closings
        self._waiting: dict[Sender, _Waiting] = {}

    @property
    def held_bytes(self) -> int:
        return self._budget.held_bytes

    @property
    def waiting_count(self) -> int:
        return len(self._waiting)

    def hold(self, sender: Sender, size_bytes: int) -> None:
        """So many bytes more wait. It, or others, may be closed for it."""
        waiting = self._waiting.get(sender)
        if waiting is None:
            waiting = self._waiting[sender] = _Waiting(sender.peer, 0, self._clock())
        lack = self._budget.lack(waiting.peer, size_bytes)
        waiting.size_bytes += size_bytes
        self._budget.take(waiting.peer, size_bytes)
        if lack is not None and self._budget.held_bytes > size_bytes:
            self._make_room(lack, waiting.peer)

    def sent(self, sender: Sender, size_bytes: int) -> None:
        """So many of its bytes are gone; with the last of them it waits no more."""
        waiting = self._waiting.get(sender)
        if waiting is None:
            return
        waiting.size_bytes -= size_bytes
        waiting.since = self._clock()
        self._budget.give(waiting.peer, size_bytes)
        if waiting.size_bytes <= 0:
            del self._waiting[sender]

    def forget(self, sender: Sender) -> None:
        waiting = self._waiting.pop(sender, None)
        if waiting is not None:
            self._budget.give(waiting.peer, waiting.size_bytes)

    # -- inside ---------------------------------------------------------------------------------------------

    def _make_room(self, lack: Lack, peer: Peer) -> None:
        limits, now = self._budget.limits, self._clock()
        limit = {
            Lack.TOTAL: limits.total_bytes,
            Lack.ADDRESS: limits.per_address_bytes,
            Lack.UNVERIFIED: limits.unverified_bytes,
        }[lack]
        worst = sorted(
            (
                (waiting.size_bytes * (now - waiting.since), number, sender)
                for number, (sender, waiting) in enumerate(self._waiting.items())
                if _is_among(waiting.peer, lack, peer)
            ),
            reverse=True,
        )
        wanted = limit // 4
        for _, _, sender in worst:
            if wanted <= 0:
                break
            waiting = self._waiting[sender]
            wanted -= waiting.size_bytes
            self._closings.close(
                sender,
                f"{waiting.size_bytes} bytes wait for it to read for {now - waiting.since:.1f} s, and "
                f"{self._budget.held_bytes} in all (signalboxMaxSendingBytes)",
            )
            self.forget(sender)


def _is_among(peer: Peer, lack: Lack, lacking: Peer) -> bool:
    if lack is Lack.ADDRESS:
        return peer == lacking
    return lack is Lack.TOTAL or not peer[1]

"""How many bytes all peers together, and each peer by itself, may make this process hold; and the closing of
those that hold too much, counted and logged at most once a second. No sockets.

A peer is an address, with its verified connections counted apart from the others: nobody who cannot sign uses
up what an address's own clients may hold. While access control is on, connections without a verified
signature share a part of the total only (docs/adr/0016).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

log = logging.getLogger(__name__)

LOG_EVERY_S = 1.0


class Closable(Protocol):
    @property
    def peer_name(self) -> str: ...

    def abort(self) -> None: ...


class Closings:
    """One line a second at most; the next one says how many were not told."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._said_at = float("-inf")
        self._untold = 0
        self.count = 0

    def close(self, connection: Closable, reason: str) -> None:
        self.count += 1
        now = self._clock()
        if now - self._said_at >= LOG_EVERY_S:
            more = f" ({self._untold} more were closed since the last such line)" if self._untold else ""
            log.warning("closing %s: %s%s", connection.peer_name, reason, more)
            self._said_at = now
            self._untold = 0
        else:
            self._untold += 1
        connection.abort()


Peer = tuple[str, bool]
"""Its address, and whether a signature of this connection was verified."""


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    total_bytes: int = 64 * 1024 * 1024
    per_address_bytes: int = 32 * 1024 * 1024
    unverified_bytes: int = 64 * 1024 * 1024
    """For all connections without a verified signature; the total where access control is off."""


class Lack(Enum):
    """What there is not enough of."""

    TOTAL = "the process"
    ADDRESS = "its address"
    UNVERIFIED = "connections without a verified signature"


class ByteBudget:
    def __init__(self, limits: BudgetLimits) -> None:
        self.limits = limits
        self.held_bytes = 0
        self._by_peer: dict[Peer, int] = {}
        self._unverified_bytes = 0

    def lack(self, peer: Peer, size_bytes: int) -> Lack | None:
        """What forbids this peer so many bytes more. Whoever holds nothing may hold one thing of any size: a
        limit that is set below the size of a frame slows down, it does not bar."""
        limits, held = self.limits, self._by_peer.get(peer, 0)
        if self.held_bytes and self.held_bytes + size_bytes > limits.total_bytes:
            return Lack.TOTAL
        if held and held + size_bytes > limits.per_address_bytes:
            return Lack.ADDRESS
        unverified = self._unverified_bytes
        if not peer[1] and unverified and unverified + size_bytes > limits.unverified_bytes:
            return Lack.UNVERIFIED
        return None

    def take(self, peer: Peer, size_bytes: int) -> None:
        """Whatever the limits say: some bytes are here before anybody can ask."""
        self.held_bytes += size_bytes
        self._by_peer[peer] = self._by_peer.get(peer, 0) + size_bytes
        if not peer[1]:
            self._unverified_bytes += size_bytes

    def give(self, peer: Peer, size_bytes: int) -> None:
        self.held_bytes -= size_bytes
        left = self._by_peer.get(peer, 0) - size_bytes
        if left > 0:
            self._by_peer[peer] = left
        else:
            self._by_peer.pop(peer, None)
        if not peer[1]:
            self._unverified_bytes -= size_bytes

    def held_by(self, peer: Peer) -> int:
        return self._by_peer.get(peer, 0)

    def largest(self) -> Peer | None:
        return max(self._by_peer, key=self._by_peer.__getitem__, default=None)

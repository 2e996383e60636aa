"""What the connections of one server share: the buffer they are read into, memory, and time; and the metrics
of these, under the same names in a broker and a name server.

`Shares` is made by the server, once; a connection without it (a client's own) is bounded by its frame's limit
alone, and never stops reading.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from engine.net.budget import BudgetLimits, Closings
from engine.net.intake import Intake, ReceiveRoom
from engine.net.outgo import Outgo
from engine.net.turns import Turns

CLOSED = "signalbox_memory_closed_connections"
CLOSED_TEXT = "Connections closed because they made this process hold too much"


def share_gauges(shares: Shares) -> Iterator[tuple[str, str, float]]:
    """Name, explanation, value."""
    intake, outgo = shares.intake, shares.outgo
    yield "signalbox_receiving_bytes", "Memory taken for large frames and waiting requests", intake.held_bytes
    yield "signalbox_receiving_waits", "Connections whose large frame waits for memory", intake.waiting_count
    yield "signalbox_sending_bytes", "Answers that wait because their peers do not read", outgo.held_bytes
    yield "signalbox_sending_waits", "Connections with such answers", outgo.waiting_count
    yield "signalbox_serving_waits", "Connections whose requests wait for their turn", len(shares.turns)


def closings(shares: Shares) -> Iterator[tuple[str, int]]:
    """Which budget, and how many connections were closed for it so far."""
    yield "receiving", shares.closings_receiving.count
    yield "sending", shares.closings_sending.count


RECEIVE_BUFFER_BYTES = 256 * 1024
OWN_BYTES = 16 * 1024
"""What a connection may hold of an unfinished frame, of requests that are not served yet, and of answers that
are not sent yet."""
MANY_CONNECTIONS = 2048
OWN_BYTES_OF_MANY = 5 * 1024
"""The same of each connection that comes when many are there: 10,000 then hold 72 MB, not 160. Not less than
this, because a read of `turns.SMALL_BYTES` counts as one small request."""


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """In bytes; of an address 0 means half of the total."""

    receiving_bytes: int = 64 * 1024 * 1024
    receiving_bytes_per_address: int = 0
    sending_bytes: int = 64 * 1024 * 1024
    sending_bytes_per_address: int = 0
    clients_sign: bool = False
    """Whether sends and pulls need a signature: those who have shown none then have half of the total."""

    def receiving(self) -> BudgetLimits:
        return self._limits(self.receiving_bytes, self.receiving_bytes_per_address)

    def sending(self) -> BudgetLimits:
        return self._limits(self.sending_bytes, self.sending_bytes_per_address)

    def _limits(self, total: int, per_address: int) -> BudgetLimits:
        unverified = total // 2 if self.clients_sign else total
        return BudgetLimits(total, min(per_address or total // 2, total), unverified)


class Shares:
    def __init__(self, loop: asyncio.AbstractEventLoop, limits: MemoryLimits) -> None:
        self.room = ReceiveRoom(memoryview(bytearray(RECEIVE_BUFFER_BYTES)), OWN_BYTES)
        self.closings_receiving = Closings(loop.time)
        self.closings_sending = Closings(loop.time)
        self.intake = Intake(loop, self.room, limits.receiving(), self.closings_receiving)
        self.outgo = Outgo(loop.time, limits.sending(), self.closings_sending)
        self.turns = Turns(loop, self.room)
        self.own_bytes = OWN_BYTES
        """Of the next connection."""

    def note_connections(self, count: int) -> None:
        """So many are there."""
        own_bytes = OWN_BYTES if count < MANY_CONNECTIONS else OWN_BYTES_OF_MANY
        if own_bytes != self.own_bytes:
            self.own_bytes = own_bytes
            self.room.resize_small(own_bytes)

    def close(self) -> None:
        self.intake.close()

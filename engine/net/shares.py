"""What the connections of one server share: the buffer they are read into, memory, and time.

`Shares` is made by the server, once; a connection without it (a client's own) is bounded by its frame's limit
alone, and never stops reading.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from engine.net.budget import BudgetLimits, Closings
from engine.net.intake import Intake, ReceiveRoom
from engine.net.outgo import Outgo
from engine.net.turns import Turns

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

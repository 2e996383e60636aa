"""The limits of a connection and the measure of a busy loop. Values and one small clock; no sockets.

F36/F37 of the fault list: a first frame within 10 s, a begun frame complete within 30 s, 120 s idle as in
RocketMQ, and a peer must read. What all connections may hold together is in `shares`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from engine.net.shares import MemoryLimits
from engine.protocol.frames import FrameLimits


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    frames: FrameLimits = field(default_factory=FrameLimits)
    first_frame_s: float = 10.0
    frame_s: float = 30.0
    idle_s: float = 120.0
    slow_reader_s: float = 60.0
    pauses_reading: bool = True
    write_high_bytes: int = 4 * 1024 * 1024
    write_low_bytes: int = 1024 * 1024
    max_connections: int = 65_536
    max_connections_per_ip: int = 65_536
    backlog: int = 1024
    memory: MemoryLimits = field(default_factory=MemoryLimits)


@dataclass(slots=True)
class ConnectionTimes:
    """When a connection last did what; `overdue` decides whether it has to go."""

    opened_at: float
    last_activity_at: float
    frame_begun_at: float | None = None
    write_paused_at: float | None = None
    has_spoken: bool = False

    def overdue(self, now: float, limits: ConnectionLimits) -> str | None:
        if not self.has_spoken and now - self.opened_at > limits.first_frame_s:
            return f"no frame within {limits.first_frame_s:g} s"
        if self.frame_begun_at is not None and now - self.frame_begun_at > limits.frame_s:
            return f"a frame took longer than {limits.frame_s:g} s"
        if self.write_paused_at is not None and now - self.write_paused_at > limits.slow_reader_s:
            return f"the peer did not read for {limits.slow_reader_s:g} s"
        if now - self.last_activity_at > limits.idle_s:
            return f"idle for {limits.idle_s:g} s"
        return None


class LoopLag:
    """How late the event loop runs: a tick that should come every `interval_s` tells by how much it is late.

    What was read in the turn of a late tick may have waited in its socket for as long as that. A turn later
    the sockets have been looked at, and what they hold then came after the long step: the lag is over. So it
    is for a socket that is read again within the turn, as busy ones are.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, interval_s: float = 0.05) -> None:
        self._loop = loop
        self._interval_s = interval_s
        self._due_at = 0.0
        self._handle: asyncio.TimerHandle | None = None
        self._turn_ms = 0.0
        self.lag_ms = 0.0
        """Of the last tick, for people to look at."""

    def start(self) -> None:
        self._due_at = self._loop.time() + self._interval_s
        self._handle = self._loop.call_at(self._due_at, self._tick)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _tick(self) -> None:
        self.lag_ms = self._turn_ms = max(0.0, (self._loop.time() - self._due_at) * 1000.0)
        self.start()
        # The first step comes before this turn's reads, the second behind them.
        self._loop.call_soon(self._loop.call_soon, self._end_turn, self._due_at)

    def _end_turn(self, due_at: float) -> None:
        """Unless the turn was so long that the next tick has come already."""
        if due_at == self._due_at:
            self._turn_ms = 0.0

    def delay_ms(self, read_at: float, last_read_at: float = 0.0) -> float:
        """How long a request read at `read_at` has waited by now: in its socket (the lag, but no longer than
        since that socket was read before) and since."""
        lag_ms = (read_at - self._due_at) * 1000.0
        if lag_ms < self._turn_ms:
            lag_ms = self._turn_ms
        since_ms = (read_at - last_read_at) * 1000.0
        if lag_ms > since_ms:
            lag_ms = since_ms
        return lag_ms + (self._loop.time() - read_at) * 1000.0

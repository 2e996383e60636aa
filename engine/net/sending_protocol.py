"""The sending half of a connection: frames wait in an outbox until the peer takes them.

All frames of one turn of the loop leave in one write. As soon as the peer takes no more, what follows stays
in the outbox and everything is counted in the budget (`outgo`); a server then neither reads nor serves the
peer until all of it is sent. The transport keeps a write as a whole until its last byte is gone, so of a
large one any rest counts; a few kilobytes of small ones are the connection's own. `_pauses` says why it is
not read. Loop thread only.
"""

from __future__ import annotations

import asyncio
from typing import cast

from engine.net.budget import Peer
from engine.net.flow import ConnectionLimits, ConnectionTimes
from engine.net.shares import OWN_BYTES, Shares

FLUSH_BYTES = 256 * 1024
"""Answers of one read leave in pieces of about this size."""
_READ_BYTES = 64 * 1024
"""A peer that has taken so much more of what waits for it counts as one that reads."""

# Why a connection is not read, one bit each.
SENDING = 1  # the peer does not take what we send
SERVING = 2  # requests of earlier reads wait to be served
MEMORY = 4  # the next frame is large, and waits for its place
WAITING = 8  # too many of its requests wait for something already
FRAME = 16  # a large frame was just completed: its message is dispatched before the peer is read again
STOPS = SENDING | WAITING
"""While one of these is set, its requests are not served either."""


class SendingProtocol(asyncio.BufferedProtocol):
    # A dict of so many attributes would take a kilobyte and a half of each of 10,000 connections.
    __slots__ = (
        "_given_remote",
        "_is_flush_scheduled",
        "_is_reading",
        "_left_bytes",
        "_limits",
        "_loop",
        "_outbox",
        "_outbox_bytes",
        "_own_bytes",
        "_pauses",
        "_shares",
        "_transport",
        "_unsent_bytes",
        "is_closed",
        "is_encrypted",
        "is_verified",
        "local",
        "remote",
        "times",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        limits: ConnectionLimits,
        remote: tuple[str, int] | None,
        shares: Shares | None,
    ) -> None:
        self._loop = loop
        self._limits = limits
        self._given_remote = remote
        self._shares = shares
        self._own_bytes = OWN_BYTES if shares is None else shares.own_bytes
        self._transport: asyncio.Transport | None = None
        self._outbox: list[bytes] = []
        self._outbox_bytes = 0
        self._unsent_bytes = 0
        """Given to the transport and not yet sent, as long as it takes no more."""
        self._left_bytes = 0
        """Of those, when it was looked at last."""
        self._pauses = 0
        self._is_reading = False
        self._is_flush_scheduled = False
        now = loop.time()
        self.times = ConnectionTimes(opened_at=now, last_activity_at=now)
        self.remote: tuple[str, int] = ("", 0)
        self.local: tuple[str, int] = ("", 0)
        self.is_encrypted = False
        self.is_closed = False
        self.is_verified = False
        """Whether a request of this connection carried a signature that is right."""

    # -- asyncio calls these --------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._shares is not None:
            self._transport.set_write_buffer_limits(self._own_bytes, 0)
        else:
            limits = self._limits
            self._transport.set_write_buffer_limits(limits.write_high_bytes, limits.write_low_bytes)
        self.remote = self._given_remote or _address(transport.get_extra_info("peername"))
        self.is_encrypted = transport.get_extra_info("ssl_object") is not None
        self.local = _address(transport.get_extra_info("sockname"))

    def pause_writing(self) -> None:
        self.times.write_paused_at = self._loop.time()
        if self._shares is not None:
            self._pause(SENDING)

    def resume_writing(self) -> None:
        self.times.write_paused_at = None
        if self._shares is None or self.is_closed:
            return
        outgo = self._shares.outgo
        self._pauses &= ~SENDING
        outgo.sent(self, self._unsent_bytes)
        self._unsent_bytes = 0
        while self._outbox:
            piece = self._next_piece()
            self._write(piece)
            if self._pauses & SENDING:
                self._unsent_bytes = len(piece)
                return
            outgo.sent(self, len(piece))
        self._go_on()

    # -- we call these --------------------------------------------------------------------------------------

    @property
    def peer_name(self) -> str:
        return f"{self.remote[0]}:{self.remote[1]}"

    @property
    def peer(self) -> Peer:
        return self.remote[0], self.is_verified

    @property
    def is_writable(self) -> bool:
        """Whether a little more may be sent to it, although some of what was sent may still wait."""
        if self.is_closed:
            return False
        if self._shares is None:
            return self.times.write_paused_at is None
        return self._unsent_bytes + self._outbox_bytes < self._limits.write_high_bytes

    @property
    def is_clogged(self) -> bool:
        """Whether it does not read what it was sent."""
        return bool(self._pauses & SENDING) and not self.is_closed

    def send(self, frame: bytes) -> None:
        """Queue a frame; all frames of one turn of the loop leave in one write."""
        if self.is_closed:
            return
        self._outbox.append(frame)
        self._outbox_bytes += len(frame)
        if self._pauses & SENDING:
            if self._shares is not None:
                self._shares.outgo.hold(self, len(frame))
        elif not self._is_reading and not self._is_flush_scheduled:
            self._is_flush_scheduled = True
            self._loop.call_soon(self._flush_scheduled)

    def close(self) -> None:
        """Flush what is queued, then close."""
        if self._transport is not None and not self.is_closed:
            if self._outbox:
                self._flush()
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def note_sending(self, now: float) -> None:
        """A peer that reads, however slowly, is not one that does not read."""
        times = self.times
        if self._shares is None or times.write_paused_at is None or self._transport is None:
            return
        left = self._transport.get_write_buffer_size()
        if left > self._left_bytes or self._left_bytes - left >= _READ_BYTES:
            if left < self._left_bytes:
                times.write_paused_at = now
            self._left_bytes = left

    # -- inside ---------------------------------------------------------------------------------------------

    def _flush_scheduled(self) -> None:
        self._is_flush_scheduled = False
        if self._outbox:
            self._flush()

    def _flush(self) -> None:
        if self._pauses & SENDING:
            return  # `resume_writing` goes on with it
        outbox = self._outbox
        data = outbox[0] if len(outbox) == 1 else b"".join(outbox)
        self._outbox = []
        self._outbox_bytes = 0
        self.times.last_activity_at = self._loop.time()
        transport = self._transport
        if transport is None:
            return
        if len(data) <= self._own_bytes:
            transport.write(data)
        else:
            self._write(data)
        if self._pauses & SENDING and self._shares is not None:
            self._unsent_bytes = max(len(data), transport.get_write_buffer_size())
            self._shares.outgo.hold(self, self._unsent_bytes)

    def _write(self, data: bytes) -> None:
        transport = self._transport
        if transport is None:
            return
        if self._shares is None or len(data) <= self._own_bytes or transport.is_closing():
            transport.write(data)
            return
        # The transport keeps all of it until its last byte is sent, so we want to be told if any is left.
        transport.set_write_buffer_limits(0, 0)
        transport.write(data)
        if not transport.is_closing():
            transport.set_write_buffer_limits(self._own_bytes, 0)

    def _next_piece(self) -> bytes:
        """Of what waits to be sent: some frames, or a large one."""
        size = count = 0
        for frame in self._outbox:
            if count and size + len(frame) > FLUSH_BYTES:
                break
            size += len(frame)
            count += 1
        piece = b"".join(self._outbox[:count])
        del self._outbox[:count]
        self._outbox_bytes -= size
        return piece

    def _pause(self, reason: int) -> None:
        if not self._pauses and self._transport is not None:
            self._transport.pause_reading()
        self._pauses |= reason

    def _resume(self, reason: int) -> None:
        self._pauses &= ~reason
        if not self._pauses and self._transport is not None and not self.is_closed:
            self._transport.resume_reading()

    def _go_on(self) -> None:
        """What kept us from serving it is over."""
        self._resume(0)


def _address(name: object) -> tuple[str, int]:
    """Host and port; an IPv4 peer on a dual-stack listener is shown as IPv4 (records hold the short form)."""
    if isinstance(name, tuple) and len(name) >= 2:
        host = str(name[0])
        return host.removeprefix("::ffff:"), int(name[1])
    return "", 0

"""One TCP connection, both directions multiplexed: requests both ways, answers matched by opaque.

A BufferedProtocol whose receive buffer belongs to the loop, shared by all connections (only an unfinished
frame is copied aside), so 10,000 idle connections cost no buffers. Every read is parsed and served in one go
and answered with one write. A server stops reading from a peer that does not take its bytes; a client never
does (two sides that both stopped reading would wait for each other for ever). Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from typing import Protocol, cast

from engine.errors import PeerTimeout, PeerUnreachable, ProtocolError
from engine.net.flow import ConnectionLimits, ConnectionTimes, FirstFrames
from engine.protocol.commands import ONEWAY_FLAG, Command, encode_command
from engine.protocol.frames import FrameParser

log = logging.getLogger(__name__)


class AnswerReceiver(Protocol):
    """What waits for one answer: a future, or something leaner with the same three calls."""

    def done(self) -> bool: ...

    def set_result(self, answer: Command, /) -> None: ...

    def set_exception(self, error: PeerUnreachable, /) -> None: ...


RECEIVE_BUFFER_BYTES = 256 * 1024
Serve = Callable[[Command, "Connection"], None]
_INT32_MAX = 0x7FFFFFFF


class Connection(asyncio.BufferedProtocol):
    """`serve` is called for each request; `request` and `send` talk to the peer."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        buffer: memoryview,
        serve: Serve,
        limits: ConnectionLimits,
        on_closed: Callable[[Connection], None] | None = None,
        remote: tuple[str, int] | None = None,
        first_frames: FirstFrames | None = None,
    ) -> None:
        self._loop = loop
        self._buffer = buffer
        self._serve = serve
        self._limits = limits
        self._on_closed = on_closed
        self._given_remote = remote
        self._first_frames = first_frames
        self._parser = FrameParser(limits.frames)
        self._transport: asyncio.Transport | None = None
        self._outbox: list[bytes] = []
        self._outbox_bytes = 0
        self._deferred: list[Command] = []
        self._is_reading = False
        self._is_flush_scheduled = False
        self._pending: dict[int, AnswerReceiver] = {}
        self._next_opaque = 0
        self._close_callbacks: list[Callable[[Connection], None]] = []
        now = loop.time()
        self.times = ConnectionTimes(opened_at=now, last_activity_at=now)
        self.read_at = self.last_read_at = now
        """When what is being served was read, and when this connection was last read or written before that:
        what a client sends upon our answers has not waited while we made them."""
        self.remote: tuple[str, int] = ("", 0)
        self.local: tuple[str, int] = ("", 0)
        self.is_encrypted = False
        self.is_closed = False
        self.tags: dict[str, object] = {}

    # -- asyncio calls these --------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(self._limits.write_high_bytes, self._limits.write_low_bytes)
        self.remote = self._given_remote or _address(transport.get_extra_info("peername"))
        self.is_encrypted = transport.get_extra_info("ssl_object") is not None
        self.local = _address(transport.get_extra_info("sockname"))

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        times = self.times
        self.last_read_at = times.last_activity_at
        self.read_at = times.last_activity_at = now = self._loop.time()
        try:
            commands = self._parser.receive_data(self._buffer[:nbytes])
        except ProtocolError as error:
            log.info("closing %s:%d: %s", *self.remote, error.text)
            self.close()
            return
        if not self._parser.has_partial_frame:
            times.frame_begun_at = None
        elif commands or times.frame_begun_at is None:
            times.frame_begun_at = now
        if commands:
            if not times.has_spoken:
                self._speak()
            self._receive(commands)
        elif not times.has_spoken and not self._may_hold():
            log.info("closing %s:%d: too much is held for connections without a whole frame", *self.remote)
            self.abort()

    def _speak(self) -> None:
        self.times.has_spoken = True
        if self._first_frames is not None:
            self._first_frames.forget(self)

    def _may_hold(self) -> bool:
        return self._first_frames is None or self._first_frames.may_hold(self, self._parser.partial_bytes)

    def _receive(self, commands: list[Command]) -> None:
        if self._deferred:
            self._deferred += commands
            return
        serve = self._serve
        self._is_reading = True
        try:
            for position, command in enumerate(commands):
                if command.flag & 1:
                    self._resolve(command)
                    continue
                serve(command, self)
                if self._outbox_bytes > self._limits.write_low_bytes:
                    self._flush()
                    if self._must_defer():
                        self._deferred = commands[position + 1 :]
                        return
        finally:
            self._is_reading = False
            if self._outbox:
                self._flush()

    def _must_defer(self) -> bool:
        """One read may hold hundreds of requests for large answers: the rest waits until the peer reads."""
        return self._limits.pauses_reading and self.times.write_paused_at is not None

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self.times.write_paused_at = self._loop.time()
        if self._transport is not None and self._limits.pauses_reading:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self.times.write_paused_at = None
        if self._transport is not None and self._limits.pauses_reading and not self.is_closed:
            self._transport.resume_reading()
            deferred, self._deferred = self._deferred, []
            if deferred:
                self._receive(deferred)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed = True
        self._transport = None
        self._outbox.clear()
        self._deferred.clear()
        if not self.times.has_spoken and self._first_frames is not None:
            self._first_frames.forget(self)
        # An alert says more than a reset does: that our certificate was refused, for example.
        why = f": {exc.reason}" if isinstance(exc, ssl.SSLError) and exc.reason else ""
        pending, self._pending = self._pending, {}
        for future in pending.values():
            if not future.done():
                future.set_exception(PeerUnreachable(f"connection to {self.peer_name} was lost{why}"))
        callbacks, self._close_callbacks = self._close_callbacks, []
        for callback in callbacks:
            callback(self)
        if self._on_closed is not None:
            self._on_closed(self)

    # -- we call these --------------------------------------------------------------------------------------

    @property
    def peer_name(self) -> str:
        return f"{self.remote[0]}:{self.remote[1]}"

    @property
    def is_writable(self) -> bool:
        return not self.is_closed and self.times.write_paused_at is None

    def on_close(self, callback: Callable[[Connection], None]) -> None:
        if self.is_closed:
            callback(self)
        else:
            self._close_callbacks.append(callback)

    def send(self, frame: bytes) -> None:
        """Queue a frame; all frames of one turn of the loop leave in one write."""
        if self.is_closed:
            return
        self._outbox.append(frame)
        self._outbox_bytes += len(frame)
        if not self._is_reading and not self._is_flush_scheduled:
            self._is_flush_scheduled = True
            self._loop.call_soon(self._flush_scheduled)

    def send_oneway(self, command: Command) -> bool:
        """A request that wants no answer. Dropped (False) when the peer is gone or not reading."""
        if not self.is_writable:
            return False
        command.opaque = self.take_opaque()
        command.flag |= ONEWAY_FLAG
        self.send(encode_command(command))
        return True

    def start_request(self, command: Command) -> asyncio.Future[Command]:
        """Send now; the future holds the answer. The caller sets its own deadline."""
        if self.is_closed:
            raise PeerUnreachable(f"connection to {self.peer_name} is closed")
        future: asyncio.Future[Command] = self._loop.create_future()
        command.opaque = self.expect(future)
        self.send(encode_command(command))
        return future

    def expect(self, receiver: AnswerReceiver) -> int:
        """An opaque whose answer goes to `receiver`: for callers that build their frames themselves."""
        opaque = self.take_opaque()
        self._pending[opaque] = receiver
        return opaque

    def forget(self, opaque: int) -> None:
        """Nobody waits for this answer any longer."""
        self._pending.pop(opaque, None)

    async def request(self, command: Command, timeout_ms: float) -> Command:
        future = self.start_request(command)
        try:
            # Not wait_for: before Python 3.12 it swallows a cancellation that comes with the answer.
            async with asyncio.timeout(timeout_ms / 1000.0):
                return await future
        except TimeoutError:
            raise PeerTimeout(f"{self.peer_name} did not answer within {timeout_ms:g} ms") from None
        finally:
            self._pending.pop(command.opaque, None)

    def close(self) -> None:
        """Flush what is queued, then close."""
        if self._transport is not None and not self.is_closed:
            if self._outbox:
                self._flush()
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # -- inside ---------------------------------------------------------------------------------------------

    def _resolve(self, answer: Command) -> None:
        future = self._pending.pop(answer.opaque, None)
        if future is not None and not future.done():
            future.set_result(answer)

    def take_opaque(self) -> int:
        # Never 0: the Node client does not match it.
        self._next_opaque = self._next_opaque % _INT32_MAX + 1
        return self._next_opaque

    def _flush_scheduled(self) -> None:
        self._is_flush_scheduled = False
        if self._outbox:
            self._flush()

    def _flush(self) -> None:
        outbox = self._outbox
        data = outbox[0] if len(outbox) == 1 else b"".join(outbox)
        self._outbox = []
        self._outbox_bytes = 0
        if self._transport is not None:
            self.times.last_activity_at = self._loop.time()
            self._transport.write(data)


def _address(name: object) -> tuple[str, int]:
    """Host and port; an IPv4 peer on a dual-stack listener is shown as IPv4 (records hold the short form)."""
    if isinstance(name, tuple) and len(name) >= 2:
        host = str(name[0])
        return host.removeprefix("::ffff:"), int(name[1])
    return "", 0

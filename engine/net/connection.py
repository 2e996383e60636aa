"""One TCP connection, both directions multiplexed: requests both ways, answers matched by opaque.

How its bytes come and go, and what it may hold, is in `serving_protocol` and `sending_protocol`. Loop thread
only.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Protocol

from engine.errors import PeerTimeout, PeerUnreachable
from engine.net.flow import ConnectionLimits
from engine.net.serving_protocol import ServingProtocol
from engine.net.shares import Shares
from engine.protocol.commands import ONEWAY_FLAG, Command, encode_command


class AnswerReceiver(Protocol):
    """What waits for one answer: a future, or something leaner with the same three calls."""

    def done(self) -> bool: ...

    def set_result(self, answer: Command, /) -> None: ...

    def set_exception(self, error: PeerUnreachable, /) -> None: ...


Serve = Callable[[Command, "Connection"], None]
_INT32_MAX = 0x7FFFFFFF


class Connection(ServingProtocol):
    """`serve` is called for each request; `request` and `send` talk to the peer."""

    __slots__ = (
        "_close_callbacks",
        "_next_opaque",
        "_on_closed",
        "_pending",
        "_serve",
        "tags",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        buffer: memoryview,
        serve: Serve,
        limits: ConnectionLimits,
        on_closed: Callable[[Connection], None] | None = None,
        remote: tuple[str, int] | None = None,
        shares: Shares | None = None,
    ) -> None:
        super().__init__(loop, buffer, limits, remote, shares)
        self._serve = serve
        self._on_closed = on_closed
        self._pending: dict[int, AnswerReceiver] = {}
        self._next_opaque = 0
        self._close_callbacks: list[Callable[[Connection], None]] = []
        self.tags: dict[str, object] = {}

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
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

    def on_close(self, callback: Callable[[Connection], None]) -> None:
        if self.is_closed:
            callback(self)
        else:
            self._close_callbacks.append(callback)

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

    # -- inside ---------------------------------------------------------------------------------------------

    def _take_command(self, command: Command) -> None:
        if not command.flag & 1:
            self._serve(command, self)
            return
        future = self._pending.pop(command.opaque, None)
        if future is not None and not future.done():
            future.set_result(command)

    def take_opaque(self) -> int:
        # Never 0: the Node client does not match it.
        self._next_opaque = self._next_opaque % _INT32_MAX + 1
        return self._next_opaque

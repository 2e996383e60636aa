"""TLS between a socket and a connection: to the socket a protocol, to the connection a transport.

Our own instead of asyncio's because its cost is bounded: ciphertext arrives in a buffer that all streams
share, plaintext leaves in the connection's shared one, and a peer that has not finished its handshake may
send no more than HANDSHAKE_LIMIT_BYTES. The same on asyncio's loop and on uvloop. The protocol above is made
when the handshake has succeeded; until then nothing but OpenSSL sees the peer's bytes. Loop thread only.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Any, cast

from engine.errors import ProtocolError

HANDSHAKE_LIMIT_BYTES = 48 * 1024
"""A chain of certificates takes 2 to 10 KB."""
HELLO_LIMIT_BYTES = 16 * 1024
"""Of the client's first message, 1 KB in practice: OpenSSL makes room for what it announces, up to 128 KB."""

PIECE_BYTES = 16 * 1024
"""A TLS record is no larger."""

_HELLO_PREFIX_BYTES = 9
"""Record: type, version, length (5 bytes); message: type (1), length (3)."""

Opened = Callable[[Exception | None], None]


class TlsStream(asyncio.Transport, asyncio.BufferedProtocol):
    """`opened(None)` once the handshake is done and `make()`'s protocol is connected, `opened(error)` if
    it fails. Exactly one of them is called."""

    def __init__(
        self,
        context: ssl.SSLContext,
        buffer: memoryview,
        make: Callable[[], asyncio.BufferedProtocol],
        opened: Opened,
        *,
        server_name: str | None = None,
    ) -> None:
        super().__init__()
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._is_server = server_name is None
        # A server's context has no name to check; a client's always has.
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_side=self._is_server, server_hostname=server_name
        )
        self._buffer = buffer
        self._make = make
        self._opened: Opened | None = opened
        self._raw: asyncio.Transport | None = None
        self._above: asyncio.BufferedProtocol | None = None
        self._handshake_bytes = 0
        self._prefix = b""
        self._is_closing = False
        self._error: Exception | None = None

    # -- the socket's transport calls these -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._raw = cast(asyncio.Transport, transport)
        if not self._is_server:
            self._shake_hands()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_closing:
            return
        if self._above is None:
            if self._is_server and self._has_large_hello(self._buffer[:nbytes]):
                self._fail(ProtocolError(f"a TLS hello of more than {HELLO_LIMIT_BYTES} bytes"))
                return
            self._incoming.write(self._buffer[:nbytes])
            self._handshake_bytes += nbytes
            self._shake_hands()
            if self._above is not None:
                self._deliver(self._above)
            return
        # In pieces: OpenSSL's buffers keep the size that they once grew to.
        for start in range(0, nbytes, PIECE_BYTES):
            if self._is_closing:
                return
            self._incoming.write(self._buffer[start : min(start + PIECE_BYTES, nbytes)])
            self._deliver(self._above)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closing = True
        self._raw = None
        error = self._error or exc
        if self._above is not None:
            self._above.connection_lost(error)
        self._tell_opened(error or ConnectionResetError("the peer closed during the TLS handshake"))

    def pause_writing(self) -> None:
        if self._above is not None:
            self._above.pause_writing()

    def resume_writing(self) -> None:
        if self._above is not None:
            self._above.resume_writing()

    # -- the protocol above calls these ---------------------------------------------------------------------

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "ssl_object":
            return self._tls
        return self._raw.get_extra_info(name, default) if self._raw is not None else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if self._raw is not None:
            self._raw.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        return 0 if self._raw is None else self._raw.get_write_buffer_size()

    def pause_reading(self) -> None:
        if self._raw is not None:
            self._raw.pause_reading()

    def resume_reading(self) -> None:
        if self._raw is not None:
            self._raw.resume_reading()

    def is_closing(self) -> bool:
        return self._is_closing

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._is_closing:
            return
        view, sealed = memoryview(data), []
        try:
            for start in range(0, len(view), PIECE_BYTES):
                self._tls.write(view[start : start + PIECE_BYTES])
                sealed.append(self._outgoing.read())
        except ssl.SSLError as error:
            self._fail(error)
        else:
            if self._raw is not None:
                self._raw.write(sealed[0] if len(sealed) == 1 else b"".join(sealed))

    def close(self) -> None:
        """Say goodbye, then close; the peer's own goodbye is not waited for."""
        if self._is_closing:
            return
        self._is_closing = True
        if self._above is not None:
            with contextlib.suppress(ssl.SSLError):
                self._tls.unwrap()
            self._pass_on()
        if self._raw is not None:
            self._raw.close()

    def abort(self) -> None:
        self._is_closing = True
        if self._raw is not None:
            self._raw.abort()

    # -- inside ---------------------------------------------------------------------------------------------

    def _has_large_hello(self, piece: memoryview) -> bool:
        missing = _HELLO_PREFIX_BYTES - len(self._prefix)
        if missing > 0:
            self._prefix += piece[:missing]
        return int.from_bytes(self._prefix[6:_HELLO_PREFIX_BYTES]) > HELLO_LIMIT_BYTES

    def _shake_hands(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._pass_on()
            if self._handshake_bytes > HANDSHAKE_LIMIT_BYTES:
                self._fail(ProtocolError(f"a TLS handshake of more than {HANDSHAKE_LIMIT_BYTES} bytes"))
        except ssl.SSLError as error:
            # The alert that tells the peer why lies in the outgoing buffer.
            self._pass_on()
            self._fail(error)
        else:
            self._pass_on()
            self._above = self._make()
            self._above.connection_made(self)
            self._tell_opened(None)

    def _deliver(self, above: asyncio.BufferedProtocol) -> None:
        while not self._is_closing and (self._incoming.pending or self._tls.pending()):
            filled, error = self._decrypt(cast(memoryview, above.get_buffer(-1)))
            if self._outgoing.pending:
                self._pass_on()
            if filled:
                above.buffer_updated(filled)
            if isinstance(error, ssl.SSLWantReadError):
                return
            if error is not None:
                self._fail(error)

    def _decrypt(self, room: memoryview) -> tuple[int, ssl.SSLError | None]:
        """A record is 16 KB at most: as many as there are go up at once."""
        filled = 0
        try:
            while filled < len(room) and (self._incoming.pending or self._tls.pending()):
                # `read` fills the buffer and gives a count, whatever its annotation says.
                count = cast(int, self._tls.read(len(room) - filled, room[filled:]))
                if not count:
                    return filled, ssl.SSLZeroReturnError()
                filled += count
        except ssl.SSLError as error:
            return filled, error
        return filled, None

    def _pass_on(self) -> None:
        if self._raw is not None and self._outgoing.pending:
            self._raw.write(self._outgoing.read())

    def _fail(self, error: Exception) -> None:
        """A goodbye is no failure."""
        if self._is_closing:
            return
        if not isinstance(error, ssl.SSLZeroReturnError):
            self._error = error
        self._is_closing = True
        if self._raw is not None:
            self._raw.close()

    def _tell_opened(self, error: Exception | None) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened(error)


def explained(error: Exception) -> str:
    """What went wrong, in the words of the certificate's check where there are any."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate was refused: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    return str(error) or type(error).__name__

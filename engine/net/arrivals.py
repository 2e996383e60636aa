"""What a connection is before anybody knows what it speaks: a socket, its address, how long it has waited.

The first byte decides between plain frames and TLS, and the byte is only looked at, so whoever is chosen
reads it again. Where proxies are trusted, the PROXY header before it is taken off first, byte for byte, and
names the address that counts from then on. Values and one reader of sockets; the server owns the rest.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from enum import Enum

from engine.errors import ProtocolError
from engine.net.connection import Serve
from engine.net.proxy_header import FIRST_BYTES, MAX_HEADER_BYTES, ProxyHeader

_GONE = (OSError, ProtocolError)


class Look(Enum):
    """What a look at a socket found, other than a byte."""

    NOTHING_YET = 1
    GONE = 2


@dataclass(slots=True, eq=False)
class Arrival:
    sock: socket.socket
    ip: str
    """The address that its connections are counted under."""
    serve: Serve
    since: float
    is_proxy: bool = False
    remote: tuple[str, int] | None = None
    """Whom a trusted proxy speaks for."""
    _header: ProxyHeader = field(default_factory=ProxyHeader)

    def first_byte(self) -> int | Look:
        try:
            return self._proxied_byte() if self.is_proxy else self._peek_one()
        except (BlockingIOError, InterruptedError):
            return Look.NOTHING_YET
        except _GONE:
            return Look.GONE

    def _peek_one(self) -> int | Look:
        first = self.sock.recv(1, socket.MSG_PEEK)
        return first[0] if first else Look.GONE

    def _proxied_byte(self) -> int | Look:
        if not self._header.is_begun and (first := self._peek_one()) not in FIRST_BYTES:
            # A health check, or a proxy that is set to pass addresses on for some of its clients only.
            self.is_proxy = False
            return first
        while not self._header.is_complete:
            seen = self.sock.recv(MAX_HEADER_BYTES, socket.MSG_PEEK)
            if not seen:
                return Look.GONE
            self.sock.recv(self._header.feed(seen))
        self.is_proxy = False
        self.remote = self._header.source
        return self._peek_one()

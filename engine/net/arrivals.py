"""What a connection is before its protocol is known: a socket, its address, how long it has waited.

The first byte decides between plain frames and TLS. It is only looked at: whoever is chosen reads it again.
Where the operator lists trusted proxies (`10.0.0.0/8,192.168.1.7`), the PROXY header before it is taken off
first, byte for byte, and names the address that counts from then on. Only listed peers may send one, because
access rules look at that address.

    v1  "PROXY TCP4 source destination port port\\r\\n" in at most 107 bytes, or "PROXY UNKNOWN …"
    v2  12 bytes signature | 0x2 version, 0x0 LOCAL or 0x1 PROXY | family << 4 | transport | uint16 length
        then `length` bytes: addresses and ports (IPv4 12 bytes, IPv6 36), then TLVs, which are not looked at

`ProxyHeader.feed` says how many of the bytes seen belong to the header: what follows it stays in the socket.
Values and one reader of sockets; the server owns the rest.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, field
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from engine.errors import BadInput, ProtocolError
from engine.net.connection import Serve

Networks = tuple[IPv4Network | IPv6Network, ...]


def parse_networks(text: str) -> Networks:
    try:
        return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise BadInput(f"{text:.200} is no list of addresses and networks: {error}") from None


def is_among(ip: str, networks: Networks) -> bool:
    """An IPv4 peer of a dual-stack listener counts as IPv4."""
    address = ip_address(ip.removeprefix("::ffff:").partition("%")[0])
    return any(address.version == network.version and address in network for network in networks)


FIRST_BYTES = (0x50, 0x0D)
SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
MAX_HEADER_BYTES = 4096
"""TLVs included; what proxies send is a few hundred at most."""

_V1_START = b"PROXY "
_V1_MAX_BYTES = 107
_V2_PREFIX = struct.Struct(">12sBBH")
_IPV4 = struct.Struct(">4s4sHH")
_IPV6 = struct.Struct(">16s16sHH")
_TCP4, _TCP6 = 0x11, 0x21


class ProxyHeader:
    """`feed` until `is_complete`; `source` is None when the proxy speaks for itself or does not know."""

    def __init__(self) -> None:
        self._data = bytearray()
        self.is_complete = False
        self.source: tuple[str, int] | None = None

    @property
    def is_begun(self) -> bool:
        return bool(self._data)

    def feed(self, seen: bytes) -> int:
        held = len(self._data)
        data = bytes(self._data) + seen
        end = _end_v2(data) if data[:1] == SIGNATURE[:1] else _end_v1(data)
        if end is None:
            self._data += seen
            return len(seen)
        header = data[:end]
        self.source = _source_v2(header) if header[:1] == SIGNATURE[:1] else _source_v1(header)
        self.is_complete = True
        return end - held


def _end_v1(data: bytes) -> int | None:
    if not _V1_START.startswith(data[: len(_V1_START)]):
        raise ProtocolError("not a PROXY header")
    end = data.find(b"\r\n", 0, _V1_MAX_BYTES)
    if end < 0 and len(data) >= _V1_MAX_BYTES:
        raise ProtocolError("a PROXY header without an end")
    return None if end < 0 else end + 2


def _source_v1(header: bytes) -> tuple[str, int] | None:
    words = header[:-2].split(b" ")
    if words[1:2] == [b"UNKNOWN"]:
        return None
    if len(words) != 6 or words[1] not in (b"TCP4", b"TCP6"):
        raise ProtocolError("a PROXY header that cannot be read")
    try:
        source = ip_address(words[2].decode("ascii"))
        ip_address(words[3].decode("ascii"))
    except ValueError:
        raise ProtocolError("a PROXY header with a bad address") from None
    if source.version != (4 if words[1] == b"TCP4" else 6):
        raise ProtocolError("a PROXY header whose address is of another family")
    _port_v1(words[5])
    return str(source), _port_v1(words[4])


def _port_v1(word: bytes) -> int:
    if not word.isdigit() or len(word) > 5 or int(word) > 0xFFFF:
        raise ProtocolError("a PROXY header with a bad port")
    return int(word)


def _end_v2(data: bytes) -> int | None:
    if not SIGNATURE.startswith(data[: len(SIGNATURE)]):
        raise ProtocolError("not a PROXY header")
    if len(data) < _V2_PREFIX.size:
        return None
    end = _V2_PREFIX.size + int(_V2_PREFIX.unpack_from(data)[3])
    if end > MAX_HEADER_BYTES:
        raise ProtocolError(f"a PROXY header of {end} bytes")
    return end if len(data) >= end else None


def _source_v2(header: bytes) -> tuple[str, int] | None:
    _, version_command, family, length = _V2_PREFIX.unpack_from(header)
    if version_command == 0x20:
        return None
    if version_command != 0x21:
        raise ProtocolError("a PROXY header of an unknown version or command")
    layout = {_TCP4: _IPV4, _TCP6: _IPV6}.get(family)
    if layout is None:
        return None
    if length < layout.size:
        raise ProtocolError("a PROXY header that is too short for its addresses")
    raw, _, port, _ = layout.unpack_from(header, _V2_PREFIX.size)
    source = IPv4Address(raw) if layout is _IPV4 else IPv6Address(raw)
    return str(source), int(port)


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

"""The PROXY protocol's header, versions 1 and 2: whom a proxy speaks for. Bytes to a value; no sockets.

    v1  "PROXY TCP4 source destination port port\\r\\n" in at most 107 bytes, or "PROXY UNKNOWN …"
    v2  12 bytes signature | 0x2 version, 0x0 LOCAL or 0x1 PROXY | family << 4 | transport | uint16 length
        then `length` bytes: addresses and ports (IPv4 12 bytes, IPv6 36), then TLVs, which are not looked at

A header rewrites the address that access rules look at, so only peers that the operator named may send one.
`feed` says how many of the bytes seen belong to the header: what follows it stays in the socket.
"""

from __future__ import annotations

import struct
from ipaddress import IPv4Address, IPv6Address, ip_address

from engine.errors import ProtocolError

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

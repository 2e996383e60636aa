"""Addresses inside records and message ids: 4 or 16 address bytes and an int32 port.

    IPv4   address 4 · port 4      8 bytes
    IPv6   address 16 · port 4    20 bytes     (the record's sysFlag says which)

An IPv4 address that a dual-stack listener shows as ::ffff:a.b.c.d is packed as IPv4, because older clients
cannot read the long form.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from struct import Struct

from engine.errors import BadInput

Host = tuple[str, int]

V4_SIZE = 8
V6_SIZE = 20
_PORT = Struct(">i")


@lru_cache(maxsize=4096)
def pack_address(ip: str) -> bytes:
    """The 4 or 16 bytes of a numeric address."""
    try:
        address: IPv4Address | IPv6Address = ip_address(ip)
    except ValueError:
        raise BadInput(f"not a numeric IP address: {ip!r}") from None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.packed


@lru_cache(maxsize=4096)
def pack_host(host: Host) -> bytes:
    """The 8 or 20 bytes of an address and port. Cached: a broker sees few peers and many messages of each."""
    ip, port = host
    if not 0 <= port <= 0xFFFF:
        raise BadInput(f"not a port: {port}")
    return pack_address(ip) + _PORT.pack(port)


@lru_cache(maxsize=4096)
def unpack_host(packed: bytes) -> Host:
    """Address text and port. The port is not checked: a damaged one must not hide the rest of a record."""
    if len(packed) not in (V4_SIZE, V6_SIZE):
        raise BadInput(f"a packed host has {V4_SIZE} or {V6_SIZE} bytes, not {len(packed)}")
    return str(ip_address(packed[:-4])), _PORT.unpack(packed[-4:])[0]


def joined(host: str, port: int) -> str:
    """host:port, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

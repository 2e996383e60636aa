"""Which addresses the console may dial: those that were registered, where a broker can be.

A broker's address is learnt from routes and message ids, which anybody who reaches a name server can forge:
only those that belong to the cluster are dialled. Of a name, all addresses are looked up once, all must be
allowed, and the one that was checked is dialled. Every refusal has the same text, so that nobody can use the
console to look around.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Collection

from django.conf import settings

from engine.errors import PeerUnreachable
from engine.net.requester import Resolve

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def resolver(allowed: Collection[str]) -> Resolve:
    """For a client of one cluster: `allowed` are its name servers and brokers."""

    async def resolve(host: str, port: int) -> str:
        if _join(host, port) not in allowed:
            raise refused(host, port)
        return await checked_ip(host, port)

    return resolve


async def checked_ip(host: str, port: int) -> str:
    """An address that may be dialled. Registered brokers may well be on loopback or in private networks."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise refused(host, port) from None
    addresses = [ipaddress.ip_address(info[4][0]) for info in found]
    if not addresses or not all(map(may_dial, addresses)):
        raise refused(host, port)
    return str(addresses[0])


def may_dial(address: IpAddress, networks: Collection[str] | None = None) -> bool:
    """Never what no broker can have: link-local (clouds' metadata), multicast, unspecified."""
    listed = settings.DIAL_NETWORKS if networks is None else networks
    plain = getattr(address, "ipv4_mapped", None) or address
    if any(plain in ipaddress.ip_network(network) for network in listed):
        return True
    if plain is not address:
        return False
    return not (plain.is_link_local or plain.is_multicast or plain.is_unspecified or plain.is_reserved)


def may_dial_outside(address: IpAddress, networks: Collection[str] | None = None) -> bool:
    """For webhooks: what somebody typed, so neither this machine nor its private networks unless listed."""
    listed = settings.DIAL_NETWORKS if networks is None else networks
    if any(address in ipaddress.ip_network(network) for network in listed):
        return True
    return address.is_global and may_dial(address, listed)


def refused(host: str, port: int) -> PeerUnreachable:
    return PeerUnreachable(f"{_join(host, port)} cannot be reached")


def _join(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

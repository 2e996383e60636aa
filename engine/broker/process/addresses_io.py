"""Where the broker listens and what address it tells the world.

bindAddress and brokerIP1 are honoured; with neither, both are loopback, because a broker must not be
reachable from elsewhere by accident. The VIP port is two below the main one, where Java clients look for it;
when the system chooses the main port there is none.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from ipaddress import ip_address

from engine.errors import BadInput

LOOPBACK = "127.0.0.1"
_WILDCARDS = ("0.0.0.0", "::")
VIP_DISTANCE = 2


@dataclass(frozen=True, slots=True)
class Addresses:
    bind_host: str
    advertised_host: str


def choose_addresses(bind_address: str, broker_ip: str) -> Addresses:
    advertised = _resolve(broker_ip) if broker_ip else ""
    if not bind_address:
        # An advertised address may belong to a translating router, so it says nothing about what to bind.
        is_private = not advertised or ip_address(advertised).is_loopback
        return Addresses(advertised or LOOPBACK, LOOPBACK) if is_private else Addresses("0.0.0.0", advertised)
    if not advertised:
        advertised = _own_address() if bind_address in _WILDCARDS else _resolve(bind_address)
    return Addresses(bind_address, advertised)


def _resolve(host: str) -> str:
    """The numeric address: records and message ids hold nothing else."""
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise BadInput(f"brokerIP1 or bindAddress {host!r} cannot be resolved: {error}") from None


def _own_address() -> str:
    """The address that this machine would use towards the outside; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return LOOPBACK


def bind(host: str, port: int) -> socket.socket:
    """A bound socket that does not listen yet: a port in use is found out before the store is opened."""
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise BadInput(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    sock.setblocking(False)
    return sock

"""Where the broker listens, and the addresses that it advertises.

bindAddress and brokerIP1 are honoured; with neither, both are loopback, because a broker must not be
reachable from elsewhere by accident. The VIP port is two below the main one, where Java clients look for it;
when the system chooses the main port there is none. The HA port is there for members of a broker group.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from ipaddress import ip_address

from engine.broker.settings.options import BrokerOptions
from engine.errors import BadInput
from engine.protocol.hosts import Host, joined

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
        # An advertised address may belong to a NAT router, so it does not decide what to bind.
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
    """The address that this machine uses for outgoing connections; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return LOOPBACK


@dataclass(frozen=True, slots=True)
class Ports:
    """Bound sockets: the main port, perhaps the VIP port, perhaps the HA port."""

    listeners: tuple[socket.socket, ...]
    ha: socket.socket | None
    address: Host
    """Where the broker can be reached, under the advertised host."""
    ha_address: str | None

    def close(self) -> None:
        for sock in (*self.listeners, self.ha):
            if sock is not None:
                sock.close()


def bind_ports(options: BrokerOptions, *, has_ha: bool) -> Ports:
    """Nothing listens yet: a port in use is found out before the store is opened."""
    chosen = choose_addresses(options.bind_address, options.broker_ip1)
    bound: list[socket.socket] = []

    def bind(port: int) -> int:
        bound.append(_bind(chosen.bind_host, port))
        return int(bound[-1].getsockname()[1])

    try:
        port = bind(options.listen_port)
        if options.listen_port > VIP_DISTANCE:
            bind(options.listen_port - VIP_DISTANCE)
        host = chosen.advertised_host
        if not has_ha:
            return Ports(tuple(bound), None, (host, port), None)
        ha_port = bind(options.ha_listen_port or (port + 1 if options.listen_port else 0))
    except BadInput:
        for sock in bound:
            sock.close()
        raise
    return Ports(tuple(bound[:-1]), bound[-1], (host, port), joined(options.broker_ip2 or host, ha_port))


def _bind(host: str, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise BadInput(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    sock.setblocking(False)
    return sock

"""Ports of engine processes, from the ranges of their host.

A broker has a block of five, from its first port p on:

    p       VIP port (listenPort - 2), where Java clients look for it
    p + 1   metrics (Prometheus), on loopback
    p + 2   listenPort
    p + 3   HA port (listenPort + 1), where slaves connect
    p + 4   free

A name server has one. What is taken in the database is skipped when rows are made; what somebody else listens
on is skipped on the host, before anything is written (kinds/ports).
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Collection

from console.core.problems import Problem

BLOCK = 5
VIP_DISTANCE = 2
METRICS_DISTANCE = 1
HA_DISTANCE = 1


def broker_ports(listen_port: int) -> tuple[int, ...]:
    """Those that a broker opens."""
    return (
        listen_port,
        listen_port - VIP_DISTANCE,
        listen_port - METRICS_DISTANCE,
        listen_port + HA_DISTANCE,
    )


def pick_broker_port(
    low: int, high: int, taken: Collection[int], is_free: Callable[[int], bool] = lambda port: True
) -> int:
    """A listenPort whose whole block is free. `taken` are the listenPorts of others on the host."""
    used = {port for listen in taken for port in broker_ports(listen)}
    for start in range(low, high - BLOCK + 2, BLOCK):
        ports = broker_ports(start + VIP_DISTANCE)
        if not used & set(ports) and all(map(is_free, ports)):
            return start + VIP_DISTANCE
    raise no_ports("broker", low, high)


def pick_name_server_port(
    low: int, high: int, taken: Collection[int], is_free: Callable[[int], bool] = lambda port: True
) -> int:
    for port in range(low, high + 1):
        if port not in taken and is_free(port):
            return port
    raise no_ports("name server", low, high)


def no_ports(what: str, low: int, high: int) -> Problem:
    return Problem("no_ports", f"no port for a {what} is free between {low} and {high}", 409, field="hosts")


def is_free(address: str, port: int) -> bool:
    """Whether it can be bound now. A port that is only in TIME_WAIT is free."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with contextlib.closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True

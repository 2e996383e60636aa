"""Ports for servers that must know theirs before they start, or keep it from one start to the next.

They lie below those that the kernel gives to outgoing connections, so that none is taken while its server is
down. Each worker of a parallel run draws from a part of its own, and no port twice.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket

_FIRST, _BEHIND_LAST = 10_000, 32_000
_drawn: set[int] = set()


def free_port(*distances: int) -> int:
    """A port that is free now, as are those at these distances from it (−2 is a broker's VIP port)."""
    for _ in range(1_000):
        port = random.choice(_own_part())
        wanted = [port, *(port + distance for distance in distances)]
        if _drawn.isdisjoint(wanted) and _are_free(wanted):
            _drawn.update(wanted)
            return port
    raise RuntimeError("no free ports")


def free_ports(count: int) -> list[int]:
    return [free_port() for _ in range(count)]


def _own_part() -> range:
    """Of the workers gw0, gw1, …; all of them without workers."""
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    width = (_BEHIND_LAST - _FIRST) // count
    return range(_FIRST + number * width, _FIRST + (number + 1) * width)


def _are_free(ports: list[int]) -> bool:
    with contextlib.ExitStack() as held:
        try:
            for port in ports:
                held.enter_context(socket.socket()).bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

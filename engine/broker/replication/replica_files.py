"""State that RocketMQ's slaves do not ask for, by name, as bytes: what our master answers 30020 with.

Whoever has a table that must survive a promotion adds a `ReplicaFile` under its file's name: `take` copies
what the master has, `adopt` puts it in place on a slave and saves it. Both run on the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.pop.orders import ORDER_FILE, OrderInfoWrapper, OrderTable


@dataclass(frozen=True, slots=True)
class ReplicaFile:
    take: Callable[[], bytes]
    adopt: Callable[[bytes], None]


ReplicaFiles = dict[str, ReplicaFile]


def order_file(orders: OrderTable, save: Callable[[str], None]) -> ReplicaFile:
    """How far groups have popped in order."""

    def adopt(data: bytes) -> None:
        if orders.adopt(OrderInfoWrapper.decode(data)):
            save(ORDER_FILE)

    return ReplicaFile(lambda: orders.wrapper().encode(), adopt)

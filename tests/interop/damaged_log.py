"""A broker whose old segment got one wrong bit in the body of a message while it was stopped."""

from __future__ import annotations

import asyncio
from pathlib import Path

from engine.client import Message, Producer

from .clusters import Cluster

SEGMENT_BYTES = 16 << 20
BODY_AT = 88


def damage(cluster: Cluster, commit_log_offset: int) -> None:
    """The message there; the broker runs again afterwards."""
    asyncio.run(_fill(cluster))
    assert cluster.stop_broker() == 0
    flip(cluster.store, commit_log_offset + BODY_AT)
    cluster.start_broker()


async def _fill(cluster: Cluster) -> None:
    """So much behind it that a start does not look at it."""
    async with Producer("filler", namesrv=cluster.name_server) as producer:
        for _ in range(18):
            await producer.send(Message("filler", bytes(1 << 20)))


def flip(store: Path, commit_log_offset: int) -> None:
    base = commit_log_offset // SEGMENT_BYTES * SEGMENT_BYTES
    with open(store / "commitlog" / f"{base:020d}", "r+b") as file:
        file.seek(commit_log_offset - base)
        byte = file.read(1)[0]
        file.seek(commit_log_offset - base)
        file.write(bytes([byte ^ 1]))

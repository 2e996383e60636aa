"""A real broker in this process, on a port that the system chose, over a store in a temporary folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.engine.broker.peers import Peer, RunningBroker

StartBroker = Callable[..., Awaitable[RunningBroker]]


@pytest.fixture
async def start_broker(tmp_path: Path) -> AsyncIterator[StartBroker]:
    """`await start_broker(flushDiskType="SYNC_FLUSH", …)`: a broker on the same store each time."""
    running: list[RunningBroker] = []

    async def start(**settings: str) -> RunningBroker:
        broker = await RunningBroker.start(tmp_path / "store", settings)
        running.append(broker)
        return broker

    yield start
    for broker in running:
        await broker.stop()


@pytest.fixture
async def broker(start_broker: StartBroker) -> RunningBroker:
    return await start_broker()


@pytest.fixture
async def peer(broker: RunningBroker) -> AsyncIterator[Peer]:
    peer = Peer(broker.address)
    yield peer
    await peer.close()

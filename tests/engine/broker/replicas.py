"""A master and its slaves in one process; the log is copied by hand, as a stream would."""

from __future__ import annotations

import asyncio

from engine.broker.process.broker import Broker
from tests.engine.broker.peers import RunningBroker


def copy_log(source: RunningBroker, target: RunningBroker, until: int | None = None) -> None:
    """What the target lacks of the source's log."""
    read = source.inner.core.store._commit_log.read
    store = target.inner.core.store
    end = source.inner.core.store.log.max_offset if until is None else until
    while store.log.max_offset < end:
        at = store.log.max_offset
        chunk = bytes(read(at, min(32_768, end - at)))
        assert chunk
        assert store.replica.append(chunk, at)
    target.inner.core.log_events.appended()


async def dispatched(broker: Broker) -> None:
    async with asyncio.timeout(5):
        while broker.core.store.queues.has_undispatched():
            await asyncio.sleep(0.005)

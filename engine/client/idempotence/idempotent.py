"""Consuming at most once what is delivered at least once: a listener that remembers what it has done.

Each message has a key (its first business key, else its id). Before the listener runs, the key is *claimed*;
when it has succeeded, the key is *done*. A key that is done is skipped; one that somebody else has claimed is
left for later. A claim ends by itself after the lease: when a consumer dies between claim and done, the
message is delivered again and the next claim succeeds. So the work is done at least once always, and exactly
once unless a process dies (or a lease ends) in the middle of the listener: what the listener does to the
outside should then be part of the same transaction, or harmless to repeat. The lease must outlast the longest
call.
"""

from __future__ import annotations

import asyncio
import inspect
import time
import uuid
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Protocol

from engine.client.consuming.listeners import ConsumeStatus, Listener
from engine.client.messages import ReceivedMessage

LEASE_MS = 5 * 60 * 1000
KEEP_MS = 3 * 24 * 60 * 60 * 1000


class Claim(Enum):
    TAKEN = "TAKEN"
    """The key is yours until the lease ends."""
    DONE = "DONE"
    BUSY = "BUSY"


class DedupStore(Protocol):
    """Where keys are kept. Shared by all consumers of a group; `dedup_stores` has two."""

    async def claim(self, key: str, owner: str, now_ms: int, lease_ms: int) -> Claim:
        """Atomic: of all who claim a key at once, one gets it."""

    async def finish(self, key: str, now_ms: int, keep_ms: int) -> None:
        """The work is done; remember it for so long."""

    async def release(self, key: str, owner: str) -> None:
        """The work failed: whoever comes next may claim the key, if it is still this owner's."""


def first_key(message: ReceivedMessage) -> str:
    """The message's first business key, else its id, which stays the same through retries."""
    return f"{message.topic}/{next(iter(message.keys), message.msg_id)}"


def idempotent(
    listener: Listener,
    store: DedupStore,
    *,
    key: Callable[[ReceivedMessage], str] = first_key,
    lease_ms: int = LEASE_MS,
    keep_ms: int = KEEP_MS,
) -> Callable[[ReceivedMessage], Awaitable[ConsumeStatus | None]]:
    """The listener (of one message at a time), called only for keys that are not done yet.

    >>> async def main() -> None:
    ...     store = SqliteDedup(":memory:")
    ...     async def ship(message: ReceivedMessage) -> None:
    ...         print("shipped", message.keys[0])
    ...     consumer = PushConsumer("shipping", idempotent(ship, store), namesrv=NAMESRV)
    ...     consumer.subscribe("parcels")
    ...     async with Producer("shop", namesrv=NAMESRV) as producer:
    ...         await producer.send(Message("parcels", b"once", keys="parcel-9"))
    ...         await producer.send(Message("parcels", b"twice", keys="parcel-9"))
    ...     async with consumer:
    ...         await asyncio.sleep(2)
    ...     store.close()
    >>> asyncio.run(main())
    shipped parcel-9
    """
    is_async = inspect.iscoroutinefunction(listener)

    async def run(message: ReceivedMessage) -> ConsumeStatus | None:
        if is_async:
            called = listener(message)
            assert inspect.isawaitable(called)
            return await called
        result = await asyncio.to_thread(listener, message)
        assert result is None or isinstance(result, ConsumeStatus)
        return result

    async def once(message: ReceivedMessage) -> ConsumeStatus | None:
        name, owner = key(message), uuid.uuid4().hex
        claim = await store.claim(name, owner, _now_ms(), lease_ms)
        if claim is Claim.DONE:
            return ConsumeStatus.CONSUME_SUCCESS
        if claim is Claim.BUSY:
            return ConsumeStatus.RECONSUME_LATER
        is_done = False
        try:
            status = await run(message)
            is_done = status is None or status is ConsumeStatus.CONSUME_SUCCESS
        finally:
            if not is_done:
                await store.release(name, owner)
        if is_done:
            await store.finish(name, _now_ms(), keep_ms)
        return status

    return once


def _now_ms() -> int:
    return int(time.time() * 1000)

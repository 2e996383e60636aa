"""Consuming at most once what is delivered at least once: a listener that remembers what it has done.

Each message has a key (its first business key, else its id). Before the listener runs, the key is *claimed*;
when it has succeeded, the key is *done*. A key that is done is skipped; one that another consumer has claimed
is left for later. A claim ends by itself after the lease: when a consumer dies between claim and done, the
message is delivered again and the next claim succeeds. So the work is done at least once always, and exactly
once unless a process dies (or a lease ends) in the middle of the listener: what the listener does to the
outside should then be part of the same transaction, or harmless to repeat. The lease must outlast the longest
call.

Keys are kept in a SQLite file (consumers on one machine) or in Redis (consumers anywhere). In both a key is
absent, claimed by an owner until its lease ends, or done until it is forgotten; an expired key is an absent
one. SQLite runs in a thread, one statement group at a time; Redis is imported when it is used.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from enum import Enum
from functools import partial
from typing import Any, Protocol

from engine.client.consuming.listeners import ConsumeStatus, Listener, is_async
from engine.client.messages import ReceivedMessage

LEASE_MS = 5 * 60 * 1000
KEEP_MS = 3 * 24 * 60 * 60 * 1000


class Claim(Enum):
    TAKEN = "TAKEN"
    """The key is yours until the lease ends."""
    DONE = "DONE"
    BUSY = "BUSY"


class DedupStore(Protocol):
    """Where keys are kept. Shared by all consumers of a group: `SqliteDedup` or `RedisDedup`."""

    async def claim(self, key: str, owner: str, now_ms: int, lease_ms: int) -> Claim:
        """Atomic: of concurrent claims of a key, one succeeds."""

    async def finish(self, key: str, now_ms: int, keep_ms: int) -> None:
        """The work is done; keep the key for `keep_ms`."""

    async def release(self, key: str, owner: str) -> None:
        """The work failed: the key may be claimed again, if it still belongs to this owner."""


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
    run: Any = listener
    if not is_async(listener):
        run = partial(asyncio.to_thread, run)

    async def once(message: ReceivedMessage) -> ConsumeStatus | None:
        name, owner = key(message), uuid.uuid4().hex
        claim = await store.claim(name, owner, _now_ms(), lease_ms)
        if claim is Claim.DONE:
            return ConsumeStatus.CONSUME_SUCCESS
        if claim is Claim.BUSY:
            return ConsumeStatus.RECONSUME_LATER
        is_done = False
        try:
            status: ConsumeStatus | None = await run(message)
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


_CLAIMED, _DONE = 0, 1
_PURGE_INTERVAL_MS = 10 * 60 * 1000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS consumed (
    key TEXT PRIMARY KEY, state INTEGER NOT NULL, owner TEXT NOT NULL, expires_ms INTEGER NOT NULL
) WITHOUT ROWID
"""


class SqliteDedup:
    """Keys in a table of a SQLite database; processes that share the file share the keys."""

    def __init__(self, path: str, *, busy_timeout_s: float = 20.0) -> None:
        self._lock = threading.Lock()
        self._next_purge_ms = 0
        # Transactions are begun by hand: a claim must hold the write lock from its first look on.
        self._db = sqlite3.connect(
            path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
        )
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute(_SCHEMA)

    async def claim(self, key: str, owner: str, now_ms: int, lease_ms: int) -> Claim:
        return await asyncio.to_thread(self._claim, key, owner, now_ms, lease_ms)

    async def finish(self, key: str, now_ms: int, keep_ms: int) -> None:
        row = (key, _DONE, "", now_ms + keep_ms)
        await asyncio.to_thread(self._run, "INSERT OR REPLACE INTO consumed VALUES (?, ?, ?, ?)", row)

    async def release(self, key: str, owner: str) -> None:
        statement = "DELETE FROM consumed WHERE key = ? AND owner = ? AND state = ?"
        await asyncio.to_thread(self._run, statement, (key, owner, _CLAIMED))

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _run(self, statement: str, values: tuple[object, ...]) -> None:
        with self._lock:
            self._db.execute(statement, values)

    def _claim(self, key: str, owner: str, now_ms: int, lease_ms: int) -> Claim:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                claim = self._claim_in_transaction(key, owner, now_ms, lease_ms)
            finally:
                self._db.execute("COMMIT")
            return claim

    def _claim_in_transaction(self, key: str, owner: str, now_ms: int, lease_ms: int) -> Claim:
        if now_ms >= self._next_purge_ms:
            self._db.execute("DELETE FROM consumed WHERE expires_ms <= ?", (now_ms,))
            self._next_purge_ms = now_ms + _PURGE_INTERVAL_MS
        found = self._db.execute("SELECT state, expires_ms FROM consumed WHERE key = ?", (key,)).fetchone()
        if found is not None and found[1] > now_ms:
            return Claim.DONE if found[0] == _DONE else Claim.BUSY
        row = (key, _CLAIMED, owner, now_ms + lease_ms)
        self._db.execute("INSERT OR REPLACE INTO consumed VALUES (?, ?, ?, ?)", row)
        return Claim.TAKEN


_DONE_VALUE = b"done"
_RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"


class RedisDedup:
    """Keys in Redis, which forgets them by its own clock. Needs the `redis` package (extra `redis`)."""

    def __init__(self, url: str, *, prefix: str = "signalbox:consumed:") -> None:
        from redis.asyncio import Redis

        self._redis: Any = Redis.from_url(url)
        self._prefix = prefix

    async def claim(self, key: str, owner: str, now_ms: int, lease_ms: int) -> Claim:
        name = self._prefix + key
        if await self._redis.set(name, owner, nx=True, px=lease_ms):
            return Claim.TAKEN
        # A claim that ended between the two looks is taken at the next delivery.
        return Claim.DONE if await self._redis.get(name) == _DONE_VALUE else Claim.BUSY

    async def finish(self, key: str, now_ms: int, keep_ms: int) -> None:
        await self._redis.set(self._prefix + key, _DONE_VALUE, px=keep_ms)

    async def release(self, key: str, owner: str) -> None:
        await self._redis.eval(_RELEASE, 1, self._prefix + key, owner)

    async def close(self) -> None:
        await self._redis.aclose()

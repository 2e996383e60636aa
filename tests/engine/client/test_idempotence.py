"""A listener that does each key's work once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.client.consuming.listeners import ConsumeStatus
from engine.client.idempotence import Claim, DedupStore, RedisDedup, SqliteDedup, first_key, idempotent
from engine.client.messages import ReceivedMessage
from tests.engine.client.records import received
from tests.engine.client.redis_server import redis_server

LEASE_MS = 1000


@pytest.fixture(params=["sqlite", "redis"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[DedupStore]:
    if request.param == "sqlite":
        sqlite = SqliteDedup(str(tmp_path / "dedup.db"))
        yield sqlite
        sqlite.close()
        return
    with redis_server(tmp_path) as url:
        redis = RedisDedup(url)
        yield redis
        await redis.close()


async def test_of_many_claims_one_is_taken(store: DedupStore) -> None:
    claims = await asyncio.gather(*(store.claim("k", f"owner-{n}", 1, LEASE_MS) for n in range(8)))
    assert sorted(claim.name for claim in claims) == ["BUSY"] * 7 + ["TAKEN"]


async def test_what_is_done_stays_done(store: DedupStore) -> None:
    await store.claim("k", "a", 1, LEASE_MS)
    await store.finish("k", 1, keep_ms=60_000)
    assert await store.claim("k", "b", 2, LEASE_MS) is Claim.DONE


async def test_a_released_key_can_be_claimed_by_others_only_if_it_was_the_owners(store: DedupStore) -> None:
    await store.claim("k", "a", 1, LEASE_MS)
    await store.release("k", "stranger")
    assert await store.claim("k", "b", 1, LEASE_MS) is Claim.BUSY
    await store.release("k", "a")
    assert await store.claim("k", "b", 1, LEASE_MS) is Claim.TAKEN


async def test_a_claim_whose_owner_died_ends_with_its_lease(tmp_path: Path) -> None:
    path = str(tmp_path / "dedup.db")
    died, lives = SqliteDedup(path), SqliteDedup(path)
    await died.claim("k", "a", now_ms=0, lease_ms=LEASE_MS)
    died.close()
    assert await lives.claim("k", "b", now_ms=LEASE_MS - 1, lease_ms=LEASE_MS) is Claim.BUSY
    assert await lives.claim("k", "b", now_ms=LEASE_MS, lease_ms=LEASE_MS) is Claim.TAKEN
    lives.close()


async def test_a_done_key_is_forgotten_after_its_time(tmp_path: Path) -> None:
    store = SqliteDedup(str(tmp_path / "dedup.db"))
    await store.finish("k", now_ms=0, keep_ms=100)
    assert await store.claim("k", "a", now_ms=99, lease_ms=LEASE_MS) is Claim.DONE
    assert await store.claim("k", "a", now_ms=100, lease_ms=LEASE_MS) is Claim.TAKEN
    store.close()


async def test_the_listener_runs_once_per_key(store: DedupStore) -> None:
    calls: list[bytes] = []

    async def listener(message: ReceivedMessage) -> None:
        calls.append(message.body)

    once = idempotent(listener, store)
    first, second = received(1, b"a", KEYS="order-1"), received(2, b"b", KEYS="order-1")
    assert await once(first) is None
    assert await once(second) is ConsumeStatus.CONSUME_SUCCESS
    assert await once(received(3, b"c", KEYS="order-2")) is None
    assert calls == [b"a", b"c"]


async def test_a_failure_leaves_the_key_free(store: DedupStore) -> None:
    outcomes = iter(["raise", "later", "ok"])

    def listener(message: ReceivedMessage) -> ConsumeStatus:
        outcome = next(outcomes)
        if outcome == "raise":
            raise ValueError("no")
        return ConsumeStatus.RECONSUME_LATER if outcome == "later" else ConsumeStatus.CONSUME_SUCCESS

    once = idempotent(listener, store)
    message = received(1, KEYS="order-1")
    with pytest.raises(ValueError, match="no"):
        await once(message)
    assert await once(message) is ConsumeStatus.RECONSUME_LATER
    assert await once(message) is ConsumeStatus.CONSUME_SUCCESS


async def test_a_key_in_work_elsewhere_is_left_for_later(store: DedupStore) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()

    async def listener(message: ReceivedMessage) -> None:
        begun.set()
        await gate.wait()

    once = idempotent(listener, store)
    message = received(1, KEYS="order-1")
    running = asyncio.create_task(once(message))
    await begun.wait()
    assert await once(message) is ConsumeStatus.RECONSUME_LATER
    gate.set()
    assert await running is None


def test_a_message_without_keys_is_known_by_its_id() -> None:
    assert first_key(received(1, UNIQ_KEY="7F00")) == "topic/7F00"

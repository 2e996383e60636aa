"""Many readers at once, and one that does not read: all are told in time, none holds up the others."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone
from websockets.asyncio.client import ClientConnection

from clusters.models import Cluster, LiveGroup
from console.core.models.people import Role
from tests.console.live.sockets import hear, news, opened, publish, say, session_of
from tests.platform_fixtures import make_user
from tests.platform_processes import serving

pytestmark = pytest.mark.django_db(transaction=True)

ROWS, ROUNDS = 50, 5
NAMES = [f"billing-{number:03}" for number in range(ROWS)]


@pytest.fixture(scope="module")
def server(django_db_setup: None, django_db_blocker: Any, redis: str) -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture
def orders(db: None) -> Cluster:
    cluster = Cluster.objects.create(
        name="orders", broker_cluster_name="orders", kind=Cluster.Kind.ATTACHED, created_at=timezone.now()
    )
    LiveGroup.objects.bulk_create([LiveGroup(cluster=cluster, name=name, lag=0) for name in NAMES])
    return cluster


async def reached(socket: ClientConnection, lag: int) -> float:
    """When every row had that lag."""
    left = set(NAMES)
    while left:
        told = json.loads(await socket.recv())
        left -= {name for name, row in told.get("data", {}).items() if row and row.get("lag") == str(lag)}
    return time.monotonic()


@pytest.mark.parametrize("count", [20, pytest.param(100, marks=pytest.mark.nightly)])
async def test_all_readers_have_every_update_within_two_seconds(
    server: str, orders: Cluster, count: int
) -> None:
    people = [await sync_to_async(make_user)(f"reader-{n}", Role.VIEWER) for n in range(-(-count // 10))]
    sessions = [await sync_to_async(session_of)(user) for user in people]
    channel = "groups/orders?names=" + ",".join(NAMES)
    slowest = 0.0
    async with AsyncExitStack() as stack:
        sockets = [
            await stack.enter_async_context(opened(server, sessions[number // 10])) for number in range(count)
        ]
        for socket in sockets:
            await say(socket, type="subscribe", channel=channel)
        await asyncio.gather(*(hear(socket, "state", 30) for socket in sockets))
        for lag in range(1, ROUNDS + 1):
            began = time.monotonic()
            waits = [asyncio.ensure_future(reached(socket, lag)) for socket in sockets]
            await publish("groups/orders", news(lag, {name: {"lag": str(lag)} for name in NAMES}))
            ends = await asyncio.wait_for(asyncio.gather(*waits), 30)
            slowest = max(slowest, max(ends) - began)
            await asyncio.sleep(max(0, began + 1 - time.monotonic()))
    print(f"{count} readers, {ROWS} rows each, {ROUNDS} updates: the last had one after {slowest:.2f} s")
    assert slowest < 2


async def test_a_reader_that_does_not_read_does_not_hold_up_others(server: str, orders: Cluster) -> None:
    session = await sync_to_async(session_of)(await sync_to_async(make_user)("lazy", Role.VIEWER))
    channel = "groups/orders?names=" + ",".join(NAMES)
    # Small buffers on our side: what the server sends soon has no place to go.
    async with (
        opened(server, session, max_queue=1, ping_interval=None) as lazy,
        opened(server, session) as eager,
    ):
        for socket in (lazy, eager):
            await say(socket, type="subscribe", channel=channel)
        await hear(eager, "state")
        for number in range(1, 4):
            padding = "x" * 2000
            rows = {name: {"lag": str(number), "error": f"{padding}{number}"} for name in NAMES}
            waiting = asyncio.ensure_future(reached(eager, number))
            await publish("groups/orders", news(number, rows))
            await asyncio.wait_for(waiting, 5)
        # It finds the newest when it reads again, with numbers that rise by one.
        seqs, lag = [], "0"
        while lag != "3":
            told = json.loads(await asyncio.wait_for(lazy.recv(), 10))
            seqs.append(told["seq"])
            lag = told["data"].get(NAMES[0], {}).get("lag", lag)
        assert seqs == list(range(1, len(seqs) + 1))

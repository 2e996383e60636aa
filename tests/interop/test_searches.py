"""Searches by key: keys with equal hashes, the limit of 64, and going on beyond it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from engine.client import Admin, Message, Producer

from .clusters import Cluster
from .java_client import JavaClient
from .received import body

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
COUNT = 160
AT_LEAST = 20
"""Of 64 by the hash about half are meant: what RocketMQ can be counted on to find."""


async def send(cluster: Cluster, topic: str) -> None:
    """Every other message has the key Aa, the others BB, whose hashes are the same."""
    async with Producer("searched", namesrv=cluster.name_server) as producer:
        futures = [
            await producer.send_async(Message(topic, b"%d" % n, keys="BB" if n % 2 else "Aa"))
            for n in range(COUNT)
        ]
        await asyncio.gather(*futures)


async def test_java_finds_only_messages_with_the_key_itself(
    cluster: Cluster, java: JavaClient, fresh: Fresh
) -> None:
    topic = fresh("search")
    await send(cluster, topic)
    deadline = time.monotonic() + 10
    while len(found := java.do("read-key", topic=topic, key="Aa", max=64)) < AT_LEAST:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.2)
    assert len(found) <= 64
    assert all(int(body(message)) % 2 == 0 for message in found)
    if cluster.target == "signalbox":
        # RocketMQ takes 64 by the hash, and its client throws away the half that is not meant.
        assert len(java.do("read-key", topic=topic, key="Aa", max=64)) == 64


async def test_our_search_goes_on_where_the_broker_can(cluster: Cluster, fresh: Fresh) -> None:
    topic = fresh("search")
    await send(cluster, topic)
    async with Admin(namesrv=cluster.name_server) as admin:
        deadline = time.monotonic() + 10
        while len((page := await admin.messages.search(topic, "BB")).messages) < AT_LEAST:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.2)
        found = list(page.messages)
        while page.following is not None:
            page = await admin.messages.search(topic, "BB", after=page.following)
            found += page.messages
    numbers = [int(message.body) for message in found]
    assert all(number % 2 for number in numbers)
    if cluster.target == "signalbox":
        assert sorted(numbers) == list(range(1, COUNT, 2))
    else:
        assert page.is_cut, "that there may be more must be said"

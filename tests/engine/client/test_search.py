"""Searching for messages on a real broker: by key with a continuation, and by time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from engine.client import Admin, Message, Producer
from engine.client.admin.messages import SearchPlace


async def send_many(namesrv: str, topic: str, count: int, keys: Callable[[int], str]) -> None:
    async with Producer("searched", namesrv=namesrv) as producer:
        futures = [await producer.send_async(Message(topic, b"%d" % n, keys=keys(n))) for n in range(count)]
        await asyncio.gather(*futures)


async def search_all(admin: Admin, topic: str, key: str) -> list[bytes]:
    found: list[bytes] = []
    after: SearchPlace | None = None
    while True:
        page = await admin.messages.search(topic, key, after=after)
        assert len(page.messages) <= 64
        assert not page.is_cut
        found += [message.body for message in page.messages]
        after = page.following
        if after is None:
            return found


async def test_a_search_finds_more_than_one_page(namesrv: str, fresh: Callable[[str], str]) -> None:
    topic = fresh("searched")
    await send_many(namesrv, topic, 200, lambda n: "Aa" if n % 2 else "BB")
    async with Admin(namesrv=namesrv) as admin:
        async with asyncio.timeout(10):
            while len(found := await search_all(admin, topic, "Aa")) < 100:
                await asyncio.sleep(0.05)
        assert sorted(map(int, found)) == list(range(1, 200, 2))
        assert len(await search_all(admin, topic, "BB")) == 100
        assert await search_all(admin, topic, "nothing") == []


async def test_a_queue_is_read_from_an_offset_without_waiting(
    namesrv: str, fresh: Callable[[str], str]
) -> None:
    topic = fresh("read")
    async with Producer("searched", namesrv=namesrv) as producer, Admin(namesrv=namesrv) as admin:
        first = await producer.send(Message(topic, b"0", tags="odd"))
        for n in range(1, 6):
            await producer.send(Message(topic, b"%d" % n, tags="odd" if n % 2 else "even"), queue=first.queue)
        assert first.queue in await admin.messages.queues(topic)
        async with asyncio.timeout(10):
            while (result := await admin.messages.read(first.queue, 0)).max_offset < 6:
                await asyncio.sleep(0.05)
        assert [message.body for message in result.messages] == [b"%d" % n for n in range(6)]
        middle = await admin.messages.read(first.queue, 2, max_messages=2)
        assert ([message.body for message in middle.messages], middle.next_offset) == ([b"2", b"3"], 4)
        even = await admin.messages.read(first.queue, 0, tags="even")
        assert [message.body for message in even.messages] == [b"2", b"4"]
        assert (await admin.messages.read(first.queue, 6)).messages == []


async def test_messages_are_found_by_their_store_time(namesrv: str, fresh: Callable[[str], str]) -> None:
    topic = fresh("timed")
    await send_many(namesrv, topic, 10, lambda n: f"k{n}")
    async with Admin(namesrv=namesrv) as admin:
        async with asyncio.timeout(10):
            while len(found := await admin.messages.stored_between(topic, 0, 1 << 60)) < 10:
                await asyncio.sleep(0.05)
        last = found[-1].store_timestamp
        assert sorted(int(message.body) for message in found) == list(range(10))
        assert len(await admin.messages.stored_between(topic, 0, 1 << 60, max_messages=3)) == 3
        later = await admin.messages.stored_between(topic, last + 1, 1 << 60)
        earlier = await admin.messages.stored_between(topic, 0, found[0].store_timestamp)
        assert (later, earlier) == ([], [])

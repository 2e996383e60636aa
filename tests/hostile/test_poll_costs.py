"""What a parked long poll takes of the broker's memory, and that nothing of it stays. Bytes, no times.

Counted by tracemalloc in this process, so that neither the machine nor the allocator's rounding decides.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import tracemalloc
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.crash import requests as rq
from tests.crash.wire import encode_request
from tests.engine.broker.peers import Peer, RunningBroker, eventually

TOPIC, QUEUES = "Orders", 8
POP, NOTIFICATION = 200050, 200054
FIRST, MORE = 500, 2_000
"""The first ones pay for what is there once."""
MOST_BYTES = 600
"""A hundred thousand polls (signalboxMaxLongPolls) then take 60 MB, whatever they are."""
MOST_BYTES_WITH_TAGS = 2_500
"""With a filter that nobody shares, and what is remembered of it."""
MOST_LEFT = 48 * 1024
"""Two connections came and went, and the broker did its other work; not 20 bytes of each poll."""


def pull(number: int) -> bytes:
    """Waits for the second message of a queue; numbers of its own, as real clients send them."""
    fields = rq.pull_fields(TOPIC, "Readers", number % QUEUES, 1, suspend_ms=30_000 + number)
    return encode_request(rq.PULL, 100_000 + number, fields)


def tagged_pull(number: int) -> bytes:
    fields = rq.pull_fields(TOPIC, "Readers", number % QUEUES, 1, suspend_ms=30_000 + number)
    return encode_request(rq.PULL, 100_000 + number, fields | {"subscription": "red || green || blue"})


def pop(number: int) -> bytes:
    """For all queues at once. Of one group no more than 1,024 may wait."""
    fields = {
        "consumerGroup": f"Poppers-{number % 4}",
        "topic": TOPIC,
        "queueId": "-1",
        "maxMsgNums": "32",
        "invisibleTime": str(60_000 + number),
        "pollTime": str(30_000 + number),
        "bornTime": "1700000000000",
        "initMode": "1",
        "exp": "*",
        "expType": "TAG",
    }
    return encode_request(POP, 100_000 + number, fields)


def notification(number: int) -> bytes:
    fields = {
        "consumerGroup": f"Poppers-{number % 4}",
        "topic": TOPIC,
        "queueId": "-1",
        "pollTime": str(30_000 + number),
        "bornTime": "1700000000000",
    }
    return encode_request(NOTIFICATION, 100_000 + number, fields)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[RunningBroker]:
    running = await RunningBroker.start(tmp_path, {"enablePropertyFilter": "true"})
    peer = Peer(running.address)
    await peer.ask(rq.CREATE_TOPIC, rq.topic_fields(TOPIC, QUEUES))
    for queue_id in range(QUEUES):
        assert (await peer.send(TOPIC, queue_id=queue_id)).code == 0
    for group in range(4):
        # Takes what is there, so that later ones wait.
        await peer.ask(POP, {**POP_ALL, "consumerGroup": f"Poppers-{group}"})
    await peer.close()
    yield running
    await running.stop()


POP_ALL = {
    "topic": TOPIC,
    "queueId": "-1",
    "maxMsgNums": "32",
    "invisibleTime": "600000",
    "pollTime": "0",
    "bornTime": "0",
    "initMode": "0",
}


def traced_bytes() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@contextlib.asynccontextmanager
async def parked(
    broker: RunningBroker, make: Callable[[int], bytes], count: int, first: int = 0
) -> AsyncIterator[None]:
    holds, before = broker.inner.tasks.waits.holds, len(broker.inner.tasks.waits.holds)
    host, port = broker.inner.address
    _, writer = await asyncio.open_connection(host, port)
    writer.write(b"".join(make(number) for number in range(first, first + count)))
    await eventually(lambda: len(holds) == before + count, 30.0)
    try:
        yield
    finally:
        writer.transport.abort()
        await eventually(lambda: len(holds) == before, 30.0)


def tags(number: int, length: int) -> str:
    return "||".join([str(number), *(f"{at:03}" for at in range(length // 5))])


def sql(number: int, length: int) -> str:
    return f"a = {number}" + "".join(f" OR a = {at:04}" for at in range(length // 12))


@pytest.mark.parametrize(
    ("expression", "kind", "length", "count"),
    [(tags, "TAG", 60, 6_000), (tags, "TAG", 3_000, 200), (sql, "SQL92", 600, 200)],
)
async def test_a_poll_counts_as_many_as_its_own_filter_takes_the_room_of(
    broker: RunningBroker, expression: Callable[[int, int], str], kind: str, length: int, count: int
) -> None:
    def make(number: int) -> bytes:
        fields = rq.pull_fields(TOPIC, "Readers", 0, 1, suspend_ms=30_000)
        fields |= {"subscription": expression(number, length), "expressionType": kind}
        return encode_request(rq.PULL, 100_000 + number, fields)

    waits = broker.inner.tasks.waits
    async with parked(broker, make, count):
        pass
    tracemalloc.start()
    try:
        before = traced_bytes()
        async with parked(broker, make, count, first=count):
            used, weight = traced_bytes() - before, waits.holds.weight
    finally:
        tracemalloc.stop()
    print(f"{kind} of {length}: {used / count:.0f} bytes each, counts as {weight // count}")
    assert used / weight <= MOST_BYTES_WITH_TAGS


@pytest.mark.parametrize("make", [pull, tagged_pull, pop, notification])
async def test_a_parked_poll_takes_little_and_leaves_nothing(
    broker: RunningBroker, make: Callable[[int], bytes]
) -> None:
    async with parked(broker, make, FIRST):
        pass  # what is made once is there
    tracemalloc.start()
    try:
        before = traced_bytes()
        async with parked(broker, make, FIRST):
            first = traced_bytes()
            async with parked(broker, make, MORE):
                each = (traced_bytes() - first) / MORE
        left = traced_bytes() - before
    finally:
        tracemalloc.stop()
    print(f"{make.__name__}: {each:.0f} bytes each, {left} left")
    assert each <= MOST_BYTES
    assert left <= MOST_LEFT

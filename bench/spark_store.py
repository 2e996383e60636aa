"""A store of millions of messages, written by the real broker, for what reads stores.

Ten hours of a shop: the broker's wall clock is moved by a shim (tests/crash/shims/clock.c), so that a tenth
of the messages is stored in each. Ten topics of four queues get the same share. Bodies are 100 to 300 bytes,
and each message has a tag, a key and a property of the application beside those of client and broker.

Beside the store lies `expected.json`: the broker's own numbers, asked after the last message and before it
was stopped. Written once for each size and kept under build/.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.peers import CLUSTER
from engine.client import Admin, Message, Producer, ProducerOptions
from engine.protocol.bodies.topics import TopicConfig
from tests.crash.shims.build import shim
from tests.engine.client.servers import Daemon, start_broker, start_name_server

HOURS = 10
HOUR_S = 3600
TOPICS = tuple(f"orders-{number}" for number in range(10))
QUEUES = 4
BROKER = "bench-spark"
_BATCH = 500
_ROOT = Path(__file__).resolve().parents[1] / "build" / "bench-spark"


@dataclass(frozen=True, slots=True)
class Expected:
    """What the broker says that it holds."""

    messages: int
    by_topic: dict[str, int]
    min_offset: int
    max_offset: int
    first_hour_s: int
    """When the first hour began, in seconds since 1970."""


def kept_store(messages: int) -> tuple[Path, Expected]:
    """The store of that size, written if there is none yet."""
    home = _ROOT / str(messages)
    noted = home / "expected.json"
    if not noted.exists():
        home.mkdir(parents=True, exist_ok=True)
        noted.write_text(json.dumps(asdict(_write(home, messages))))
    return home / BROKER, Expected(**json.loads(noted.read_text()))


def _write(home: Path, messages: int) -> Expected:
    with _broker(home) as (name_server, broker, clock):
        return asyncio.run(_fill(name_server.address, broker.address, clock, messages))


@contextmanager
def _broker(home: Path) -> Iterator[tuple[Daemon, Daemon, Path]]:
    clock = home / "clock"
    clock.write_text(str(-HOURS * HOUR_S))
    name_server = start_name_server(home)
    before = {name: os.environ.get(name) for name in ("LD_PRELOAD", "CLOCK_FILE")}
    os.environ.update(LD_PRELOAD=str(shim("clock")), CLOCK_FILE=str(clock))
    try:
        broker = start_broker(
            home, name_server.address, BROKER, brokerClusterName=CLUSTER, mappedFileSizeCommitLog=str(1 << 30)
        )
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    try:
        yield name_server, broker, clock
    finally:
        broker.stop()
        name_server.stop()


async def _fill(name_server: str, broker: str, clock: Path, messages: int) -> Expected:
    async with Admin(namesrv=name_server) as admin:
        for topic in TOPICS:
            await admin.topics.create(broker, TopicConfig(topic, QUEUES, QUEUES))
        options = ProducerOptions(send_timeout_ms=60_000)
        async with Producer("bench", namesrv=name_server, options=options) as producer:
            for hour in range(HOURS):
                clock.write_text(str((hour - HOURS) * HOUR_S))
                if hour == 0:
                    first_hour_s = await _store_second(admin, broker)
                await _fill_hour(producer, messages // HOURS, random.Random(hour))
        return await _ask(admin, broker, first_hour_s)


async def _store_second(admin: Admin, broker: str) -> int:
    """The broker's own time: its clock is not ours."""
    info = await admin.brokers.runtime_info(broker)
    return int(info["bootTimestamp"]) // 1000


async def _fill_hour(producer: Producer, count: int, chance: random.Random) -> None:
    """Every topic in turn, batch by batch, a few under way at once."""
    number = 0
    while number < count:
        batches = []
        for topic in TOPICS:
            size = min(_BATCH, (count + len(TOPICS) - 1) // len(TOPICS), count - number)
            if size > 0:
                batches.append(
                    producer.send_batch([_message(topic, number + n, chance) for n in range(size)])
                )
            number += max(size, 0)
        await asyncio.gather(*batches)


def _message(topic: str, number: int, chance: random.Random) -> Message:
    return Message(
        topic,
        b"x" * chance.randrange(100, 300),
        tags=chance.choice(("paid", "sent", "returned")),
        keys=f"order-{number}",
        properties={"region": chance.choice(("north", "south", "east", "west"))},
    )


async def _ask(admin: Admin, broker: str, first_hour_s: int) -> Expected:
    by_topic = {}
    for topic in TOPICS:
        table = (await admin.topics.stats_on_broker(broker, topic)).offset_table
        by_topic[topic] = sum(offsets.max_offset - offsets.min_offset for offsets in table.values())
    info = await admin.brokers.runtime_info(broker)
    offsets = int(info["commitLogMinOffset"]), int(info["commitLogMaxOffset"])
    return Expected(sum(by_topic.values()), by_topic, *offsets, first_hour_s)

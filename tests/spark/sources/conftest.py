"""A real broker with a store of small segments, written to while Spark reads beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engine.client import Admin, Message, Producer, ProducerOptions
from engine.protocol.bodies.topics import TopicConfig
from tests.engine.client.servers import Daemon, start_broker, start_name_server

BROKER = "spark-a"
SEGMENT_BYTES = 4 << 20
TOPICS = ("orders", "logs", "rare")


@dataclass(slots=True)
class Running:
    """A name server, a broker, and what was sent to it."""

    home: Path
    name_server: Daemon
    broker: Daemon
    segment_bytes: int = SEGMENT_BYTES
    sent: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOPICS, 0))

    @property
    def store(self) -> Path:
        return self.home / BROKER

    def restart(self) -> None:
        self.broker = launch_broker(self.home, self.name_server.address, self.segment_bytes)

    def send(self, count: int, topics: tuple[str, ...] = TOPICS[:2], size: int = 400) -> None:
        asyncio.run(self._send(count, topics, size))

    async def _send(self, count: int, topics: tuple[str, ...], size: int) -> None:
        options = ProducerOptions(send_timeout_ms=60_000)
        async with Producer("spark", namesrv=self.name_server.address, options=options) as producer:
            for topic in topics:
                before = self.sent[topic]
                for first in range(before, before + count, 500):
                    numbers = range(first, min(first + 500, before + count))
                    await producer.send_batch(
                        [
                            Message(
                                topic, b"%d " % number + b"x" * size, tags="paid", keys=f"{topic}-{number}"
                            )
                            for number in numbers
                        ]
                    )
                self.sent[topic] = before + count


def launch_broker(home: Path, name_server: str, segment_bytes: int = SEGMENT_BYTES) -> Daemon:
    return start_broker(
        home,
        name_server,
        BROKER,
        mappedFileSizeCommitLog=str(segment_bytes),
        maxMessageSize=str(segment_bytes // 4),
        mappedFileSizeConsumeQueue=str(20 * 1000),
    )


async def _make_topics(name_server: str, broker: str) -> None:
    async with Admin(namesrv=name_server) as admin:
        for topic in TOPICS:
            await admin.topics.create(broker, TopicConfig(topic, 2, 2))
            while not await admin.messages.queues(topic):
                await asyncio.sleep(0.05)


def launch(home: Path, segment_bytes: int = SEGMENT_BYTES) -> Running:
    name_server = start_name_server(home)
    broker = launch_broker(home, name_server.address, segment_bytes)
    running = Running(home, name_server, broker, segment_bytes)
    asyncio.run(_make_topics(name_server.address, running.broker.address))
    return running


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """With 20,000 messages in several segments, and twenty of a topic that is rare."""
    started = launch(tmp_path_factory.mktemp("running"))
    try:
        started.send(5_000)
        started.send(10, ("rare",))
        started.send(5_000)
        started.send(10, ("rare",))
        yield started
    finally:
        started.broker.stop()
        started.name_server.stop()

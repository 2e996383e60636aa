"""What a client does when servers go away and come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engine.client import (
    Admin,
    ConsumerOptions,
    Message,
    Producer,
    ProducerOptions,
    PullOptions,
    PushConsumer,
    ReceivedMessage,
    SendStatus,
)
from engine.errors import PeerUnreachable
from engine.protocol.bodies.topics import TopicConfig
from tests.engine.client.servers import Daemon, start_broker, start_name_server

TOPIC = "failover"


@dataclass
class TwoBrokers:
    home: Path
    name_server: Daemon
    brokers: dict[str, Daemon] = field(default_factory=dict)

    def start(self, name: str, port: str = "0") -> None:
        self.brokers[name] = start_broker(self.home, self.name_server.address, name, listenPort=port)

    def restart(self, name: str) -> None:
        """On the same port, as after a crash."""
        port = self.brokers[name].address.rpartition(":")[2]
        self.start(name, port)

    def stop(self) -> None:
        for broker in self.brokers.values():
            broker.stop()
        self.name_server.stop()


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[TwoBrokers]:
    servers = TwoBrokers(tmp_path, start_name_server(tmp_path))
    try:
        for name in ("broker-a", "broker-b"):
            servers.start(name)
        async with Admin(namesrv=servers.name_server.address) as admin:
            for broker in servers.brokers.values():
                await admin.topics.create(broker.address, TopicConfig(TOPIC, 2, 2))
            async with asyncio.timeout(20):
                while len((await admin.topics.route(TOPIC)).queue_datas) < 2:
                    await asyncio.sleep(0.05)
        yield servers
    finally:
        servers.stop()


async def until(condition: Callable[[], bool], timeout_s: float = 40.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.05)


async def test_sends_go_to_the_other_broker_when_one_dies(servers: TwoBrokers) -> None:
    async with Producer("shop", namesrv=servers.name_server.address) as producer:
        before = [await producer.send(Message(TOPIC, b"x")) for _ in range(4)]
        assert {result.queue.broker_name for result in before} == {"broker-a", "broker-b"}
        futures = [await producer.send_async(Message(TOPIC, b"x")) for _ in range(200)]
        servers.brokers["broker-a"].kill()
        results = await asyncio.gather(*futures)
        assert {result.status for result in results} == {SendStatus.SEND_OK}
        after = [await producer.send(Message(TOPIC, b"x")) for _ in range(10)]
    assert {result.queue.broker_name for result in after} == {"broker-b"}


async def test_without_retries_the_loss_is_told(servers: TwoBrokers) -> None:
    options = ProducerOptions(retries=0)
    async with Producer("shop", namesrv=servers.name_server.address, options=options) as producer:
        queue = next(q for q in await producer.queues(TOPIC) if q.broker_name == "broker-a")
        await producer.send(Message(TOPIC, b"x"), queue=queue)
        servers.brokers["broker-a"].kill()
        with pytest.raises(PeerUnreachable):
            await producer.send(Message(TOPIC, b"x"), queue=queue)


async def test_cached_routes_outlive_the_name_server(servers: TwoBrokers) -> None:
    async with Producer("shop", namesrv=servers.name_server.address) as producer:
        await producer.send(Message(TOPIC, b"x"))
        servers.name_server.kill()
        results = [await producer.send(Message(TOPIC, b"x")) for _ in range(20)]
    assert {result.status for result in results} == {SendStatus.SEND_OK}


async def test_the_next_name_server_is_asked_when_one_is_away(servers: TwoBrokers) -> None:
    namesrv = f"127.0.0.1:1;{servers.name_server.address}"
    async with Producer("shop", namesrv=namesrv) as producer:
        assert (await producer.send(Message(TOPIC, b"x"))).status is SendStatus.SEND_OK


async def test_a_consumer_goes_on_when_its_broker_comes_back(servers: TwoBrokers) -> None:
    seen: list[int] = []

    async def listener(message: ReceivedMessage) -> None:
        seen.append(int(message.body))

    namesrv = servers.name_server.address
    options = ConsumerOptions(
        commit_interval_s=0.1, rebalance_s=1.0, pull=PullOptions(suspend_ms=2000, retry_after_error_s=0.2)
    )
    consumer = PushConsumer("readers", listener, namesrv=namesrv, options=options)
    consumer.subscribe(TOPIC)
    async with consumer, Producer("shop", namesrv=namesrv) as producer:
        queue = next(q for q in await producer.queues(TOPIC) if q.broker_name == "broker-a")
        await producer.send(Message(TOPIC, b"1"), queue=queue)
        await until(lambda: seen == [1])
        await asyncio.sleep(0.3)
        servers.brokers["broker-a"].kill()
        servers.restart("broker-a")
        async with asyncio.timeout(30):
            while True:
                try:
                    await producer.send(Message(TOPIC, b"2"), queue=queue)
                    break
                except PeerUnreachable:
                    await asyncio.sleep(0.2)
        await until(lambda: 2 in seen)
    assert seen.count(2) == 1

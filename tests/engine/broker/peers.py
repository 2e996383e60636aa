"""What the broker's integration tests talk with: a running broker, and a client that speaks bare commands."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from engine.broker.process.broker import Broker
from engine.broker.settings.options import load_options
from engine.net.connection import Connection
from engine.net.requester import Requester
from engine.protocol.batches import BatchItem, encode_batch
from engine.protocol.bodies.clients import ConsumerData, HeartbeatData, ProducerData, SubscriptionData
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.pull import (
    PULL_COMMIT_OFFSET,
    PULL_SUBSCRIPTION,
    PULL_SUSPEND,
    PullMessageRequest,
)
from engine.protocol.headers.send import SendMessageRequest
from engine.protocol.properties import encode_properties
from engine.protocol.records import Record, decode_records

SMALL = {
    "brokerName": "broker-a",
    "brokerClusterName": "TestCluster",
    "listenPort": "0",
    "brokerIP1": "127.0.0.1",
    "mappedFileSizeCommitLog": str(8 << 20),
    "mappedFileSizeConsumeQueue": "60000",
    "maxHashSlotNum": "1000",
    "maxIndexNum": "4000",
    "waitTimeMillsInSendQueue": "60000",
    "diskMaxUsedSpaceRatio": "95",
}


class RunningBroker:
    def __init__(self, broker: Broker) -> None:
        self.inner = broker
        self.is_running = True

    @classmethod
    async def start(cls, store: Path, settings: Mapping[str, str]) -> RunningBroker:
        given = {**SMALL, "storePathRootDir": str(store), **settings}
        broker = Broker(load_options("", given))
        await broker.start()
        return cls(broker)

    @property
    def address(self) -> str:
        host, port = self.inner.address
        return f"{host}:{port}"

    async def stop(self) -> None:
        if self.is_running:
            self.is_running = False
            await self.inner.stop()


class Peer:
    """One connection of one client; `notices` are the requests that the broker sent to it."""

    def __init__(self, address: str, client_id: str = "client-1") -> None:
        self._address = address
        self.client_id = client_id
        self.notices: asyncio.Queue[Command] = asyncio.Queue()
        self._requester = Requester(self._hear)

    def _hear(self, request: Command, connection: Connection) -> None:
        self.notices.put_nowait(request)

    async def close(self) -> None:
        await self._requester.close()

    async def ask(
        self, code: int, fields: dict[str, str] | None = None, body: bytes = b"", timeout_ms: int = 10_000
    ) -> Command:
        return await self._requester.request(
            self._address, Command(code, fields=fields or {}, body=body), timeout_ms
        )

    async def tell(self, code: int, fields: dict[str, str] | None = None, body: bytes = b"") -> None:
        await self._requester.send_oneway(self._address, Command(code, fields=fields or {}, body=body))

    async def send(
        self,
        topic: str,
        body: bytes = b"hello",
        *,
        queue_id: int = 0,
        properties: Mapping[str, str] | None = None,
        **changes: object,
    ) -> Command:
        header = send_header(topic, queue_id, properties, **changes)
        return await self.ask(RequestCode.SEND_MESSAGE_V2, header.to_v2().encode(), body)

    async def send_batch(self, topic: str, bodies: list[bytes], *, queue_id: int = 0) -> Command:
        items = [BatchItem(0, body, b"TAGS\x01t\x02") for body in bodies]
        header = send_header(topic, queue_id, {"UNIQ_KEY": "B" * 32}, batch=True)
        return await self.ask(RequestCode.SEND_BATCH_MESSAGE, header.to_v2().encode(), encode_batch(items))

    async def pull(self, topic: str, queue_offset: int, **changes: object) -> Command:
        return await self.ask(RequestCode.PULL_MESSAGE, pull_header(topic, queue_offset, **changes).encode())

    async def heartbeat(self, group: str, *topics: str, without_sub: bool = False) -> Command:
        subscriptions = tuple(SubscriptionData(topic=topic, sub_version=1) for topic in topics)
        data = HeartbeatData(
            self.client_id,
            (ProducerData("producers"),),
            (ConsumerData(group, subscription_data_set=subscriptions),),
            heartbeat_fingerprint=1 if without_sub else 0,
            without_sub=without_sub,
        )
        return await self.ask(RequestCode.HEART_BEAT, body=data.encode())


def send_header(
    topic: str, queue_id: int, properties: Mapping[str, str] | None, **changes: object
) -> SendMessageRequest:
    values: dict[str, object] = {
        "producer_group": "producers",
        "topic": topic,
        "default_topic": "TBW102",
        "default_topic_queue_nums": 4,
        "queue_id": queue_id,
        "sys_flag": 0,
        "born_timestamp": 1_700_000_000_000,
        "flag": 0,
        "properties": encode_properties(properties or {}),
    }
    return SendMessageRequest(**{**values, **changes})  # type: ignore[arg-type]


def pull_header(topic: str, queue_offset: int, **changes: object) -> PullMessageRequest:
    """By default: no waiting, everything, nothing committed."""
    values: dict[str, object] = {
        "consumer_group": "consumers",
        "topic": topic,
        "queue_id": 0,
        "queue_offset": queue_offset,
        "max_msg_nums": 32,
        "sys_flag": PULL_SUBSCRIPTION,
        "commit_offset": 0,
        "suspend_timeout_millis": 15_000,
        "sub_version": 0,
        "subscription": "*",
    }
    return PullMessageRequest(**{**values, **changes})  # type: ignore[arg-type]


WAITING = PULL_SUBSCRIPTION | PULL_SUSPEND
COMMITTING = PULL_SUBSCRIPTION | PULL_COMMIT_OFFSET


def records(answer: Command) -> list[Record]:
    return decode_records(bytes(answer.body))


async def eventually(condition: object, timeout_s: float = 5.0) -> None:
    """Wait until `condition()` holds; for what has no event to wait for."""
    assert callable(condition)
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.005)

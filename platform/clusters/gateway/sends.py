"""Sending: producers that are kept beside a cluster's connections, one try each, the broker's own words.

A send is tried once: another try could store the message twice, and the console tells what happened instead.
A transactional message is stored half and committed; the console only ever begins one in order to commit it,
so that is also its answer when a broker asks. What may be on its way when an answer is lost is `UNSURE`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.connections import DEADLINE_S, ask, companion
from clusters.gateway.stored import stored
from engine.client.admin import Admin
from engine.client.messages import Message, ReceivedMessage, SendResult
from engine.client.options import ProducerOptions
from engine.client.sending.transaction_producer import TransactionProducer, TransactionState
from engine.errors import EngineError, NotFound, PeerTimeout, PeerUnreachable

GROUP = "SIGNALBOX_CONSOLE"
SEND_TIMEOUT_MS = 3_000
_OPTIONS = ProducerOptions(retries=0, send_timeout_ms=SEND_TIMEOUT_MS)


@dataclass(frozen=True, slots=True)
class Outgoing:
    topic: str
    body: bytes = field(repr=False)
    tags: str | None = None
    keys: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
    delay_level: int = 0
    delay_ms: int = 0
    deliver_at_ms: int = 0
    sharding_key: str | None = None
    is_transactional: bool = False
    to_group: str | None = None
    """To this group alone, as a message of `topic` that it gets again."""
    origin_id: str = ""
    msg_id: str = ""


class Fate(Enum):
    SENT = "sent"
    REFUSED = "refused"
    """Not stored, and never will be."""
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Sent:
    fate: Fate
    status: str = ""
    msg_id: str = ""
    offset_id: str = ""
    topic: str = ""
    broker: str = ""
    queue: int | None = None
    queue_offset: int | None = None
    transaction: str = ""
    recall_handle: str = ""
    detail: str = ""
    rocketmq_code: int | None = None


def send(address: ClusterAddress, message: Outgoing) -> Sent:
    return send_many(address, [message])[0]


def send_many(address: ClusterAddress, messages: Sequence[Outgoing]) -> list[Sent]:
    """All at once; each has its own fate."""

    async def asked(admin: Admin) -> list[Sent]:
        producer = await companion(admin, "producer", _open_producer)
        return list(await asyncio.gather(*(_send(producer, message) for message in messages)))

    return ask(address, asked, deadline_s=DEADLINE_S + SEND_TIMEOUT_MS / 1000)


def new_msg_ids(address: ClusterAddress, count: int) -> list[str]:
    """To be noted before the messages are sent."""

    async def asked(admin: Admin) -> list[str]:
        producer = await companion(admin, "producer", _open_producer)
        return [producer.new_msg_id() for _ in range(count)]

    return ask(address, asked)


def find_sent(address: ClusterAddress, topic: str, msg_id: str) -> Sent | None:
    """Whether a message whose answer was lost is there; None: not found, which proves nothing."""

    async def asked(admin: Admin) -> Sent | None:
        found = await admin.messages.by_unique_key(topic, msg_id)
        if not found:
            return None
        message = stored(found[0])
        return Sent(
            Fate.SENT,
            "FOUND",
            message.msg_id,
            message.offset_id,
            message.topic,
            message.broker,
            message.queue,
            message.queue_offset,
            detail="the answer was lost; it was found stored",
        )

    return ask(address, asked)


async def _open_producer(admin: Admin) -> TransactionProducer:
    producer = TransactionProducer(GROUP, _commit, options=_OPTIONS, instance=admin.instance)
    await producer.start()
    return producer


async def _commit(_: ReceivedMessage) -> TransactionState:
    return TransactionState.COMMIT


async def _send(producer: TransactionProducer, message: Outgoing) -> Sent:
    try:
        return await _delivered(producer, message)
    except (PeerTimeout, PeerUnreachable) as error:
        return Sent(Fate.UNSURE, msg_id=message.msg_id, topic=message.topic, detail=error.text)
    except EngineError as error:
        return Sent(Fate.REFUSED, topic=message.topic, detail=error.text, rocketmq_code=int(error.code))


async def _delivered(producer: TransactionProducer, message: Outgoing) -> Sent:
    given = _message(message)
    if message.to_group is not None:
        return _sent(await producer.send_to_group(given, message.to_group, message.origin_id))
    if message.is_transactional:
        result = await producer.send_in_transaction(given, _nothing_to_do)
        return _sent(result.sent, result.state.name)
    return _sent(await producer.send(given, sharding_key=message.sharding_key))


async def _nothing_to_do(_: Message) -> None:
    return None


def _message(message: Outgoing) -> Message:
    return Message(
        message.topic,
        message.body,
        tags=message.tags,
        keys=message.keys,
        properties=message.properties,
        delay_level=message.delay_level,
        delay_ms=message.delay_ms,
        deliver_at_ms=message.deliver_at_ms,
        msg_id=message.msg_id,
    )


def _sent(result: SendResult, transaction: str = "") -> Sent:
    return Sent(
        Fate.SENT,
        result.status.name,
        result.msg_id,
        result.offset_msg_id,
        result.queue.topic,
        result.queue.broker_name,
        result.queue.queue_id,
        result.queue_offset,
        transaction,
        result.recall_handle or "",
    )


def require_topic(address: ClusterAddress, topic: str) -> None:
    """A send to a name that nobody has would make the topic on brokers that allow that: a typing error must
    not."""

    async def asked(admin: Admin) -> None:
        if not await admin.messages.queues(topic):
            raise NotFound(f"the topic {topic} has no queue that may be read")

    ask(address, asked)

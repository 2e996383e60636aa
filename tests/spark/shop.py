"""A store with a little of everything, written by a real broker: ours or Apache's.

Sent, traced by `shop`: six orders, one that is compressed, one that is delayed, one that its listener refuses
twice (it ends as a dead letter), one that it refuses once; by `tellers` one in a transaction. Sent untraced:
five logs, and one log twice under one id. `billing` traces what it consumes, `audit` does not, `late` has
committed the beginning of every queue and reads nothing. `idle` is a topic that nobody uses.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from engine.client import (
    Admin,
    ConsumeFromWhere,
    ConsumerOptions,
    ConsumeStatus,
    Message,
    MessageQueue,
    Producer,
    ProducerOptions,
    PushConsumer,
    ReceivedMessage,
    SendResult,
    TransactionProducer,
    TransactionState,
)
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import TopicConfig
from tests.interop.clusters import BROKER_NAME, Cluster, running

# Every delay is a second: a retry waits for the third level otherwise, which is ten.
OVERRIDES = {"messageDelayLevel": " ".join(["1s"] * 18)}
FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
ORDERS, LOGS, IDLE = "orders", "logs", "idle"
ORDER_COUNT, LOG_COUNT = 11, 7
BIG = b"many teapots, " * 400
TIMEOUT_S = 60


@dataclass(slots=True)
class Shop:
    """What was done, as its doers know it."""

    store: Path = Path()
    sent: dict[str, SendResult] = field(default_factory=dict)
    """By body."""
    calls: Counter[str] = field(default_factory=Counter)
    """Billing's, by body."""
    audited: int = 0


async def trade(cluster: Cluster) -> Shop:
    shop = Shop(cluster.store)
    async with Admin(namesrv=cluster.name_server) as admin:
        for topic in (ORDERS, LOGS, IDLE):
            await admin.topics.create(cluster.broker, TopicConfig(topic, 2, 2))
        await _wait_for_routes(admin)
        await _send(cluster, shop)
        await _consume(cluster, shop)
        # Apache's 5.x takes no offsets of a group that it does not know.
        await admin.groups.create(cluster.broker, SubscriptionGroupConfig("late"))
        for queue in (0, 1):
            await admin.offsets.commit("late", MessageQueue(ORDERS, BROKER_NAME, queue), 0)
    return shop


async def _wait_for_routes(admin: Admin) -> None:
    """Apache's broker tells name servers of new topics a moment later."""
    async with asyncio.timeout(TIMEOUT_S):
        while not {ORDERS, LOGS, IDLE} <= set(await admin.topics.names()):
            await asyncio.sleep(0.1)


async def _send(cluster: Cluster, shop: Shop) -> None:
    traced, name_server = ProducerOptions(trace=True), cluster.name_server
    async with Producer("shop", namesrv=name_server, options=traced) as producer:
        for number in range(6):
            tag = "paid" if number % 2 else "sent"
            await _send_one(producer, shop, Message(ORDERS, b"order-%d" % number, tag, [f"k{number}", "all"]))
        await _send_one(producer, shop, Message(ORDERS, BIG, properties={"shop": "7"}))
        await _send_one(producer, shop, Message(ORDERS, b"poison"))
        await _send_one(producer, shop, Message(ORDERS, b"flaky"))
        await _send_one(producer, shop, Message(ORDERS, b"later", delay_level=1))
    async with TransactionProducer("tellers", _commit, namesrv=name_server) as teller:
        paid = await teller.send_in_transaction(Message(ORDERS, b"in a transaction"), _commit)
        shop.sent["in a transaction"] = paid.sent
    async with Producer("quiet", namesrv=name_server) as producer:
        for number in range(5):
            await _send_one(producer, shop, Message(LOGS, b"log-%d" % number))
        twice = producer.new_msg_id()
        for _ in range(2):
            await _send_one(producer, shop, Message(LOGS, b"twice", msg_id=twice))


async def _send_one(producer: Producer, shop: Shop, message: Message) -> None:
    shop.sent[message.body.decode()[:16]] = await producer.send(message)


async def _commit(message: object) -> TransactionState:
    return TransactionState.COMMIT


async def _consume(cluster: Cluster, shop: Shop) -> None:
    done, audited = asyncio.Event(), asyncio.Event()

    async def bill(message: ReceivedMessage) -> ConsumeStatus:
        name = message.body.decode()[:16]
        shop.calls[name] += 1
        if shop.calls.total() == ORDER_COUNT + 2:
            done.set()
        is_refused = name == "poison" or (name == "flaky" and shop.calls[name] == 1)
        return ConsumeStatus.RECONSUME_LATER if is_refused else ConsumeStatus.CONSUME_SUCCESS

    async def look(message: ReceivedMessage) -> None:
        shop.audited += 1
        if shop.audited == LOG_COUNT:
            audited.set()

    traced = ConsumerOptions(trace=True, from_where=FIRST, max_reconsume_times=1)
    billing = PushConsumer("billing", bill, namesrv=cluster.name_server, options=traced)
    billing.subscribe(ORDERS)
    audit = PushConsumer(
        "audit", look, namesrv=cluster.name_server, options=ConsumerOptions(from_where=FIRST)
    )
    audit.subscribe(LOGS)
    async with billing, audit, asyncio.timeout(TIMEOUT_S):
        await done.wait()
        await audited.wait()


def write_store(target: str, home: Path) -> Shop:
    """Everything above, by a broker of that make, which is stopped then."""
    with running(target, home, OVERRIDES) as cluster:
        shop = asyncio.run(trade(cluster))
        if target != "signalbox":
            cluster.stop()
    return shop

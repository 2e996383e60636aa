"""SQL92 subscriptions of our own consumers, on a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from engine.client import (
    ConsumeFromWhere,
    ConsumerOptions,
    LitePullConsumer,
    LitePullOptions,
    Message,
    Producer,
    PushConsumer,
    ReceivedMessage,
)
from engine.errors import PeerError
from engine.protocol.codes import ResponseCode


async def send_ages(namesrv: str, topic: str) -> None:
    async with Producer("ages", namesrv=namesrv) as producer:
        for age in range(10, 60, 10):
            await producer.send(Message(topic, b"%d" % age, properties={"age": str(age)}))


async def test_a_push_consumer_gets_what_its_expression_wants(
    namesrv: str, fresh: Callable[[str], str]
) -> None:
    topic = fresh("sql")
    await send_ages(namesrv, topic)
    got: set[bytes] = set()
    done = asyncio.Event()

    async def listener(message: ReceivedMessage) -> None:
        got.add(message.body)
        if len(got) == 3:
            done.set()

    options = ConsumerOptions(from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
    consumer = PushConsumer(fresh("sql-group"), listener, namesrv=namesrv, options=options)
    consumer.subscribe(topic, "age BETWEEN 20 AND 39 OR age = 50", kind="SQL92")
    async with consumer:
        await asyncio.wait_for(done.wait(), 30)
        await asyncio.sleep(0.2)
    assert got == {b"20", b"30", b"50"}


async def test_a_lite_pull_consumer_gets_what_its_expression_wants(
    namesrv: str, fresh: Callable[[str], str]
) -> None:
    topic = fresh("sql")
    await send_ages(namesrv, topic)
    options = LitePullOptions(from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
    got: set[bytes] = set()
    consumer = LitePullConsumer(fresh("sql-group"), namesrv=namesrv, options=options)
    consumer.subscribe(topic, "age > 30", kind="SQL92")
    async with consumer, asyncio.timeout(30):
        while len(got) < 2:
            got |= {message.body for message in await consumer.poll(timeout_ms=500)}
    assert got == {b"40", b"50"}


async def test_a_wrong_expression_is_refused_at_the_start_with_its_place(
    namesrv: str, fresh: Callable[[str], str]
) -> None:
    topic = fresh("sql")
    await send_ages(namesrv, topic)

    async def listener(message: ReceivedMessage) -> None: ...

    consumer = PushConsumer(fresh("sql-group"), listener, namesrv=namesrv)
    consumer.subscribe(topic, "age BETWEEN 20 OR 30", kind="SQL92")
    with pytest.raises(PeerError) as refused:
        await consumer.start()
    assert refused.value.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert "position 16" in refused.value.text

"""Clients that trace, on a real broker: what they write, and that it is never in the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from engine.client import (
    Admin,
    ConsumeFromWhere,
    ConsumerOptions,
    Message,
    Producer,
    ProducerOptions,
    PushConsumer,
    ReceivedMessage,
    TransactionProducer,
    TransactionState,
)
from engine.client.instance.instance import ClientInstance
from engine.client.tracing.trace_reader import UNSEEN_GROUPS, MessageTrace
from engine.client.tracing.trace_writer import MAX_WAITING, Tracer
from engine.errors import NotFound
from engine.protocol.traces import PubTrace, TraceMessageType

TRACED = ProducerOptions(trace=True)


async def read_until(admin: Admin, msg_id: str, is_enough: Callable[[MessageTrace], bool]) -> MessageTrace:
    async with asyncio.timeout(20):
        while True:
            try:
                trace = await admin.traces.read(msg_id)
            except NotFound:
                trace = MessageTrace(msg_id)
            if is_enough(trace):
                return trace
            await asyncio.sleep(0.1)


async def test_a_message_is_traced_from_its_sending_to_its_consumption(
    namesrv: str, fresh: Callable[[str], str]
) -> None:
    topic, group = fresh("traced"), fresh("traced-group")
    failures = ["once"]
    done = asyncio.Event()

    async def listener(message: ReceivedMessage) -> None:
        if failures:
            failures.pop()
            raise RuntimeError("not yet")
        done.set()

    options = ConsumerOptions(
        trace=True, orderly=True, suspend_ms=10, from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
    )
    async with Producer(fresh("tracing"), namesrv=namesrv, options=TRACED) as producer:
        sent = await producer.send(Message(topic, b"17 teapots", tags="paid", keys=["k1", "k2"]))
    consumer = PushConsumer(group, listener, namesrv=namesrv, options=options)
    consumer.subscribe(topic)
    async with consumer:
        await asyncio.wait_for(done.wait(), 30)
    async with Admin(namesrv=namesrv) as admin:
        trace = await read_until(
            admin, sent.msg_id, lambda found: bool(found.sends) and len(found.consumptions) == 2
        )
    (send,) = trace.sends
    assert (send.topic, send.group, send.tags, send.keys) == (topic, producer.group, "paid", "k1 k2")
    assert (send.body_length, send.offset_msg_id, send.is_success) == (10, sent.offset_msg_id, True)
    assert send.region_id == "DefaultRegion"
    first, second = trace.consumptions
    assert (first.group, first.is_success, first.context_code, first.retry_times) == (group, False, 2, 0)
    assert (second.is_success, second.context_code, second.retry_times) == (True, 0, 1)
    assert trace.doubts == (UNSEEN_GROUPS,)


async def test_a_message_of_which_nothing_is_traced_is_not_found(
    namesrv: str, fresh: Callable[[str], str]
) -> None:
    async with Producer(fresh("silent"), namesrv=namesrv) as producer:
        sent = await producer.send(Message(fresh("untraced"), b"x"))
    async with Admin(namesrv=namesrv) as admin:
        with pytest.raises(NotFound):
            await admin.traces.read(sent.msg_id)


async def test_a_batch_is_traced_with_all_its_ids(namesrv: str, fresh: Callable[[str], str]) -> None:
    topic = fresh("traced-batch")
    async with Producer(fresh("tracing"), namesrv=namesrv, options=TRACED) as producer:
        (sent,) = await producer.send_batch([Message(topic, b"a"), Message(topic, b"b")])
    async with Admin(namesrv=namesrv) as admin:
        for msg_id in sent.msg_id.split(","):
            trace = await read_until(admin, msg_id, lambda found: bool(found.sends))
            assert trace.sends[0].topic == topic


async def test_a_transaction_is_traced_with_its_half_message_and_its_end(
    namesrv: str, fresh: Callable[[str], str]
) -> None:
    async def check(message: ReceivedMessage) -> TransactionState:
        return TransactionState.UNKNOWN

    async def execute(message: Message) -> None: ...

    topic = fresh("traced-transaction")
    async with TransactionProducer(fresh("tx"), check, namesrv=namesrv, options=TRACED) as producer:
        result = await producer.send_in_transaction(Message(topic, b"x", tags="paid"), execute)
    async with Admin(namesrv=namesrv) as admin:
        trace = await read_until(admin, result.sent.msg_id, lambda found: bool(found.transactions))
    (send,) = trace.sends
    assert (send.topic, send.message_type) == (topic, TraceMessageType.TRANS_HALF)
    (end,) = trace.transactions
    assert (end.topic, end.state, end.is_from_check) == (topic, "COMMIT_MESSAGE", False)


async def test_when_no_broker_takes_traces_they_are_dropped_and_counted() -> None:
    instance = ClientInstance("127.0.0.1:1")
    tracer = Tracer(instance, "g", "PRODUCE", "RMQ_SYS_TRACE_TOPIC")
    tracer.start()
    for number in range(MAX_WAITING + 5):
        tracer.add(PubTrace(number, "R", "g", "t", f"ID{number}"))
    assert tracer.dropped_count == 5
    await tracer.close()
    await instance.close()


async def test_a_trace_after_the_close_is_dropped() -> None:
    instance = ClientInstance("127.0.0.1:1")
    tracer = Tracer(instance, "g", "PRODUCE", "RMQ_SYS_TRACE_TOPIC")
    tracer.add(PubTrace(1, "R", "g", "t", "ID"))
    assert tracer.dropped_count == 1
    await instance.close()


async def test_traces_travel_in_messages_within_the_limits() -> None:
    instance = ClientInstance("127.0.0.1:1")
    tracer = Tracer(instance, "g", "PRODUCE", "traces")
    tracer.start()
    for number in range(250):
        tracer.add(PubTrace(number, "R", "g", "t", f"ID{number:030d}", keys="k" * 1000))
    messages = list(tracer._messages())
    assert sum(message.body.count(b"Pub\x01") for message in messages) == 250
    assert all(len(message.body) <= 128_000 for message in messages)
    assert all(len(" ".join(message.keys)) < 32_000 for message in messages)
    tracer.add(PubTrace(1, "R", "g", "t", "ID", keys="k" * 40_000))
    assert list(tracer._messages()) == []
    assert tracer.dropped_count == 1
    await tracer.close()
    await instance.close()

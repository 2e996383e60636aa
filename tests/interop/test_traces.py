"""Traces: Java clients write and our reader reads; our clients write in the same encoding to any broker."""

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
)
from engine.client.tracing.trace_reader import MessageTrace
from engine.errors import NotFound

from .clusters import Cluster
from .java_client import JavaClient
from .python_client import Inbox
from .test_java_consumes import push_consumer

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
TIMEOUT_S = 60


async def trace_of(cluster: Cluster, msg_id: str, is_whole: Callable[[MessageTrace], bool]) -> MessageTrace:
    """What is traced once it is whole, or what there is when the time is over."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + TIMEOUT_S
    async with Admin(namesrv=cluster.name_server) as admin:
        while True:
            try:
                trace = await admin.traces.read(msg_id)
            except NotFound:
                trace = MessageTrace(msg_id)
            if is_whole(trace) or loop.time() > deadline:
                return trace
            await asyncio.sleep(0.3)


def is_consumed(trace: MessageTrace) -> bool:
    return bool(trace.sends) and any(call.is_success is not None for call in trace.consumptions)


async def test_what_java_clients_trace_is_read(cluster: Cluster, java: JavaClient, fresh: Fresh) -> None:
    topic, group, producers = fresh("traced"), fresh("group"), fresh("producers")
    (sent,) = java.do("send-sync", topic=topic, group=producers, prefix="m", tag="paid", trace="true")
    with push_consumer(java, fresh("consumer"), topic=topic, group=group, trace="true") as name:
        assert len(java.do("push-wait", name=name, count=1)) == 1
        trace = await trace_of(cluster, sent["msgId"], is_consumed)
    (send,) = trace.sends
    assert (send.topic, send.group, send.tags, send.keys) == (topic, producers, "paid", "key-m-0")
    assert (send.offset_msg_id, send.is_success, send.body_length) == (sent["offsetMsgId"], True, 3)
    assert [(call.group, call.is_success, call.retry_times) for call in trace.consumptions] == [
        (group, True, 0)
    ]


async def test_what_our_clients_trace_is_read(cluster: Cluster, fresh: Fresh) -> None:
    topic, group = fresh("traced"), fresh("group")
    inbox = Inbox()
    options = ConsumerOptions(trace=True, from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
    async with Producer(
        fresh("producers"), namesrv=cluster.name_server, options=ProducerOptions(trace=True)
    ) as producer:
        sent = await producer.send(Message(topic, b"body", tags="paid", keys="k"))
    consumer = PushConsumer(group, inbox, namesrv=cluster.name_server, options=options)
    consumer.subscribe(topic)
    async with consumer:
        assert len(await inbox.expect(1)) == 1
    trace = await trace_of(cluster, sent.msg_id, is_consumed)
    assert [(send.topic, send.tags, send.keys) for send in trace.sends] == [(topic, "paid", "k")]
    assert [(call.group, call.is_success) for call in trace.consumptions] == [(group, True)]

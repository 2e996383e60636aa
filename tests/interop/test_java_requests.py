"""Request and reply with the official Java client, alone and with ours at the other end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from engine.client import ConsumeFromWhere, ConsumerOptions, Message, Producer, PushConsumer, ReceivedMessage

from .clusters import Cluster
from .java_client import JavaClient, JavaError

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
FROM_FIRST = ConsumerOptions(from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)


def test_a_java_client_answers_another(
    java: JavaClient, java_clients: Callable[[str], JavaClient], fresh: Fresh
) -> None:
    topic, name = fresh("questions"), fresh("answerer")
    other = java_clients("4.9" if java.version == "5" else "5")
    java.do("send-sync", topic=topic)
    other.do("ask-answer", name=name, group=fresh("answerers"), topic=topic)
    group = fresh("askers")
    for number in range(3):
        assert java.do("ask-request", group=group, topic=topic, body=f"q{number}") == f"q{number}!"
    other.do("ask-stop", name=name)


def test_a_java_request_without_an_answer_times_out(java: JavaClient, fresh: Fresh) -> None:
    with pytest.raises(JavaError, match=r"(?i)timeout|time out"):
        java.do("ask-request", group=fresh("askers"), topic=fresh("questions"), body="?", timeoutMs=2_000)


async def test_our_client_answers_java(cluster: Cluster, java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("questions")
    async with Producer(fresh("answering"), namesrv=cluster.name_server) as producer:
        await producer.send(Message(topic, b"makes the topic"))

        async def answer(message: ReceivedMessage) -> None:
            if "REPLY_TO_CLIENT" in message.properties:
                await producer.reply(message, message.body + b" indeed")

        consumer = PushConsumer(fresh("oracle"), answer, namesrv=cluster.name_server, options=FROM_FIRST)
        consumer.subscribe(topic)
        async with consumer:
            question = java.begin("ask-request", group=fresh("askers"), topic=topic, body="yes")
            assert await _finished(java, question) == "yes indeed"


async def test_java_answers_our_client(cluster: Cluster, java: JavaClient, fresh: Fresh) -> None:
    topic, name = fresh("questions"), fresh("answerer")
    java.do("send-sync", topic=topic)
    java.do("ask-answer", name=name, group=fresh("answerers"), topic=topic)
    async with Producer(fresh("asking"), namesrv=cluster.name_server) as producer:
        reply = await producer.request(Message(topic, b"x" * 5_000), timeout_ms=30_000)
    assert reply.body == b"x" * 5_000 + b"!"
    java.do("ask-stop", name=name)


async def _finished(java: JavaClient, number: int) -> object:
    """The JVM is waited for in a thread: our own client must go on meanwhile."""
    return await asyncio.to_thread(java.finish, number)

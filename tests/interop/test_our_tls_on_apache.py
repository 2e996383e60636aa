"""Our client over TLS on Apache's servers, which by default make up a certificate that proves nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from engine.client import Admin, LitePullConsumer, LitePullOptions, Message, Producer, TlsOptions
from engine.errors import PeerUnreachable
from engine.protocol.bodies.clients import ConsumeFromWhere

from .clusters import Cluster

pytestmark = pytest.mark.needs_maven
UNVERIFIED = TlsOptions(verify=False)
FIRST = LitePullOptions(from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)


async def test_our_client_sends_and_receives_over_tls(apache: Cluster, fresh: Callable[[str], str]) -> None:
    where = {"namesrv": apache.name_server, "tls": UNVERIFIED}
    topic = fresh("tls")
    async with Producer(fresh("senders"), **where) as producer:
        for number in range(16):
            await producer.send(Message(topic, b"%d" % number))
        connection = producer.instance.requester.connected(apache.broker)
        assert connection is not None and connection.is_encrypted
    consumer = LitePullConsumer(fresh("readers"), options=FIRST, **where)
    consumer.subscribe(topic)
    got: set[bytes] = set()
    async with consumer, asyncio.timeout(60):
        while len(got) < 16:
            got |= {message.body for message in await consumer.poll()}
    assert got == {b"%d" % number for number in range(16)}


async def test_a_made_up_certificate_is_refused_unless_told_otherwise(apache: Cluster) -> None:
    async with Admin(namesrv=apache.name_server, tls=True) as admin:
        with pytest.raises(PeerUnreachable, match="certificate was refused"):
            await admin.brokers.config(apache.broker)

"""Bodies that are meant to hurt, over a real socket: each is refused or stored as it is.

The rows are those of the fault list on denial of service; others are answered meanwhile.
"""

from __future__ import annotations

import asyncio
import time
import zlib

import pytest

from engine.protocol.bodies.clients import HeartbeatData
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.properties import Property
from tests.engine.broker.peers import Peer, RunningBroker, records

COMPRESSED = 1


def heartbeat(subscriptions: int) -> bytes:
    each = ",".join(f'{{"topic":"t{n}","subString":"*","subVersion":1}}' for n in range(subscriptions))
    group = f'{{"groupName":"g","subscriptionDataSet":[{each}]}}'
    return f'{{"clientID":"x","consumerDataSet":[{group}],"producerDataSet":[]}}'.encode()


@pytest.mark.parametrize("subscriptions", [40_000, 250_000])
async def test_a_heartbeat_of_too_many_subscriptions_is_refused_before_it_is_decoded(
    broker: RunningBroker, peer: Peer, subscriptions: int
) -> None:
    other = Peer(broker.address, "other")
    await other.send("orders")
    body = heartbeat(subscriptions)
    begun = time.process_time()
    HeartbeatData.decode(body)
    decoding = time.process_time() - begun
    begun = time.process_time()
    refused, served = await asyncio.gather(peer.ask(RequestCode.HEART_BEAT, body=body), other.send("orders"))
    spent = time.process_time() - begun
    assert refused.code == ResponseCode.INVALID_PARAMETER
    assert "heartbeat" in (refused.remark or "")
    assert served.code == 0
    assert spent < decoding / 2, "sent, read and refused"
    await other.close()


async def test_ten_thousand_subscriptions_are_fine(peer: Peer) -> None:
    assert (await peer.ask(RequestCode.HEART_BEAT, body=heartbeat(10_000))).code == 0


async def test_a_decompression_bomb_is_stored_as_it_is(peer: Peer) -> None:
    """The broker never looks into a body: whoever does (our client) has a limit."""
    stream = zlib.compressobj(9)
    bomb = b"".join(stream.compress(bytes(1 << 20)) for _ in range(256)) + stream.flush()
    assert len(bomb) < 300_000
    properties = {Property.KEYS: "bomb"}
    assert (await peer.send("orders", bomb, sys_flag=COMPRESSED, properties=properties)).code == 0
    (record,) = records(await peer.pull("orders", 0))
    assert bytes(record.body) == bomb


@pytest.mark.parametrize("queues", [0, -1, 65_537, 1_000_000, 2**31 - 1])
async def test_a_topic_of_too_many_queues_is_refused(peer: Peer, queues: int) -> None:
    fields = {
        "topic": "wide",
        "defaultTopic": "TBW102",
        "readQueueNums": str(queues),
        "writeQueueNums": str(queues),
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "order": "false",
    }
    answer = await peer.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, fields)
    assert answer.code != 0
    assert (await peer.send("orders")).code == 0

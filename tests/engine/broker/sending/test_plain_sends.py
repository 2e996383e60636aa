"""Plain sends against the ordinary path: the same message under code 310 and, by long names, under code 10,
which is never plain."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import BINARY_HEADER, JSON_HEADER, Command, decode_header, encode_command
from engine.protocol.records import Record
from tests.engine.broker.peers import WAITING, Peer, RunningBroker, records, send_header

KEY = {"UNIQ_KEY": "U" * 32}


async def send_both_ways(peer: Peer, body: bytes = b"hello", **header: Any) -> tuple[Command, Command]:
    built = send_header(
        header.pop("topic", "orders"), header.pop("queue_id", 0), header.pop("properties", KEY), **header
    )
    plain = await peer.ask(RequestCode.SEND_MESSAGE_V2, built.to_v2().encode(), body)
    ordinary = await peer.ask(RequestCode.SEND_MESSAGE, built.encode(), body)
    return plain, ordinary


def answered(answer: Command) -> tuple[int, str | None, dict[str, str]]:
    own = {"msgId", "queueOffset"}
    return (
        answer.code,
        answer.remark,
        {name: value for name, value in answer.fields.items() if name not in own},
    )


def stored(record: Record) -> tuple[Any, ...]:
    return (
        record.topic,
        record.queue_id,
        record.flag,
        record.sys_flag,
        record.born_timestamp,
        record.born_host,
        record.reconsume_times,
        record.prepared_transaction_offset,
        record.body,
        record.properties,
    )


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"body": b""},
        {"queue_id": 3},
        {"flag": 7},
        {"sys_flag": 1},
        {"reconsume_times": 2},
        {"properties": {"TAGS": "blue", **KEY, "KEYS": "k1 k2", "WAIT": "false", "ключ": "значение"}},
        {"properties": {**KEY, "CLUSTER": "elsewhere", "POP_CK": "1 2"}},
    ],
    ids=str,
)
async def test_both_ways_store_and_answer_the_same(
    broker: RunningBroker, peer: Peer, message: dict[str, Any]
) -> None:
    await peer.send("orders", queue_id=1)
    plain, ordinary = await send_both_ways(peer, **message)
    assert plain.code == ResponseCode.SUCCESS
    assert answered(plain) == answered(ordinary)
    queue_id = message.get("queue_id", 0)
    await peer.pull("orders", 1, queue_id=queue_id, sys_flag=WAITING)
    first, second = records(await peer.pull("orders", 0, queue_id=queue_id))
    assert stored(first) == stored(second)
    assert (first.queue_offset, second.queue_offset) == (0, 1)
    assert [first.offset_msg_id, second.offset_msg_id] == [plain.fields["msgId"], ordinary.fields["msgId"]]


@pytest.mark.parametrize(
    "message",
    [
        {"queue_id": 99},
        {"body": b"x" * ((4 << 20) + 1)},
        {"topic": "SCHEDULE_TOPIC_XXXX"},
        {"topic": "bad topic"},
        {"properties": {**KEY, "a": "v" * 32_760}},
        {"properties": {**KEY, "DELAY": "no number"}},
    ],
    ids=lambda message: next(iter(message)),
)
async def test_both_ways_refuse_the_same(broker: RunningBroker, peer: Peer, message: dict[str, Any]) -> None:
    await peer.send("orders")
    plain, ordinary = await send_both_ways(peer, **message)
    assert answered(plain) == answered(ordinary)


@pytest.mark.parametrize(
    "settings",
    [
        {"start_accept_send_request_time_stamp": 1 << 60},
        {"wait_time_mills_in_send_queue": -1},
    ],
    ids=lambda settings: next(iter(settings)),
)
async def test_a_closed_broker_refuses_both_ways(
    broker: RunningBroker, peer: Peer, settings: dict[str, int]
) -> None:
    await peer.send("orders")
    for name, value in settings.items():
        setattr(broker.inner.options.live, name, value)
    plain, ordinary = await send_both_ways(peer)
    assert plain.code == ordinary.code != ResponseCode.SUCCESS


async def test_a_full_disk_refuses_both_ways(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    broker.inner.core.figures.disk.is_writable = False
    plain, ordinary = await send_both_ways(peer)
    assert answered(plain) == answered(ordinary)
    assert plain.code == ResponseCode.SERVICE_NOT_AVAILABLE


async def test_a_fenced_store_refuses_both_ways(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    broker.inner.core.store.log.fence()
    plain, ordinary = await send_both_ways(peer)
    assert answered(plain) == answered(ordinary)
    assert plain.code == ResponseCode.SERVICE_NOT_AVAILABLE


async def test_tracing_may_be_switched_off(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    broker.inner.options.live.trace_on = False
    plain, ordinary = await send_both_ways(peer, queue_id=2)
    assert answered(plain) == answered(ordinary)
    assert plain.fields["TRACE_ON"] == "false"


async def test_a_broker_without_write_permission_treats_both_alike(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    broker.inner.options.live.broker_permission = 4
    plain, ordinary = await send_both_ways(peer)
    assert answered(plain) == answered(ordinary)


async def test_a_topic_that_got_fewer_queues_is_noticed(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders", queue_id=3)
    assert (await peer.send("orders", queue_id=3, properties=KEY)).code == ResponseCode.SUCCESS
    topics = broker.inner.core.tables.topics
    config = topics.get("orders")
    assert config is not None
    topics.put(replace(config, write_queue_nums=2), 1)
    plain, ordinary = await send_both_ways(peer, queue_id=3)
    assert answered(plain) == answered(ordinary)


async def test_a_one_way_send_is_stored_and_not_answered(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders", properties=KEY)
    header = send_header("orders", 0, KEY).to_v2().encode()
    await peer.tell(RequestCode.SEND_MESSAGE_V2, header, b"one way")
    answer = await peer.send("orders", properties=KEY)
    assert answer.fields["queueOffset"] == "2"


async def test_a_binary_header_is_answered_in_kind(broker: RunningBroker) -> None:
    reader, writer = await asyncio.open_connection(*broker.inner.address)
    header = send_header("orders", 0, KEY).to_v2().encode()
    kinds = []
    for serialize_type in (JSON_HEADER, JSON_HEADER, BINARY_HEADER):
        request = Command(RequestCode.SEND_MESSAGE_V2, 5, fields=header, serialize_type=serialize_type)
        writer.write(encode_command(request))
        size = int.from_bytes(await reader.readexactly(4), "big")
        frame = await reader.readexactly(size)
        kinds.append(frame[0])
        answer = decode_header(frame[0], frame[4:], b"")
        assert (answer.code, answer.opaque, answer.fields["queueId"]) == (0, 5, "0")
    assert kinds == [JSON_HEADER, JSON_HEADER, BINARY_HEADER]
    writer.close()
    await writer.wait_closed()

"""Delay levels over a real socket: parked, delivered when due, never early, across restarts."""

from __future__ import annotations

import asyncio
import time

from engine.protocol.batches import BatchItem, encode_batch
from engine.protocol.bodies.offsets import DelayOffsetSerializeWrapper
from engine.protocol.codes import RequestCode
from engine.protocol.records import Record
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import WAITING, Peer, RunningBroker, eventually, records, send_header

SHORT = "1s 2s 3s"


async def delivered(peer: Peer, topic: str, count: int, timeout_s: float = 8) -> list[Record]:
    async with asyncio.timeout(timeout_s):
        while True:
            answer = await peer.pull(topic, 0)
            if answer.code == 0 and len(records(answer)) >= count:
                return records(answer)
            await asyncio.sleep(0.02)


def end_of(broker: RunningBroker, level: int) -> int:
    return broker.inner.core.store.queues.max_offset("SCHEDULE_TOPIC_XXXX", level - 1)


async def test_a_delayed_message_is_delivered_once_its_time_has_come(
    broker: RunningBroker, peer: Peer
) -> None:
    sent_ms = time.time() * 1000
    answer = await peer.send("orders", b"later", queue_id=2, properties={"DELAY": "1", "TAGS": "blue"})
    assert answer.code == 0
    assert (answer.fields["queueId"], answer.fields["queueOffset"]) == ("2", "0")
    assert answer.fields["transactionId"]
    await eventually(lambda: end_of(broker, 1) == 1)
    assert broker.inner.core.store.queues.max_offset("orders", 2) == 0

    pulled = await peer.pull("orders", 0, queue_id=2, sys_flag=WAITING, subscription="blue")
    (record,) = records(pulled)
    assert record.body == b"later"
    assert record.store_timestamp - sent_ms >= 1000
    assert time.time() * 1000 - sent_ms < 2500
    # Brokers of RocketMQ 4.9 and 5 deliver it with its level, and consumers may read it there.
    assert record.properties["DELAY"] == "1"
    assert (record.properties["REAL_TOPIC"], record.properties["REAL_QID"]) == ("orders", "2")
    assert record.uniq_key == answer.fields["transactionId"]
    assert broker.inner.core.figures.traffic.put_by_topic["orders"].messages == 1


async def test_a_level_above_the_last_waits_as_long_as_the_last(start_broker: StartBroker) -> None:
    broker = await start_broker(messageDelayLevel=SHORT)
    peer = Peer(broker.address)
    await peer.send("orders", b"far", properties={"DELAY": "99"})
    await eventually(lambda: end_of(broker, 3) == 1)
    assert await delivered(peer, "orders", 1)
    await peer.close()


async def test_a_delay_of_zero_or_less_is_none(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders", b"now", properties={"DELAY": "0"})
    await peer.send("orders", b"now", properties={"DELAY": "-1"})
    assert len(await delivered(peer, "orders", 2, 2)) == 2


async def test_a_restart_delivers_the_rest_and_nothing_twice(start_broker: StartBroker) -> None:
    broker = await start_broker(messageDelayLevel=SHORT)
    peer = Peer(broker.address)
    await peer.send("orders", b"first", properties={"DELAY": "1"})
    await peer.send("orders", b"second", properties={"DELAY": "3"})
    await delivered(peer, "orders", 1)
    await peer.close()
    await broker.stop()

    broker = await start_broker(messageDelayLevel=SHORT)
    peer = Peer(broker.address)
    found = await delivered(peer, "orders", 2)
    assert [record.body for record in found] == [b"first", b"second"]
    await peer.close()


async def test_what_was_delivered_but_not_noted_before_a_crash_is_not_delivered_again(
    start_broker: StartBroker,
) -> None:
    broker = await start_broker(messageDelayLevel=SHORT)
    peer = Peer(broker.address)
    for number in range(5):
        await peer.send("orders", b"%d" % number, properties={"DELAY": "1"})
    await delivered(peer, "orders", 5)
    await peer.close()
    await broker.stop()
    for name in ("delayOffset.json", "delayOffset.json.bak"):
        (broker.inner.core.runtime.config_directory / name).unlink(missing_ok=True)

    broker = await start_broker(messageDelayLevel=SHORT)
    peer = Peer(broker.address)
    await eventually(lambda: broker.inner.core.tables.delays.get(1) == 5)
    await peer.send("orders", b"new", properties={"DELAY": "1"})
    found = await delivered(peer, "orders", 6)
    assert [record.body for record in found] == [b"0", b"1", b"2", b"3", b"4", b"new"]
    await peer.close()


async def test_offsets_past_the_queue_are_corrected(start_broker: StartBroker) -> None:
    broker = await start_broker(messageDelayLevel=SHORT)
    broker.inner.core.tables.delays.set(2, 40)
    peer = Peer(broker.address)
    await peer.send("orders", b"x", properties={"DELAY": "1"})
    await eventually(lambda: broker.inner.core.tables.delays.get(2) == 0)
    assert await delivered(peer, "orders", 1)
    await peer.close()


async def test_administrators_see_how_far_each_level_is(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders", b"x", properties={"DELAY": "1"})
    await peer.send("orders", b"x", properties={"DELAY": "5"})
    await delivered(peer, "orders", 1)
    info = (await peer.ask(RequestCode.GET_BROKER_RUNTIME_INFO)).body
    assert b'"scheduleMessageOffset_1":"1,1"' in info
    assert b'"scheduleMessageOffset_5":"0,1"' in info
    answer = await peer.ask(RequestCode.GET_ALL_DELAY_OFFSET)
    assert DelayOffsetSerializeWrapper.decode(answer.body).offset_table[1] == 1


async def test_a_delay_inside_a_batch_is_refused(broker: RunningBroker, peer: Peer) -> None:
    header = send_header("orders", 0, {}, batch=True)
    body = encode_batch([BatchItem(0, b"x", b"DELAY\x013\x02")])
    answer = await peer.ask(RequestCode.SEND_BATCH_MESSAGE, header.to_v2().encode(), body)
    assert answer.code == 13
    assert broker.inner.core.store.log.max_offset == 0

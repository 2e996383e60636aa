"""Timed messages over a real socket: delivered in their second, called back, across restarts and rolls."""

from __future__ import annotations

import asyncio
import time

import pytest

from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.layouts.checkpoints import decode_timer_check
from engine.protocol.message_ids import RecallHandle, encode_recall_handle
from engine.protocol.records import Record
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer, RunningBroker, eventually, records


def now_ms() -> int:
    return int(time.time() * 1000)


async def delivered(peer: Peer, topic: str, count: int, timeout_s: float = 10) -> list[Record]:
    async with asyncio.timeout(timeout_s):
        while True:
            answer = await peer.pull(topic, 0)
            if answer.code == 0 and len(records(answer)) >= count:
                return records(answer)
            await asyncio.sleep(0.02)


async def recall(peer: Peer, handle: str, topic: str = "orders") -> Command:
    return await peer.ask(RequestCode.RECALL_MESSAGE, {"topic": topic, "recallHandle": handle})


async def timed(peer: Peer, body: bytes, delay_ms: int) -> tuple[Command, int]:
    deliver_ms = now_ms() + delay_ms
    answer = await peer.send("orders", body, properties={"TIMER_DELIVER_MS": str(deliver_ms), "TAGS": "t"})
    assert answer.code == 0
    return answer, deliver_ms


async def test_a_timed_message_is_delivered_within_a_second_of_its_time(
    broker: RunningBroker, peer: Peer
) -> None:
    answer, deliver_ms = await timed(peer, b"x", 1300)
    assert answer.fields["queueId"] == "0"
    assert answer.fields["recallHandle"]
    assert broker.inner.core.store.queues.max_offset("orders", 0) == 0
    (record,) = await delivered(peer, "orders", 1)
    assert 0 <= record.store_timestamp - deliver_ms < 700
    assert "REAL_TOPIC" not in record.properties
    assert int(record.properties["TIMER_DEQUEUE_MS"]) >= deliver_ms
    assert record.properties["TIMER_OUT_MS"]
    assert record.uniq_key == answer.fields["transactionId"]


async def test_messages_of_one_second_come_by_their_times_and_then_in_their_order(
    broker: RunningBroker, peer: Peer
) -> None:
    deliver_ms = (now_ms() // 1000 + 2) * 1000
    for number in range(20):
        properties = {"TIMER_DELIVER_MS": str(deliver_ms - number // 10 * 500)}
        await peer.send("orders", b"%d" % number, properties=properties)
    found = await delivered(peer, "orders", 20)
    assert [int(record.body) for record in found] == [*range(10, 20), *range(10)]
    assert all(record.store_timestamp >= int(record.properties["TIMER_DELIVER_MS"]) for record in found)


async def test_what_is_called_back_is_never_delivered(start_broker: StartBroker) -> None:
    broker = await start_broker(recallMessageEnable="true")
    peer = Peer(broker.address)
    gone, _ = await timed(peer, b"gone", 2200)
    kept, _ = await timed(peer, b"kept", 2200)
    answer = await recall(peer, gone.fields["recallHandle"])
    assert answer.code == 0
    assert answer.fields["msgId"] == gone.fields["transactionId"]
    assert answer.fields["MSG_REGION"] == "DefaultRegion"
    found = await delivered(peer, "orders", 1)
    assert [record.body for record in found] == [b"kept"]
    last = broker.inner.tasks.master.waiting.timer_store.read_time_ms
    await eventually(lambda: broker.inner.tasks.master.waiting.timer_store.read_time_ms >= last + 1000)
    assert broker.inner.core.store.queues.max_offset("orders", 0) == 1
    late = await recall(peer, kept.fields["recallHandle"])
    assert late.code == ResponseCode.ILLEGAL_OPERATION
    await peer.close()


@pytest.mark.parametrize(
    ("topic", "handle_topic", "broker_name", "ahead_ms", "code"),
    [
        ("orders", "orders", "broker-a", 50_000, ResponseCode.SUCCESS),
        ("orders", "others", "broker-a", 50_000, ResponseCode.ILLEGAL_OPERATION),
        ("orders", "orders", "broker-b", 50_000, ResponseCode.ILLEGAL_OPERATION),
        ("orders", "orders", "broker-a", -1, ResponseCode.ILLEGAL_OPERATION),
        ("orders", "orders", "broker-a", 259_300_000, ResponseCode.ILLEGAL_OPERATION),
        ("unknown", "unknown", "broker-a", 50_000, ResponseCode.TOPIC_NOT_EXIST),
    ],
)
async def test_a_recall_is_checked(
    start_broker: StartBroker, topic: str, handle_topic: str, broker_name: str, ahead_ms: int, code: int
) -> None:
    broker = await start_broker(recallMessageEnable="true")
    peer = Peer(broker.address)
    await peer.send("orders")
    end = broker.inner.core.store.log.max_offset
    handle = encode_recall_handle(RecallHandle(handle_topic, broker_name, now_ms() + ahead_ms, "U"))
    assert (await recall(peer, handle, topic)).code == code
    assert (broker.inner.core.store.log.max_offset > end) == (code == 0)
    assert (await recall(peer, "nonsense")).code == ResponseCode.ILLEGAL_OPERATION
    await peer.close()


async def test_recalls_are_forbidden_unless_switched_on(broker: RunningBroker, peer: Peer) -> None:
    answer, _ = await timed(peer, b"x", 60_000)
    assert (await recall(peer, answer.fields["recallHandle"])).code == ResponseCode.NO_PERMISSION


async def test_a_restart_keeps_what_waits(start_broker: StartBroker) -> None:
    broker = await start_broker()
    peer = Peer(broker.address)
    await timed(peer, b"during", 500)
    await timed(peer, b"after", 3500)
    await delivered(peer, "orders", 1)
    await peer.close()
    await broker.stop()
    broker = await start_broker()
    peer = Peer(broker.address)
    found = await delivered(peer, "orders", 2)
    assert [record.body for record in found] == [b"during", b"after"]
    await peer.close()


async def test_without_its_files_everything_is_found_again_and_nothing_twice(
    start_broker: StartBroker,
) -> None:
    broker = await start_broker()
    peer = Peer(broker.address)
    await timed(peer, b"during", 500)
    await timed(peer, b"after", 4500)
    await delivered(peer, "orders", 1)
    await peer.close()
    await broker.stop()
    root = broker.inner.core.store.options.root
    for name in ("config/timercheck", "config/timercheck.bak", "timerwheel"):
        (root / name).unlink(missing_ok=True)
    broker = await start_broker()
    peer = Peer(broker.address)
    found = await delivered(peer, "orders", 2)
    assert [record.body for record in found] == [b"during", b"after"]
    await peer.close()


async def test_without_its_files_a_recall_is_still_heard(start_broker: StartBroker) -> None:
    broker = await start_broker(recallMessageEnable="true")
    peer = Peer(broker.address)
    gone, deliver_ms = await timed(peer, b"gone", 2000)
    await timed(peer, b"kept", 2000)
    assert (await recall(peer, gone.fields["recallHandle"])).code == 0
    await peer.close()
    await broker.stop()
    root = broker.inner.core.store.options.root
    for name in ("config/timercheck", "config/timercheck.bak", "timerwheel"):
        (root / name).unlink(missing_ok=True)
    await asyncio.sleep(max(0, deliver_ms + 1100 - now_ms()) / 1000)
    broker = await start_broker(recallMessageEnable="true")
    peer = Peer(broker.address)
    assert [record.body for record in await delivered(peer, "orders", 1)] == [b"kept"]
    await eventually(lambda: broker.inner.tasks.master.waiting.timer_store.read_time_ms > deliver_ms)
    assert broker.inner.core.store.queues.max_offset("orders", 0) == 1
    await peer.close()


async def test_a_message_beyond_the_window_rolls_until_its_time(start_broker: StartBroker) -> None:
    broker = await start_broker(timerRollWindowSlot="2")
    peer = Peer(broker.address)
    _, deliver_ms = await timed(peer, b"far", 5500)
    (record,) = await delivered(peer, "orders", 1, 12)
    assert int(record.properties["TIMER_ROLL_TIMES"]) >= 1
    assert 0 <= record.store_timestamp - deliver_ms < 1500
    await peer.close()


async def test_tools_see_what_waits(broker: RunningBroker, peer: Peer) -> None:
    await timed(peer, b"x", 60_000)
    await eventually(lambda: broker.inner.tasks.master.waiting.timer_store.queue_offset == 1)
    info = (await peer.ask(RequestCode.GET_BROKER_RUNTIME_INFO)).body
    assert b'"timerCongestNum":"1"' in info
    check = decode_timer_check((await peer.ask(RequestCode.GET_TIMER_CHECK_POINT)).body)
    assert check.timer_queue_offset == 1
    assert check.timer_log_flush_pos == 52
    metrics = (await peer.ask(RequestCode.GET_TIMER_METRICS)).body
    assert b'"orders"' in metrics


async def test_a_broker_may_allow_more_than_three_days(start_broker: StartBroker) -> None:
    broker = await start_broker(timerMaxDelaySec="864000")
    peer = Peer(broker.address)
    assert (await peer.send("orders", properties={"TIMER_DELAY_SEC": "864000"})).code == 0
    end = broker.inner.core.store.log.max_offset
    refused = await peer.send("orders", properties={"TIMER_DELAY_SEC": "864001"})
    assert refused.code == ResponseCode.MESSAGE_ILLEGAL
    assert broker.inner.core.store.log.max_offset == end
    await peer.close()

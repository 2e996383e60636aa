"""Popping in order: a queue is blocked until what it gave is acknowledged or its time has passed."""

from __future__ import annotations

import asyncio

from engine.protocol.bodies.pop import BatchAck, BatchAckMessageRequestBody, encode_bit_set
from engine.protocol.codes import RequestCode, ResponseCode
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer, RunningBroker, eventually
from tests.engine.broker.pop.popping import ack, ask_pop, change, pop

SOON = 300


async def fill(broker: RunningBroker, peer: Peer, count: int) -> None:
    for number in range(count):
        assert (await peer.send("orders", str(number).encode(), queue_id=0)).code == 0
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == count)


async def test_the_queue_is_blocked_until_all_is_acknowledged(broker: RunningBroker, peer: Peer) -> None:
    await fill(broker, peer, 4)
    given = await pop(peer, "orders", order=True, max_msg_nums=2)
    assert [m.body for m in given] == [b"0", b"1"]
    assert all(m.handle.revive_queue_id == 999 for m in given)
    assert (await ask_pop(peer, "orders", order=True)).code == ResponseCode.POLLING_TIMEOUT
    assert (await ack(peer, given[0])).code == 0
    assert broker.inner.core.tables.offsets.committed("orders", "poppers", 0) == 1
    waiting = asyncio.create_task(pop(peer, "orders", order=True, poll_time=5_000))
    await eventually(lambda: len(broker.inner.tasks.waits.holds) == 1)
    assert (await ack(peer, given[1])).code == 0
    assert [m.body for m in await waiting] == [b"2", b"3"]


async def test_what_is_not_acknowledged_comes_again_in_place_and_is_counted(
    broker: RunningBroker, peer: Peer
) -> None:
    await fill(broker, peer, 2)
    first = await pop(peer, "orders", order=True, invisible_time=SOON)
    assert (await ack(peer, first[0])).code == 0
    answer = await ask_pop(peer, "orders", order=True, poll_time=5_000)
    assert answer.fields["msgOffsetInfo"] == "0 0 1"
    assert answer.fields["orderCountInfo"] == "0 qo0%1 1;0 0 1"
    assert (await ack(peer, first[1])).code == 0, "too late is no error"
    assert broker.inner.core.tables.offsets.committed("orders", "poppers", 0) == 1


async def test_the_same_attempt_may_pop_again(broker: RunningBroker, peer: Peer) -> None:
    await fill(broker, peer, 2)
    first = await pop(peer, "orders", order=True, attempt_id="a1")
    again = await pop(peer, "orders", order=True, attempt_id="a1")
    assert [m.body for m in first] == [m.body for m in again] == [b"0", b"1"]
    assert (await ask_pop(peer, "orders", order=True, attempt_id="a2")).code == ResponseCode.POLLING_TIMEOUT


async def test_an_attempt_id_is_no_room_for_other_things(broker: RunningBroker, peer: Peer) -> None:
    """It is kept while the pop waits, and in consumerOrderInfo.json."""
    await fill(broker, peer, 1)
    longest, too_long = "a" * 256, "a" * 257
    answer = await ask_pop(peer, "orders", order=True, attempt_id=too_long, poll_time=5_000)
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert "257" in (answer.remark or "")
    assert (await ask_pop(peer, "orders", order=True, attempt_id=longest)).code == 0
    unordered = await ask_pop(peer, "orders", consumer_group="others", attempt_id=too_long)
    assert unordered.code == 0, "nobody looks at it"


async def test_a_changed_time_frees_the_queue(broker: RunningBroker, peer: Peer) -> None:
    await fill(broker, peer, 1)
    (given,) = await pop(peer, "orders", order=True)
    waiting = asyncio.create_task(pop(peer, "orders", order=True, poll_time=5_000))
    await eventually(lambda: len(broker.inner.tasks.waits.holds) == 1)
    answer = await change(peer, given, SOON)
    assert answer.code == 0
    assert answer.fields["popTime"] == str(given.handle.pop_time_ms)
    assert answer.fields["reviveQid"] == "999"
    assert [m.body for m in await waiting] == [b"0"]


async def test_ordered_messages_are_acknowledged_together(broker: RunningBroker, peer: Peer) -> None:
    await fill(broker, peer, 3)
    first, *_ = await pop(peer, "orders", order=True)
    bits = encode_bit_set(0, [0, 2, 9])
    part = BatchAck("poppers", "orders", "0", 0, 0, 999, first.handle.pop_time_ms, 60_000, bits)
    body = BatchAckMessageRequestBody("broker-a", (part,)).encode()
    assert (await peer.ask(RequestCode.BATCH_ACK_MESSAGE, body=body)).code == 0
    assert broker.inner.core.tables.offsets.committed("orders", "poppers", 0) == 1


async def test_a_blocked_queue_is_blocked_after_a_restart(start_broker: StartBroker) -> None:
    broker = await start_broker()
    peer = Peer(broker.address)
    await fill(broker, peer, 2)
    given = await pop(peer, "orders", order=True)
    await ack(peer, given[0])
    await peer.close()
    await broker.stop()
    broker = await start_broker()
    peer = Peer(broker.address)
    assert (await ask_pop(peer, "orders", order=True)).code == ResponseCode.POLLING_TIMEOUT
    assert (await ack(peer, given[1])).code == 0
    assert broker.inner.core.tables.offsets.committed("orders", "poppers", 0) == 2
    await peer.close()


async def test_a_reset_frees_the_queue(broker: RunningBroker, peer: Peer) -> None:
    await fill(broker, peer, 3)
    await pop(peer, "orders", order=True)
    broker.inner.core.tables.offsets.reset("orders", "poppers", 0, 1)
    assert [m.body for m in await pop(peer, "orders", order=True)] == [b"1", b"2"]

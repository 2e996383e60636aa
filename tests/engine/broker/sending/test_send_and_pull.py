"""Sends and pulls over a real socket: what is answered, what is stored, what is woken."""

from __future__ import annotations

import asyncio

import pytest

from engine.protocol.codes import RequestCode, ResponseCode
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import WAITING, Peer, RunningBroker, eventually, records, send_header


async def pull_until(peer: Peer, topic: str, count: int) -> list[bytes]:
    async with asyncio.timeout(5):
        while True:
            answer = await peer.pull(topic, 0)
            if answer.code == 0 and len(records(answer)) >= count:
                return [record.body for record in records(answer)]
            await asyncio.sleep(0.005)


async def test_what_was_sent_is_pulled(broker: RunningBroker, peer: Peer) -> None:
    answer = await peer.send(
        "orders", b"one", properties={"KEYS": "k1", "TAGS": "blue", "UNIQ_KEY": "U" * 32}
    )

    assert answer.code == ResponseCode.SUCCESS
    assert answer.fields["queueId"] == "0"
    assert answer.fields["queueOffset"] == "0"
    assert answer.fields["MSG_REGION"] == "DefaultRegion"
    assert answer.fields["TRACE_ON"] == "true"
    assert answer.fields["transactionId"] == "U" * 32
    pulled = await peer.pull("orders", 0, sys_flag=WAITING)
    (record,) = records(pulled)
    assert record.body == b"one"
    assert record.topic == "orders"
    assert record.properties["CLUSTER"] == "TestCluster"
    assert record.properties["TAGS"] == "blue"
    assert record.offset_msg_id == answer.fields["msgId"]
    assert pulled.remark == "FOUND"
    assert pulled.fields["nextBeginOffset"] == "1"
    assert (pulled.fields["minOffset"], pulled.fields["maxOffset"]) == ("0", "1")
    assert pulled.fields["suggestWhichBrokerId"] == "0"


async def test_the_long_named_header_and_the_binary_form_store_the_same(
    broker: RunningBroker, peer: Peer
) -> None:
    fields = send_header("orders", 1, {"TAGS": "a"}).encode()
    answer = await peer.ask(RequestCode.SEND_MESSAGE, fields, b"long names")
    assert answer.code == 0
    assert answer.fields["queueId"] == "1"


async def test_a_message_without_unique_key_gets_one(broker: RunningBroker, peer: Peer) -> None:
    answer = await peer.send("orders")
    assert len(answer.fields["transactionId"]) == 32
    (record,) = records(await peer.pull("orders", 0, sys_flag=WAITING))
    assert record.properties["UNIQ_KEY"] == answer.fields["transactionId"]


async def test_a_batch_is_stored_in_one_stretch(broker: RunningBroker, peer: Peer) -> None:
    answer = await peer.send_batch("orders", [b"a", b"b", b"c"])

    assert answer.code == 0
    assert answer.fields["queueOffset"] == "0"
    ids = answer.fields["msgId"].split(",")
    assert len(ids) == 3
    assert await pull_until(peer, "orders", 3) == [b"a", b"b", b"c"]
    stored = records(await peer.pull("orders", 0))
    assert [record.offset_msg_id for record in stored] == ids
    assert [record.queue_offset for record in stored] == [0, 1, 2]
    assert stored[0].properties == {"TAGS": "t"}


async def test_a_negative_queue_id_lets_the_broker_choose(broker: RunningBroker, peer: Peer) -> None:
    chosen = {(await peer.send("orders", queue_id=-1)).fields["queueId"] for _ in range(50)}
    assert chosen <= {"0", "1", "2", "3"}
    assert len(chosen) > 1


async def test_one_way_sends_are_stored_and_not_answered(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders", b"first")
    await peer.tell(RequestCode.SEND_MESSAGE_V2, send_header("orders", 0, {}).to_v2().encode(), b"second")
    assert await pull_until(peer, "orders", 2) == [b"first", b"second"]


async def test_a_pull_past_the_end_is_held_until_a_message_arrives(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders", b"old")
    await pull_until(peer, "orders", 1)
    waiting = asyncio.create_task(peer.pull("orders", 1, sys_flag=WAITING))
    await eventually(lambda: len(broker.inner.tasks.waits.holds) == 1)
    assert not waiting.done()

    await peer.send("orders", b"new")

    answer = await asyncio.wait_for(waiting, 2)
    assert [record.body for record in records(answer)] == [b"new"]


async def test_a_held_pull_is_not_woken_by_another_tag_or_queue(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders", b"old")
    await pull_until(peer, "orders", 1)
    waiting = asyncio.create_task(peer.pull("orders", 1, sys_flag=WAITING, subscription="blue || green"))
    await eventually(lambda: len(broker.inner.tasks.waits.holds) == 1)

    await peer.send("orders", b"other queue", queue_id=1, properties={"TAGS": "blue"})
    await peer.send("orders", b"other tag", properties={"TAGS": "red"})
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 2)
    assert not waiting.done()

    await peer.send("orders", b"wanted", properties={"TAGS": "green"})
    answer = await asyncio.wait_for(waiting, 2)
    assert [record.body for record in records(answer)] == [b"wanted"]
    assert answer.fields["nextBeginOffset"] == "3"


async def test_a_held_pull_is_answered_when_its_time_is_up(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    await pull_until(peer, "orders", 1)
    answer = await peer.pull("orders", 1, sys_flag=WAITING, suspend_timeout_millis=60)
    assert answer.code == ResponseCode.PULL_NOT_FOUND
    assert answer.remark == "OFFSET_OVERFLOW_ONE"
    assert answer.fields["nextBeginOffset"] == "1"
    assert len(broker.inner.tasks.waits.holds) == 0


async def test_a_held_pull_of_a_closed_connection_is_dropped(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    other = Peer(broker.address)
    waiting = asyncio.create_task(other.pull("orders", 1, sys_flag=WAITING))
    await eventually(lambda: len(broker.inner.tasks.waits.holds) == 1)

    await other.close()

    await eventually(lambda: len(broker.inner.tasks.waits.holds) == 0)
    await asyncio.gather(waiting, return_exceptions=True)
    await eventually(lambda: broker.inner.net.serving.in_flight == 0)


async def test_offsets_outside_the_queue_are_moved(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    await pull_until(peer, "orders", 1)
    answer = await peer.pull("orders", 99, sys_flag=WAITING)
    assert answer.code == ResponseCode.PULL_OFFSET_MOVED
    assert answer.remark == "OFFSET_OVERFLOW_BADLY"
    assert answer.fields["nextBeginOffset"] == "1"
    never_written = await peer.pull("orders", 5, queue_id=3)
    assert never_written.code == ResponseCode.PULL_OFFSET_MOVED
    assert (await peer.pull("orders", 0, queue_id=3)).code == ResponseCode.PULL_NOT_FOUND


async def test_tags_filter_what_is_pulled(broker: RunningBroker, peer: Peer) -> None:
    for tag in ("a", "b", "a"):
        await peer.send("orders", tag.encode(), properties={"TAGS": tag})
    await pull_until(peer, "orders", 3)

    chosen = await peer.pull("orders", 0, subscription="a")
    assert [record.body for record in records(chosen)] == [b"a", b"a"]
    none = await peer.pull("orders", 0, subscription="zzz")
    assert none.code == ResponseCode.PULL_RETRY_IMMEDIATELY
    assert none.fields["nextBeginOffset"] == "3"


async def test_synchronous_flush_answers_after_the_disk_has_it(start_broker: StartBroker) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH")
    peer = Peer(broker.address)
    await peer.send("orders")
    flushes_before = broker.inner.core.store.stats.flush_count

    answers = await asyncio.gather(*(peer.send("orders", b"%d" % n) for n in range(200)))

    assert {answer.code for answer in answers} == {0}
    assert broker.inner.core.store.log.flushed_offset == broker.inner.core.store.log.max_offset
    # Group commit: one sync answers many sends.
    assert broker.inner.core.store.stats.flush_count - flushes_before < 100
    assert len(await pull_until(peer, "orders", 32)) == 32
    await peer.close()


async def test_synchronous_flush_is_not_waited_for_by_who_does_not_want_to(start_broker: StartBroker) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH")
    peer = Peer(broker.address)
    await peer.send("orders")
    answer = await peer.send("orders", b"careless", properties={"WAIT": "false"})
    assert answer.code == 0
    assert b"careless" in await pull_until(peer, "orders", 2)
    await peer.close()


async def test_many_waiting_pulls_are_all_woken(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    waiting = [asyncio.create_task(peer.pull("orders", 1, sys_flag=WAITING)) for _ in range(200)]
    await eventually(lambda: len(broker.inner.tasks.waits.holds) == 200)
    await peer.send("orders", b"news")
    answers = await asyncio.wait_for(asyncio.gather(*waiting), 5)
    assert {answer.code for answer in answers} == {0}
    assert len(broker.inner.tasks.waits.holds) == 0


async def test_one_client_cannot_park_without_end(
    broker: RunningBroker, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.broker.process.waits.MAX_HOLDS_PER_CLIENT", 1)
    await peer.send("orders")
    waiting = asyncio.create_task(peer.pull("orders", 1, sys_flag=WAITING))
    await eventually(lambda: len(broker.inner.tasks.waits.holds) == 1)
    assert (await peer.pull("orders", 1, sys_flag=WAITING)).code == ResponseCode.PULL_NOT_FOUND
    assert not waiting.done()
    await peer.send("orders")
    assert (await waiting).code == 0

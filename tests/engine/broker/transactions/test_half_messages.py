"""Transactions over the wire, on a real broker: half messages, decisions, questions, starts after a crash."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.broker.transactions.half_messages import committed_draft
from engine.protocol.bodies.clients import HeartbeatData, ProducerData
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.send import CheckTransactionStateRequest, EndTransactionRequest
from engine.protocol.message_ids import parse_offset_msg_id
from engine.protocol.names import (
    TIMER_TOPIC,
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_GROUP,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)
from engine.protocol.records import Record, decode_record
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer, RunningBroker, eventually, records

COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0
HALF = {"TRAN_MSG": "true", "PGROUP": "producers", "TAGS": "paid"}
QUICK = {"transactionCheckInterval": "30", "transactionTimeOut": "0"}


async def send_half(peer: Peer, topic: str = "orders", **properties: str) -> Command:
    given = {**HALF, **properties}
    born_ms = int(time.time() * 1000) - 2_000
    answer = await peer.send(
        topic, b"17 teapots", queue_id=2, properties=given, sys_flag=4, born_timestamp=born_ms
    )
    assert answer.code == ResponseCode.SUCCESS, answer.remark
    return answer


async def end(peer: Peer, half: Command, decision: int, **changes: object) -> Command:
    _, commit_log_offset = parse_offset_msg_id(half.fields["msgId"])
    values: dict[str, object] = {
        "producer_group": "producers",
        "tran_state_table_offset": int(half.fields["queueOffset"]),
        "commit_log_offset": commit_log_offset,
        "commit_or_rollback": decision,
        "msg_id": half.fields["transactionId"],
    }
    header = EndTransactionRequest(**{**values, **changes})  # type: ignore[arg-type]
    return await peer.ask(RequestCode.END_TRANSACTION, header.encode())


async def stored(peer: Peer, topic: str, queue_id: int = 0) -> list[Record]:
    answer = await peer.pull(topic, 0, queue_id=queue_id)
    return records(answer) if answer.code == ResponseCode.SUCCESS else []


async def delivered(peer: Peer, topic: str = "orders") -> list[Record]:
    return await stored(peer, topic, queue_id=2)


async def join(peer: Peer, group: str = "producers") -> None:
    beat = HeartbeatData(peer.client_id, (ProducerData(group),))
    assert (await peer.ask(RequestCode.HEART_BEAT, body=beat.encode())).code == 0


async def question(peer: Peer) -> tuple[CheckTransactionStateRequest, Record]:
    async with asyncio.timeout(5):
        request = await peer.notices.get()
    assert request.code == RequestCode.CHECK_TRANSACTION_STATE
    return CheckTransactionStateRequest.decode(request.fields), decode_record(request.body)


async def answer_question(peer: Peer, asked: CheckTransactionStateRequest, decision: int) -> Command:
    header = EndTransactionRequest(
        "producers",
        asked.tran_state_table_offset,
        asked.commit_log_offset,
        decision,
        asked.msg_id or "",
        from_transaction_check=True,
    )
    return await peer.ask(RequestCode.END_TRANSACTION, header.encode())


async def crash(broker: RunningBroker, tmp_path: Path) -> None:
    """Put the files back as they are now once the broker has stopped: as if it had been killed."""
    snapshot = tmp_path / "snapshot"
    shutil.copytree(tmp_path / "store", snapshot)
    await broker.stop()
    shutil.rmtree(tmp_path / "store")
    snapshot.rename(tmp_path / "store")
    (tmp_path / "store" / "lock").unlink(missing_ok=True)


@pytest.fixture
async def quick(start_broker: StartBroker) -> AsyncIterator[tuple[RunningBroker, Peer]]:
    broker = await start_broker(**QUICK)
    peer = Peer(broker.address)
    yield broker, peer
    await peer.close()


# -- deciding -----------------------------------------------------------------------------------------------


async def test_a_half_message_is_shown_to_nobody(peer: Peer) -> None:
    half = await send_half(peer)
    assert half.fields["queueId"] == "2"
    assert half.fields["queueOffset"] == "0"
    assert not await delivered(peer)
    (record,) = await stored(peer, TRANS_HALF_TOPIC)
    assert record.properties["REAL_TOPIC"] == "orders"
    assert half.fields["transactionId"] == record.uniq_key


async def test_the_property_makes_a_half_message_not_the_bits(peer: Peer) -> None:
    answer = await peer.send("orders", properties=HALF, sys_flag=0)
    assert answer.code == ResponseCode.SUCCESS
    assert len(await stored(peer, TRANS_HALF_TOPIC)) == 1
    assert not await stored(peer, "orders")


async def test_a_commit_shows_the_message_once(peer: Peer) -> None:
    half = await send_half(peer)
    assert (await end(peer, half, COMMIT)).code == ResponseCode.SUCCESS
    (record,) = await delivered(peer)
    assert record.body == b"17 teapots"
    assert record.sys_flag & 0xC == COMMIT
    assert record.uniq_key == half.fields["transactionId"]
    assert record.prepared_transaction_offset == parse_offset_msg_id(half.fields["msgId"])[1]
    again = await end(peer, half, COMMIT)
    assert again.code == ResponseCode.SYSTEM_ERROR
    assert "already" in str(again.remark)
    assert len(await delivered(peer)) == 1


async def test_a_rollback_shows_nothing_ever(peer: Peer) -> None:
    half = await send_half(peer)
    assert (await end(peer, half, ROLLBACK)).code == ResponseCode.SUCCESS
    assert (await end(peer, half, COMMIT)).code == ResponseCode.SYSTEM_ERROR
    assert not await delivered(peer)


async def test_every_decision_has_an_op_message(peer: Peer) -> None:
    halves = [await send_half(peer) for _ in range(3)]
    decisions = zip(halves, (COMMIT, ROLLBACK, COMMIT), strict=True)
    await asyncio.gather(*(end(peer, half, decision) for half, decision in decisions))
    ops = await stored(peer, TRANS_OP_HALF_TOPIC)
    assert ",".join(op.body.decode() for op in ops) == "0,1,2"
    assert {op.tags for op in ops} == {"d"}


async def test_unknown_changes_nothing(broker: RunningBroker, peer: Peer) -> None:
    half = await send_half(peer)
    assert (await end(peer, half, UNKNOWN)).code == ResponseCode.SUCCESS
    assert len(broker.inner.tasks.master.transactions.table) == 1
    assert (await end(peer, half, COMMIT)).code == ResponseCode.SUCCESS


@pytest.mark.parametrize(
    "changes",
    [
        {"producer_group": "others"},
        {"tran_state_table_offset": 7},
        {"commit_log_offset": 1},
        {"commit_log_offset": 1 << 40},
        {"commit_log_offset": -1},
        {"commit_or_rollback": 5},
    ],
)
async def test_a_decision_that_does_not_fit_changes_nothing(peer: Peer, changes: dict[str, object]) -> None:
    half = await send_half(peer)
    assert (await end(peer, half, COMMIT, **changes)).code == ResponseCode.SYSTEM_ERROR
    assert not await delivered(peer)
    assert (await end(peer, half, COMMIT)).code == ResponseCode.SUCCESS


async def test_an_ordinary_message_cannot_be_committed(peer: Peer) -> None:
    plain = await peer.send("orders", properties={"PGROUP": "producers"})
    assert (await end(peer, plain, COMMIT)).code == ResponseCode.SYSTEM_ERROR


async def test_after_its_immunity_only_a_check_decides(peer: Peer) -> None:
    half = await send_half(peer, CHECK_IMMUNITY_TIME_IN_SECONDS="1")
    assert (await end(peer, half, COMMIT)).code == ResponseCode.ILLEGAL_OPERATION
    assert (await end(peer, half, COMMIT, from_transaction_check=True)).code == ResponseCode.SUCCESS


async def test_a_broker_may_refuse_transactions(start_broker: StartBroker) -> None:
    broker = await start_broker(rejectTransactionMessage="true")
    peer = Peer(broker.address)
    answer = await peer.send("orders", properties=HALF, sys_flag=4)
    assert answer.code == ResponseCode.NO_PERMISSION
    await peer.close()


async def test_sync_flush_decides_too(start_broker: StartBroker) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH", **QUICK)
    peer = Peer(broker.address)
    await join(peer)
    half = await send_half(peer, WAIT="false")
    assert (await end(peer, half, COMMIT)).code == ResponseCode.SUCCESS
    second = await send_half(peer)
    asked, _ = await question(peer)
    while asked.transaction_id != second.fields["transactionId"]:
        # On a busy machine the first one is asked about before it is decided.
        asked, _ = await question(peer)
    assert (await answer_question(peer, asked, COMMIT)).code == ResponseCode.SUCCESS
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 2) == 2)
    await peer.close()


# -- asking -------------------------------------------------------------------------------------------------


async def test_a_live_producer_is_asked_and_its_answer_counts(quick: tuple[RunningBroker, Peer]) -> None:
    _, peer = quick
    await join(peer)
    half = await send_half(peer)
    asked, shown = await question(peer)
    assert asked.topic == "orders"
    assert asked.msg_id == asked.transaction_id == half.fields["transactionId"]
    assert asked.tran_state_table_offset > int(half.fields["queueOffset"])
    assert (shown.topic, shown.queue_id, shown.body) == ("orders", 2, b"17 teapots")
    assert shown.properties["TRANSACTION_CHECK_TIMES"] == "1"
    assert (await answer_question(peer, asked, COMMIT)).code == ResponseCode.SUCCESS
    assert len(await delivered(peer)) == 1


async def test_a_late_decision_and_an_answer_commit_once(quick: tuple[RunningBroker, Peer]) -> None:
    """The decision names the first copy of the half message, the answer another one."""
    _, peer = quick
    await join(peer)
    half = await send_half(peer)
    asked, _ = await question(peer)
    assert (await end(peer, half, COMMIT)).code == ResponseCode.SUCCESS
    assert (await answer_question(peer, asked, COMMIT)).code == ResponseCode.SYSTEM_ERROR
    assert len(await delivered(peer)) == 1


async def test_producers_of_a_group_are_asked_in_turn(quick: tuple[RunningBroker, Peer]) -> None:
    broker, peer = quick
    other = Peer(broker.address, "client-2")
    await join(peer)
    await join(other)
    await send_half(peer)
    await question(peer)
    await question(other)
    await other.close()


async def test_a_transaction_is_given_up_after_its_checks(start_broker: StartBroker) -> None:
    broker = await start_broker(**QUICK, transactionCheckMax="3")
    peer = Peer(broker.address)
    await send_half(peer)
    await eventually(lambda: broker.inner.core.store.queues.max_offset(TRANS_CHECK_MAX_TIME_TOPIC, 0) == 1)
    (given_up,) = await stored(peer, TRANS_CHECK_MAX_TIME_TOPIC)
    assert given_up.properties["TRANSACTION_CHECK_TIMES"] == "3"
    assert len(broker.inner.tasks.master.transactions.table) == 0
    assert not await delivered(peer)
    await peer.close()


async def test_by_default_a_transaction_is_asked_about_fifteen_times_after_six_seconds(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RocketMQ's times, on a clock of our own: 6 s, then every 30 s, 15 at most."""
    broker = await start_broker()
    checks, live = broker.inner.tasks.master.transaction_checks, broker.inner.options.live
    assert (live.transaction_time_out, live.transaction_check_interval) == (6_000, 30_000)
    peer = Peer(broker.address)
    await send_half(peer)
    await eventually(lambda: broker.inner.core.store.queues.max_offset(TRANS_HALF_TOPIC, 0) == 1)
    clock = [int(time.time() * 1000)]
    monkeypatch.setattr(checks, "now_ms", lambda: clock[0])
    (entry,) = broker.inner.tasks.master.transactions.table.open()
    clock[0] = entry.born_ms + 5_900
    await checks.check()
    assert broker.inner.tasks.master.transactions.table.open()[0].check_times == 0, "not yet"
    for asked in range(1, 16):
        clock[0] += 30_000
        await checks.check()
        assert broker.inner.tasks.master.transactions.table.open()[0].check_times == asked
    clock[0] += 30_000
    await checks.check()
    await eventually(lambda: broker.inner.core.store.queues.max_offset(TRANS_CHECK_MAX_TIME_TOPIC, 0) == 1)
    assert len(broker.inner.tasks.master.transactions.table) == 0
    await peer.close()


async def test_a_half_message_that_is_not_on_disk_yet_is_not_lost(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start_broker(**QUICK)
    monkeypatch.setattr(broker.inner.tasks.log.dispatching, "schedule", lambda: None)
    broker.inner.core.store.replica.confirmed_offset = 0  # nothing becomes readable
    peer = Peer(broker.address)
    await send_half(peer)
    await broker.inner.tasks.master.transaction_checks.check()
    assert len(broker.inner.tasks.master.transactions.table) == 1
    await peer.close()


async def test_a_given_up_transaction_is_resumed_once(start_broker: StartBroker) -> None:
    broker = await start_broker(**QUICK, transactionCheckMax="1")
    peer = Peer(broker.address)
    await send_half(peer)
    await eventually(lambda: broker.inner.core.store.queues.max_offset(TRANS_CHECK_MAX_TIME_TOPIC, 0) == 1)
    (given_up,) = await stored(peer, TRANS_CHECK_MAX_TIME_TOPIC)
    await join(peer)
    fields = {"msgId": given_up.offset_msg_id}
    assert (await peer.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, fields)).code == ResponseCode.SUCCESS
    asked, _ = await question(peer)
    assert (await answer_question(peer, asked, COMMIT)).code == ResponseCode.SUCCESS
    assert len(await delivered(peer)) == 1
    again = await peer.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, fields)
    assert again.code == ResponseCode.SYSTEM_ERROR
    assert len(await delivered(peer)) == 1
    await peer.close()


@pytest.mark.parametrize("message_id", ["", "XY", "7F00000100002A9F0000000000000000"])
async def test_nothing_is_resumed_without_a_message(peer: Peer, message_id: str) -> None:
    answer = await peer.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, {"msgId": message_id})
    assert answer.code == ResponseCode.SYSTEM_ERROR


# -- starting again -----------------------------------------------------------------------------------------


async def test_open_transactions_survive_a_stop(start_broker: StartBroker) -> None:
    first = await start_broker()
    peer = Peer(first.address)
    decided, undecided = await send_half(peer), await send_half(peer)
    await end(peer, decided, ROLLBACK)
    await peer.close()
    await first.stop()
    second = await start_broker()
    peer = Peer(second.address)
    assert (await end(peer, decided, COMMIT)).code == ResponseCode.SYSTEM_ERROR
    assert (await end(peer, undecided, COMMIT)).code == ResponseCode.SUCCESS
    assert len(await delivered(peer)) == 1
    await peer.close()


async def test_a_commit_without_its_op_message_is_not_repeated(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    """Killed between the real message and the op message."""
    first = await start_broker()
    peer = Peer(first.address)
    half, other = await send_half(peer), await send_half(peer)
    store = first.inner.core.store
    record = store.log.record_at(parse_offset_msg_id(half.fields["msgId"])[1])
    assert record is not None
    store.log.put(committed_draft(record), 0)
    await peer.close()
    await crash(first, tmp_path)
    second = await start_broker()
    peer = Peer(second.address)
    assert len(second.inner.tasks.master.transactions.table) == 1
    assert (await end(peer, half, COMMIT)).code == ResponseCode.SYSTEM_ERROR
    assert (await end(peer, other, COMMIT)).code == ResponseCode.SUCCESS
    assert len(await delivered(peer)) == 2
    await peer.close()


async def test_the_count_of_checks_survives_a_crash(start_broker: StartBroker, tmp_path: Path) -> None:
    first = await start_broker(**QUICK)
    peer = Peer(first.address)
    await send_half(peer)
    await eventually(lambda: first.inner.core.store.queues.max_offset(TRANS_HALF_TOPIC, 0) >= 3)
    await peer.close()
    await crash(first, tmp_path)
    second = await start_broker()
    (entry,) = second.inner.tasks.master.transactions.table.open()
    assert entry.check_times >= 2
    assert entry.origin == 0


async def test_the_system_group_follows_what_is_done_with(start_broker: StartBroker) -> None:
    first = await start_broker()
    peer = Peer(first.address)
    for _ in range(4):
        await end(peer, await send_half(peer), COMMIT)
    await peer.close()
    await first.stop()
    second = await start_broker()
    offsets = second.inner.core.tables.offsets
    assert offsets.committed(TRANS_HALF_TOPIC, TRANS_GROUP, 0) == 4
    assert (offsets.committed(TRANS_OP_HALF_TOPIC, TRANS_GROUP, 0) or 0) >= 1


# -- together with timed messages ---------------------------------------------------------------------------


async def test_a_committed_message_may_still_have_to_wait(broker: RunningBroker, peer: Peer) -> None:
    half = await send_half(peer, TIMER_DELAY_SEC="60")
    assert (await end(peer, half, COMMIT)).code == ResponseCode.SUCCESS
    assert not await delivered(peer)
    await eventually(lambda: broker.inner.core.store.queues.max_offset(TIMER_TOPIC, 0) == 1)
    assert len(broker.inner.tasks.master.transactions.table) == 0


async def test_a_half_message_for_a_day_too_far_is_refused(peer: Peer) -> None:
    properties = {**HALF, "TIMER_DELAY_SEC": str(30 * 86_400)}
    answer = await peer.send("orders", properties=properties, sys_flag=4)
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL

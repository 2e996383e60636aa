"""A broker that becomes slave and master while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import orjson
import pytest
from msgspec.structs import replace

from engine.broker.failover.group_state import GROUP_FILE, create_group, to_json
from engine.broker.failover.role import RoleKind
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.properties import Property
from tests.engine.broker.peers import Peer, RunningBroker, eventually, records
from tests.engine.broker.replicas import copy_log, dispatched

StartMember = Callable[..., Awaitable[tuple[RunningBroker, Peer]]]
SLAVE = {"brokerRole": "SLAVE", "brokerId": "1"}


@pytest.fixture
async def start_member(tmp_path: Path) -> AsyncIterator[StartMember]:
    """`await start_member("a", brokerRole=…)`: a broker on a store of its own, and a client of it."""
    running: list[tuple[RunningBroker, Peer]] = []

    async def start(name: str, **settings: str) -> tuple[RunningBroker, Peer]:
        broker = await RunningBroker.start(tmp_path / name, settings)
        running.append((broker, Peer(broker.address)))
        return running[-1]

    yield start
    for broker, peer in running:
        await peer.close()
        await broker.stop()


async def test_a_slave_takes_the_log_and_declines_writes(start_member: StartMember) -> None:
    master, at_master = await start_member("a")
    slave, at_slave = await start_member("b", **SLAVE)
    for number in range(20):
        assert (await at_master.send("orders", b"%d" % number)).code == 0
    copy_log(master, slave)
    await dispatched(slave.inner)
    assert slave.inner.core.store.queues.max_offset("orders", 0) == 20
    answer = await at_slave.send("orders")
    assert answer.code == ResponseCode.SYSTEM_BUSY
    assert (answer.remark or "").startswith("[REJECTREQUEST]")
    assert slave.inner.core.store.log.max_offset == master.inner.core.store.log.max_offset


async def test_a_promoted_slave_continues_the_queues(start_member: StartMember) -> None:
    master, at_master = await start_member("a")
    slave, at_slave = await start_member("b", **SLAVE)
    for number in range(3):
        await at_master.send("orders", b"%d" % number)
    copy_log(master, slave)
    slave.inner.core.tables.topics.put(master.inner.core.tables.topics.get("orders"), 1)  # type: ignore[arg-type]
    await slave.inner.tasks.replication.role_changes.become_master(2)
    assert (slave.inner.core.role.kind, slave.inner.core.role.broker_id, slave.inner.core.role.epoch) == (
        RoleKind.MASTER,
        0,
        2,
    )
    answer = await at_slave.send("orders", b"3")
    assert (answer.code, answer.fields["queueOffset"]) == (0, "3")
    create_group = records(await at_slave.pull("orders", 0))
    assert [record.body for record in create_group] == [b"0", b"1", b"2", b"3"]


async def test_a_demoted_master_falls_silent_before_anything_is_awaited(start_member: StartMember) -> None:
    master, at_master = await start_member("a")
    await at_master.send("orders")
    end = master.inner.core.store.log.max_offset
    demoting = asyncio.ensure_future(
        master.inner.tasks.replication.role_changes.become_slave("127.0.0.1:1", 1, 2)
    )
    await asyncio.sleep(0)
    assert (await at_master.send("orders")).code == ResponseCode.SYSTEM_BUSY
    await demoting
    assert master.inner.core.store.log.max_offset == end
    assert master.inner.core.role.broker_id == 1


async def test_sends_that_wait_for_the_disk_are_not_acknowledged_by_a_demoted_master(
    start_member: StartMember,
) -> None:
    master, at_master = await start_member("a", flushDiskType="SYNC_FLUSH")
    await at_master.send("orders")
    async with master.inner.tasks.log.flusher.pause():
        sending = asyncio.ensure_future(at_master.send("orders"))
        while not len(master.inner.tasks.waits.flushes):
            await asyncio.sleep(0.005)
        await master.inner.tasks.replication.role_changes.become_slave(None, 1, 2)
        assert (await sending).code == ResponseCode.FLUSH_DISK_TIMEOUT


async def test_roles_change_back_and_forth(start_member: StartMember) -> None:
    broker, peer = await start_member("a")
    await peer.send("orders")
    for epoch in range(2, 8, 2):
        await broker.inner.tasks.replication.role_changes.become_slave("127.0.0.1:1", 1, epoch)
        await broker.inner.tasks.replication.role_changes.become_slave("127.0.0.1:1", 1, epoch)
        assert (await peer.send("orders")).code == ResponseCode.SYSTEM_BUSY
        await broker.inner.tasks.replication.role_changes.become_master(epoch + 1)
        await broker.inner.tasks.replication.role_changes.become_master(epoch + 1)
        assert (await peer.send("orders")).code == 0
    assert broker.inner.core.store.queues.max_offset("orders", 0) == 4


@pytest.mark.parametrize(
    "is_dispatched", [False, True], ids=["", "all of it is in queues, as after a restart"]
)
async def test_no_master_before_all_of_its_log_is_confirmed(
    start_member: StartMember, is_dispatched: bool
) -> None:
    master, at_master = await start_member("a")
    slave, at_slave = await start_member("b", **SLAVE)
    half = {"TRAN_MSG": "true", "PGROUP": "producers", "UNIQ_KEY": "K1"}
    await at_master.send("orders", b"0", properties=half, sys_flag=4)
    slave.inner.core.store.replica.confirmed_offset = None if is_dispatched else 0
    copy_log(master, slave)
    await asyncio.sleep(0.05)
    assert slave.inner.core.store.queues.has_undispatched() is False
    slave.inner.core.store.replica.confirmed_offset = 0
    promoting = asyncio.ensure_future(slave.inner.tasks.replication.role_changes.become_master(2))
    await asyncio.sleep(0.05)
    assert slave.inner.core.role.kind is RoleKind.SEEKING
    assert (await at_slave.send("orders")).code == ResponseCode.SERVICE_NOT_AVAILABLE
    slave.inner.core.store.replica.confirmed_offset = slave.inner.core.store.log.max_offset
    await promoting
    assert slave.inner.core.role.is_master
    assert len(slave.inner.tasks.master.transactions.table) == 1, "what is open could be read"


async def test_a_promotion_that_waits_gives_way_to_a_later_word(start_member: StartMember) -> None:
    master, at_master = await start_member("a")
    slave, _ = await start_member("b", **SLAVE)
    await at_master.send("orders", b"0")
    slave.inner.core.store.replica.confirmed_offset = 0
    copy_log(master, slave)
    promoting = asyncio.ensure_future(slave.inner.tasks.replication.role_changes.become_master(2))
    await asyncio.sleep(0.02)
    await slave.inner.tasks.replication.role_changes.become_slave("127.0.0.1:1", 1, 3)
    await promoting
    assert (slave.inner.core.role.kind, slave.inner.core.role.epoch) == (RoleKind.SLAVE, 3)


async def test_half_a_record_at_the_end_of_a_dead_masters_stream_is_cut(start_member: StartMember) -> None:
    master, at_master = await start_member("a")
    slave, at_slave = await start_member("b", **SLAVE)
    await at_master.send("orders", b"0")
    whole = master.inner.core.store.log.max_offset
    await at_master.send("orders", b"1")
    copy_log(master, slave, until=whole + 40)
    slave.inner.core.tables.topics.put(master.inner.core.tables.topics.get("orders"), 1)  # type: ignore[arg-type]
    await slave.inner.tasks.replication.role_changes.become_master(2)
    assert slave.inner.core.store.log.max_offset == whole
    answer = await at_slave.send("orders", b"again")
    assert (answer.code, answer.fields["queueOffset"]) == (0, "1")


async def test_a_delayed_message_is_delivered_by_the_new_master_once(start_member: StartMember) -> None:
    master, at_master = await start_member("a")
    slave, at_slave = await start_member("b", **SLAVE)
    await at_master.send("orders", b"first")
    await at_master.send("orders", b"late", properties={Property.DELAY: "1", "UNIQ_KEY": "K1"})
    copy_log(master, slave)
    slave.inner.core.tables.topics.put(master.inner.core.tables.topics.get("orders"), 1)  # type: ignore[arg-type]
    await master.inner.tasks.replication.role_changes.become_slave(None, 1, 2)
    await asyncio.sleep(1.3)
    assert master.inner.core.store.queues.max_offset("orders", 0) == 1
    await slave.inner.tasks.replication.role_changes.become_master(2)
    async with asyncio.timeout(5):
        while slave.inner.core.store.queues.max_offset("orders", 0) < 2:
            await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)
    assert [record.body for record in records(await at_slave.pull("orders", 0))] == [b"first", b"late"]


async def test_a_timed_message_is_delivered_by_the_new_master(start_member: StartMember) -> None:
    master, at_master = await start_member("a")
    slave, at_slave = await start_member("b", **SLAVE)
    await at_master.send("orders", b"first")
    await at_master.send("orders", b"late", properties={Property.TIMER_DELAY_SEC: "2", "UNIQ_KEY": "K1"})
    copy_log(master, slave)
    slave.inner.core.tables.topics.put(master.inner.core.tables.topics.get("orders"), 1)  # type: ignore[arg-type]
    await master.inner.tasks.replication.role_changes.become_slave(None, 1, 2)
    await slave.inner.tasks.replication.role_changes.become_master(2)
    async with asyncio.timeout(8):
        while slave.inner.core.store.queues.max_offset("orders", 0) < 2:
            await asyncio.sleep(0.02)
    assert [record.body for record in records(await at_slave.pull("orders", 0))] == [b"first", b"late"]
    assert master.inner.core.store.queues.max_offset("orders", 0) == 1


async def test_an_open_transaction_is_open_at_the_new_master(start_member: StartMember) -> None:
    master, at_master = await start_member("a")
    slave, _ = await start_member("b", **SLAVE)
    half = {"TRAN_MSG": "true", "PGROUP": "producers", "UNIQ_KEY": "K1"}
    assert (await at_master.send("orders", b"half", properties=half, sys_flag=4)).code == 0
    copy_log(master, slave)
    assert len(slave.inner.tasks.master.transactions.table) == 0
    await slave.inner.tasks.replication.role_changes.become_master(2)
    assert len(slave.inner.tasks.master.transactions.table) == 1
    await slave.inner.tasks.replication.role_changes.become_slave(None, 1, 3)
    await slave.inner.tasks.replication.role_changes.become_master(4)
    assert len(slave.inner.tasks.master.transactions.table) == 1


async def test_a_stopped_slave_leaves_its_offsets_alone(tmp_path: Path) -> None:
    settings = {**SLAVE, "storePathRootDir": str(tmp_path / "b")}
    slave = await RunningBroker.start(tmp_path / "b", settings)
    slave.inner.core.tables.offsets.commit("RMQ_SYS_TRANS_HALF_TOPIC", "CID_RMQ_SYS_TRANS", 0, 7)
    await slave.stop()
    again = await RunningBroker.start(tmp_path / "b", settings)
    assert again.inner.core.tables.offsets.committed("RMQ_SYS_TRANS_HALF_TOPIC", "CID_RMQ_SYS_TRANS", 0) == 7
    await again.stop()


async def test_a_broker_that_was_in_a_group_asks_before_it_writes(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "config"
    folder.mkdir(parents=True)
    alone = create_group(0, "127.0.0.1:1", term_id=7, min_in_sync=2)
    group = replace(alone, members={**alone.members, 1: "127.0.0.1:2"})
    (folder / GROUP_FILE).write_bytes(orjson.dumps(to_json(group)))
    broker = await RunningBroker.start(tmp_path / "a", {})
    peer = Peer(broker.address)
    assert (await peer.send("orders")).code == ResponseCode.SERVICE_NOT_AVAILABLE
    await broker.inner.tasks.replication.role_changes.become_master(1)
    assert (await peer.send("orders")).code == 0
    await peer.close()
    await broker.stop()


async def test_a_slave_answers_administrators_with_its_masters_address(start_member: StartMember) -> None:
    slave, peer = await start_member("b", **SLAVE)
    await slave.inner.tasks.replication.role_changes.become_slave("127.0.0.1:7777", 1, 1)
    answer = await peer.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "orders"})
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "127.0.0.1:7777" in (answer.remark or "")


async def test_a_timer_that_was_cut_off_the_log_is_forgotten(tmp_path: Path) -> None:
    """A master restarts, finds another in its place, and loses its tail: what was on its wheel goes too."""
    old = await RunningBroker.start(tmp_path / "a", {})
    peer = Peer(old.address)
    await peer.send("orders", b"kept")
    end = old.inner.core.store.log.max_offset
    await peer.send("orders", b"cut", properties={Property.TIMER_DELAY_SEC: "3", "UNIQ_KEY": "K1"})
    await eventually(lambda: old.inner.tasks.master.waiting.timer_store.queue_offset == 1)
    await peer.close()
    await old.stop()
    (tmp_path / "a" / "config" / "signalboxGroup.json").unlink(missing_ok=True)
    again = await RunningBroker.start(tmp_path / "a", {**SLAVE})
    timers = again.inner.tasks.master.waiting.timer_store
    assert timers.queue_offset == 1
    await again.inner.tasks.replication.role_changes.cut_log(end)
    assert timers.queue_offset == 0
    await again.stop()

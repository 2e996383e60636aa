"""A master and its slave, whole brokers with a name server, over their own ports."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from engine.namesrv.namesrv import Namesrv
from engine.namesrv.options import NamesrvOptions
from engine.protocol.bodies.brokers import EpochEntry, EpochEntryCache, HARuntimeInfo
from engine.protocol.codes import RequestCode
from engine.protocol.properties import Property
from tests.engine.broker.peers import Peer, RunningBroker, eventually, records


class BrokerGroup:
    """`start(member)` and `stop(member)` of members that share a name, a secret and a name server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.members: dict[int, RunningBroker] = {}
        self.peers: dict[int, Peer] = {}

    async def open(self) -> None:
        self.server = Namesrv(NamesrvOptions(listen_port=0, kv_config_path=str(self._folder / "kv.json")))
        await self.server.start()
        secret = self._folder / "secret"
        secret.write_text("a secret of this cluster, long enough")
        secret.chmod(0o600)
        self._settings = {
            "namesrvAddr": "{}:{}".format(*self.server.address),
            "signalboxClusterSecretFile": str(secret),
            "slaveReadEnable": "true",
        }

    async def start(self, member: int, **settings: str) -> RunningBroker:
        role = {"brokerRole": "SLAVE", "brokerId": str(member)} if member else {"brokerRole": "SYNC_MASTER"}
        given = {**self._settings, **role, **settings}
        broker = self.members[member] = await RunningBroker.start(self._folder / str(member), given)
        self.peers[member] = Peer(broker.address)
        return broker

    async def stop(self, member: int) -> None:
        await self.peers.pop(member).close()
        await self.members.pop(member).stop()

    async def close(self) -> None:
        for member in list(self.members):
            await self.stop(member)
        await self.server.stop()

    async def ha_info(self, member: int) -> HARuntimeInfo:
        return HARuntimeInfo.decode((await self.peers[member].ask(RequestCode.GET_BROKER_HA_STATUS)).body)

    async def ha_section(self, member: int) -> dict[str, Any]:
        answer = await self.peers[member].ask(RequestCode.SIGNALBOX_COLLECTOR_SNAPSHOT)
        section: dict[str, Any] = orjson.loads(answer.body)["ha"]
        return section

    async def in_sync(self) -> None:
        async with asyncio.timeout(10):
            while (await self.ha_info(0)).in_sync_slave_nums < len(self.members) - 1:
                await asyncio.sleep(0.02)


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[BrokerGroup]:
    made = BrokerGroup(tmp_path)
    await made.open()
    yield made
    await made.close()


async def test_a_slave_has_the_log_and_what_is_not_in_it(group: BrokerGroup) -> None:
    master = await group.start(0)
    slave = await group.start(1)
    for number in range(50):
        await group.peers[0].send("orders", b"%d" % number)
    await group.in_sync()
    await eventually(lambda: slave.inner.core.store.queues.max_offset("orders", 0) == 50)
    assert slave.inner.core.store.log.max_offset == master.inner.core.store.log.max_offset
    slave.inner.tasks.replication.metadata_sync.wake()
    await eventually(lambda: "orders" in slave.inner.core.tables.topics)
    assert len(records(await group.peers[1].pull("orders", 20))) == 30


async def test_operators_see_both_sides(group: BrokerGroup) -> None:
    master = await group.start(0)
    slave = await group.start(1)
    await group.peers[0].send("orders", b"x" * 1000)
    await group.in_sync()
    end = master.inner.core.store.log.max_offset
    await eventually(lambda: slave.inner.core.store.log.max_offset == end)
    async with asyncio.timeout(10):
        while (await group.ha_info(0)).ha_connection_info[0].slave_ack_offset < end:
            await asyncio.sleep(0.02)
    (seen,) = (await group.ha_info(0)).ha_connection_info
    assert (seen.slave_ack_offset, seen.diff, seen.in_sync) == (end, 0, True)
    as_slave = (await group.ha_info(1)).ha_client_runtime_info
    assert as_slave is not None
    assert (as_slave.max_offset, as_slave.master_flush_offset) == (end, end)
    assert as_slave.master_addr == master.inner.core.identity.ha_address
    now_ms = time.time() * 1000
    assert 0 <= now_ms - as_slave.last_read_timestamp < 30_000
    assert 0 <= now_ms - as_slave.last_write_timestamp < 30_000


async def test_old_messages_go_where_the_master_says_and_when(group: BrokerGroup) -> None:
    small = {"mappedFileSizeCommitLog": str(1 << 20), "maxMessageSize": "200000", "deleteWhen": "04"}
    master, slave = await group.start(0, **small), await group.start(1, **small, fileReservedTime="1")
    while master.inner.core.store.log.max_offset < 3 << 20:
        assert (await group.peers[0].send("orders", bytes(100_000))).code == 0
    await group.in_sync()
    for code in (RequestCode.DELETE_EXPIRED_COMMITLOG, RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE):
        refused = await group.peers[1].ask(code)
        assert refused.code != 0 and "ask the master" in str(refused.remark)
    stores = [broker.inner.core.store for broker in (master, slave)]
    for store in stores:
        for file in store._commit_log.files.files[:2]:
            os.utime(file.path, (0, 0))
    await slave.inner.tasks.log.housekeeping.clean()
    assert stores[1].log.min_offset == 0
    assert (await group.peers[0].ask(RequestCode.DELETE_EXPIRED_COMMITLOG)).code == 0
    await asyncio.wait_for(_cleaned(master, 2 << 20), 10)
    await asyncio.wait_for(_cleaned(slave, 2 << 20), 10)
    (one,) = (await group.ha_section(0))["slaves"]
    assert one["isInSync"]
    async with asyncio.timeout(10):
        while (await group.ha_section(0))["slaves"][0]["logStart"] != 2 << 20:
            await asyncio.sleep(0.05)
    assert (await group.peers[0].send("orders")).code == 0


async def _cleaned(broker: RunningBroker, start: int) -> None:
    while broker.inner.core.store.log.min_offset != start:
        await broker.inner.tasks.log.flusher.flush_log(force=True)
        await broker.inner.tasks.log.housekeeping.clean()
        await asyncio.sleep(0.05)


async def test_collectors_see_the_group(group: BrokerGroup) -> None:
    master = await group.start(0)
    slave = await group.start(1)
    await group.peers[0].send("orders", b"x" * 1000)
    await group.in_sync()
    end = master.inner.core.store.log.max_offset
    await eventually(lambda: slave.inner.core.store.log.max_offset == end)
    seen = await group.ha_section(0)
    (one,) = seen.pop("slaves")
    assert seen.pop("permission") == 6
    assert seen == {"role": "SYNC_MASTER", "memberId": 0, "epoch": 1, "inSync": [0, 1], "minInSync": 1}
    assert (one["memberId"], one["isInSync"], one["logStart"]) == (1, True, 0)
    assert 0 <= one["lagBytes"] <= end
    expected = {"role": "SLAVE", "memberId": 1, "epoch": 1, "lagBytes": 0}
    async with asyncio.timeout(10):
        while {**(seen := await group.ha_section(1)), **expected} != seen:
            await asyncio.sleep(0.02)
    await group.stop(0)
    async with asyncio.timeout(10):
        while "trouble" not in (seen := await group.ha_section(1)):
            await asyncio.sleep(0.02)
    assert "lagBytes" not in seen


async def test_epochs_are_shown_as_rocketmq_shows_them(group: BrokerGroup) -> None:
    await group.start(0)
    await group.peers[0].send("orders", b"x")
    answer = await group.peers[0].ask(RequestCode.GET_BROKER_EPOCH_CACHE)
    cache = EpochEntryCache.decode(answer.body)
    end = group.members[0].inner.core.store.log.max_offset
    assert (cache.broker_id, cache.max_offset) == (0, end)
    assert cache.epoch_list == (EpochEntry(1, 0, end),)


async def test_what_waits_survives_a_promotion(group: BrokerGroup) -> None:
    """A delay, a timer and an open transaction, each delivered once or still open (F28)."""
    await group.start(0)
    slave = await group.start(1)
    peer = group.peers[0]
    await peer.send("orders", b"first")
    await peer.send("orders", b"delayed", properties={Property.DELAY: "2", "UNIQ_KEY": "K1"})
    await peer.send("orders", b"timed", properties={Property.TIMER_DELAY_SEC: "4", "UNIQ_KEY": "K2"})
    half = {"TRAN_MSG": "true", "PGROUP": "producers", "UNIQ_KEY": "K3"}
    await peer.send("orders", b"half", properties=half, sys_flag=4)
    await group.in_sync()
    end = group.members[0].inner.core.store.log.max_offset
    await eventually(lambda: slave.inner.core.store.log.max_offset >= end)
    assert await slave.inner.tasks.replication.metadata_sync.round()
    assert slave.inner.tasks.replication.group is not None
    replication = slave.inner.tasks.replication.group.member
    await group.stop(0)
    await replication.promote(replication.status().epoch, 1, is_unclean=True)
    await eventually(lambda: slave.inner.core.role.is_master, 20)
    assert len(slave.inner.tasks.master.transactions.table) == 1
    await eventually(lambda: slave.inner.core.store.queues.max_offset("orders", 0) == 3, 15)
    await asyncio.sleep(1.5)
    bodies = [record.body for record in records(await group.peers[1].pull("orders", 0))]
    assert bodies == [b"first", b"timed", b"delayed"]

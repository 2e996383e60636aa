"""What name servers say of a master and its slaves, through their changes of role."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from engine.client.admin import Admin
from engine.namesrv.namesrv import Namesrv
from engine.namesrv.options import NamesrvOptions
from engine.protocol.bodies.routes import GetBrokerMemberGroupResponseBody, TopicRouteData
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import RequestCode
from tests.engine.broker.peers import Peer, RunningBroker, eventually

StartMember = Callable[..., Awaitable[RunningBroker]]


@pytest.fixture
async def names(tmp_path: Path) -> AsyncIterator[Peer]:
    server = Namesrv(NamesrvOptions(listen_port=0, kv_config_path=str(tmp_path / "kv.json")))
    await server.start()
    peer = Peer("{}:{}".format(*server.address))
    yield peer
    await peer.close()
    await server.stop()


@pytest.fixture
async def start_member(tmp_path: Path, names: Peer) -> AsyncIterator[StartMember]:
    running: list[RunningBroker] = []

    async def start(folder: str, **settings: str) -> RunningBroker:
        given = {"namesrvAddr": names._address, **settings}
        running.append(await RunningBroker.start(tmp_path / folder, given))
        return running[-1]

    yield start
    for broker in running:
        await broker.stop()


async def addresses(names: Peer, topic: str = "orders") -> dict[int, str]:
    answer = await names.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
    if answer.code != 0:
        return {}
    (data,) = TopicRouteData.decode(answer.body).broker_datas
    return dict(data.broker_addrs)


async def become(names: Peer, wanted: dict[int, str]) -> None:
    for _ in range(200):
        if await addresses(names) == wanted:
            return
        await asyncio.sleep(0.01)
    assert await addresses(names) == wanted


async def test_a_slave_is_in_the_route_and_learns_its_master(names: Peer, start_member: StartMember) -> None:
    master = await start_member("a")
    master.inner.core.tables.topics.put(TopicConfig("orders", 1, 1), 1)
    await master.inner.tasks.registration.register_all()
    slave = await start_member("b", brokerRole="SLAVE", brokerId="1")
    assert await addresses(names) == {0: master.address, 1: slave.address}
    role = slave.inner.core.role
    assert (role.master_address, role.is_master_alive) == (master.address, True)
    assert role.master_ha_address == master.inner.core.identity.ha_address
    await eventually(lambda: "orders" in slave.inner.core.tables.topics)
    fields = {"clusterName": "TestCluster", "brokerName": "broker-a"}
    answer = await names.ask(RequestCode.GET_BROKER_MEMBER_GROUP, fields)
    group = GetBrokerMemberGroupResponseBody.decode(answer.body).broker_member_group
    assert group is not None
    assert group.broker_addrs == {0: master.address, 1: slave.address}
    async with Admin(namesrv=names._address) as admin:
        info = await admin.cluster.info()
    assert info.broker_addr_table["broker-a"].broker_addrs == {0: master.address, 1: slave.address}


async def test_a_promotion_is_in_the_route_at_once_and_an_old_master_is_not_heard(
    names: Peer, start_member: StartMember
) -> None:
    old = await start_member("a")
    old.inner.core.tables.topics.put(TopicConfig("orders", 1, 1), 1)
    await old.inner.tasks.registration.register_all()
    new = await start_member("b", brokerRole="SLAVE", brokerId="1")
    await new.inner.tasks.replication.role_changes.become_master(2)
    await become(names, {0: new.address})
    await old.inner.tasks.registration.register_all()
    assert await addresses(names) == {0: new.address}
    await old.inner.tasks.replication.role_changes.become_slave(new.address, 1, 2)
    await become(names, {0: new.address, 1: old.address})


async def test_a_slave_stays_to_be_read_when_its_master_leaves(
    names: Peer, start_member: StartMember
) -> None:
    master = await start_member("a")
    master.inner.core.tables.topics.put(TopicConfig("orders", 1, 1), 1)
    await master.inner.tasks.registration.register_all()
    slave = await start_member("b", brokerRole="SLAVE", brokerId="1")
    await master.stop()
    assert await addresses(names) == {1: slave.address}
    await slave.inner.tasks.registration.register_all()
    assert not slave.inner.core.role.is_master_alive

"""Replication as brokers tell of it."""

from __future__ import annotations

from engine.protocol.bodies.brokers import HARuntimeInfo
from engine.protocol.codes import RequestCode, ResponseCode
from tests.engine.broker.peers import Peer, RunningBroker


async def test_a_lone_master_has_no_slaves(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    info = HARuntimeInfo.decode((await peer.ask(RequestCode.GET_BROKER_HA_STATUS)).body)
    assert (info.master, info.in_sync_slave_nums, info.ha_connection_info) == (True, 0, ())
    assert info.master_commit_log_max_offset == broker.inner.core.store.log.max_offset > 0


async def test_who_asks_is_told_where_the_master_is(broker: RunningBroker, peer: Peer) -> None:
    answer = await peer.ask(RequestCode.EXCHANGE_BROKER_HA_INFO)
    assert answer.fields["masterAddress"] == broker.address
    assert answer.fields["masterHaAddress"].startswith("127.0.0.1:")
    assert answer.fields["masterFlushOffset"] == str(broker.inner.core.store.log.flushed_offset)


async def test_what_others_tell_changes_nothing_on_a_master(broker: RunningBroker, peer: Peer) -> None:
    told = {"masterFlushOffset": "9999", "masterAddress": "evil:1", "masterHaAddress": "evil:2"}
    assert (await peer.ask(RequestCode.EXCHANGE_BROKER_HA_INFO, told)).fields == {}
    reset = await peer.ask(RequestCode.RESET_MASTER_FLUSH_OFFSET, {"masterFlushOffset": "9999"})
    assert reset.code == 0
    assert broker.inner.core.store.log.flushed_offset < 9999
    bad = await peer.ask(RequestCode.RESET_MASTER_FLUSH_OFFSET, {"masterFlushOffset": "x"})
    assert bad.code == ResponseCode.SYSTEM_ERROR


async def test_without_a_group_there_are_no_epochs(broker: RunningBroker, peer: Peer) -> None:
    answer = await peer.ask(RequestCode.GET_BROKER_EPOCH_CACHE)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "in no group" in str(answer.remark)


async def test_a_slave_tells_of_its_master_and_of_no_other(broker: RunningBroker, peer: Peer) -> None:
    await broker.inner.tasks.replication.role_changes.become_slave("10.0.0.1:10911", 1, 2)
    broker.inner.core.role.update_master("10.0.0.1:10911", "10.0.0.1:10912")
    info = HARuntimeInfo.decode((await peer.ask(RequestCode.GET_BROKER_HA_STATUS)).body)
    seen = info.ha_client_runtime_info
    assert not info.master and seen is not None
    assert (seen.master_addr, seen.max_offset) == (
        "10.0.0.1:10912",
        broker.inner.core.store.log.max_offset,
    )
    assert (await peer.ask(RequestCode.EXCHANGE_BROKER_HA_INFO)).fields == {}

"""Pulls on a slave: what it answers while its master lives, and when it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.broker.failover.role import Role, RoleKind
from engine.broker.pulling.handlers import response_code
from engine.broker.pulling.slave_reads import is_corrected, slave_code, suggested_broker
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.headers.offsets import UpdateConsumerOffsetRequest
from engine.protocol.headers.pull import PULL_COMMIT_OFFSET, PULL_SUBSCRIPTION
from engine.store.results import GetStatus
from tests.engine.broker.peers import WAITING, Peer, RunningBroker, records
from tests.engine.broker.replicas import copy_log, dispatched

RETRY, MOVED, NOT_FOUND = (
    ResponseCode.PULL_RETRY_IMMEDIATELY,
    ResponseCode.PULL_OFFSET_MOVED,
    ResponseCode.PULL_NOT_FOUND,
)


@pytest.mark.parametrize("status", [status for status in GetStatus if status is not GetStatus.FOUND])
def test_a_living_master_is_asked_for_whatever_is_not_found(status: GetStatus) -> None:
    assert slave_code(status, response_code(status, 5), True) is RETRY


def test_without_a_master_only_what_is_deleted_moves_the_offset() -> None:
    assert slave_code(GetStatus.OFFSET_TOO_SMALL, MOVED, False) is MOVED
    assert slave_code(GetStatus.OFFSET_OVERFLOW_BADLY, MOVED, False) is NOT_FOUND
    assert slave_code(GetStatus.NO_MESSAGE_IN_QUEUE, MOVED, False) is NOT_FOUND
    assert slave_code(GetStatus.OFFSET_OVERFLOW_ONE, NOT_FOUND, False) is NOT_FOUND
    assert slave_code(GetStatus.NO_MATCHED_MESSAGE, RETRY, False) is RETRY


def test_a_slave_without_its_front_moves_nobody_past_it() -> None:
    too_small = GetStatus.OFFSET_TOO_SMALL
    assert slave_code(too_small, MOVED, False, lacks_front=True) is NOT_FOUND
    assert slave_code(too_small, MOVED, True, lacks_front=True) is RETRY
    assert not is_corrected(too_small, False, lacks_front=True)
    assert is_corrected(GetStatus.NO_MATCHED_MESSAGE, False, lacks_front=True)


def test_offsets_are_corrected_where_the_slave_knows_better() -> None:
    assert is_corrected(GetStatus.NO_MATCHED_MESSAGE, True)
    assert not is_corrected(GetStatus.OFFSET_TOO_SMALL, True)
    assert is_corrected(GetStatus.OFFSET_TOO_SMALL, False)
    assert not is_corrected(GetStatus.OFFSET_OVERFLOW_BADLY, False)


def test_who_is_suggested() -> None:
    group = SubscriptionGroupConfig("readers")
    master, slave = Role(RoleKind.MASTER, 0), Role(RoleKind.SLAVE, 2)
    assert suggested_broker(master, group, is_slow=False) == 0
    assert suggested_broker(master, group, is_slow=True) == 1
    slave.update_master("a:1", None)
    assert suggested_broker(slave, group, is_slow=False) == 0
    assert suggested_broker(slave, group, is_slow=True) == 1
    slave.update_master(None, None)
    assert suggested_broker(slave, group, is_slow=False) == 2


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[tuple[RunningBroker, RunningBroker, Peer]]:
    """A master with ten messages, its slave that has them too, and a client of the slave."""
    master = await RunningBroker.start(tmp_path / "a", {})
    settings = {"brokerRole": "SLAVE", "brokerId": "1", "slaveReadEnable": "true"}
    slave = await RunningBroker.start(tmp_path / "b", settings)
    peer, at_slave = Peer(master.address), Peer(slave.address)
    for number in range(10):
        await peer.send("orders", b"%d" % number)
    slave.inner.core.tables.topics.put(TopicConfig("orders", 4, 4), 1)
    copy_log(master, slave)
    await dispatched(slave.inner)
    slave.inner.core.role.become(RoleKind.SLAVE, 1, 1, master.address)
    yield master, slave, at_slave
    for one in (peer, at_slave):
        await one.close()
    await slave.stop()
    await master.stop()


Pair = tuple[RunningBroker, RunningBroker, Peer]


async def test_a_slave_serves_what_it_has_and_sends_back_to_a_living_master(pair: Pair) -> None:
    _, _, peer = pair
    answer = await peer.pull("orders", 4)
    assert answer.code == 0
    assert [record.body for record in records(answer)] == [b"%d" % number for number in range(4, 10)]
    assert answer.fields["suggestWhichBrokerId"] == "0"
    for asked in (10, 99):
        answer = await peer.pull("orders", asked, sys_flag=WAITING)
        assert answer.code == RETRY
        assert answer.fields["suggestWhichBrokerId"] == "0"
        assert answer.fields["nextBeginOffset"] == str(asked)


async def test_without_its_master_a_slave_holds_pulls_until_its_log_grows(pair: Pair) -> None:
    master, slave, peer = pair
    slave.inner.core.role.is_master_alive = False
    pulling = asyncio.ensure_future(peer.pull("orders", 10, sys_flag=WAITING))
    while not len(slave.inner.tasks.waits.holds):
        await asyncio.sleep(0.005)
    producer = Peer(master.address)
    await producer.send("orders", b"news")
    copy_log(master, slave)
    answer = await asyncio.wait_for(pulling, 5)
    assert [record.body for record in records(answer)] == [b"news"]
    assert answer.fields["suggestWhichBrokerId"] == "1"
    await producer.close()


async def test_an_offset_beyond_a_slave_that_is_behind_is_kept(pair: Pair) -> None:
    _, slave, peer = pair
    slave.inner.core.role.is_master_alive = False
    answer = await peer.pull("orders", 15)
    assert (answer.code, answer.fields["nextBeginOffset"]) == (NOT_FOUND, "15")


async def test_a_slave_that_may_not_be_read_says_so(pair: Pair) -> None:
    _, slave, peer = pair
    slave.inner.options.live.slave_read_enable = False
    answer = await peer.pull("orders", 0)
    assert answer.code == ResponseCode.SYSTEM_BUSY
    assert "slaveReadEnable=false" in (answer.remark or "")


async def test_a_slave_takes_offsets_only_from_who_commits_on_purpose(pair: Pair) -> None:
    _, slave, peer = pair
    await peer.pull("orders", 4, sys_flag=PULL_SUBSCRIPTION | PULL_COMMIT_OFFSET, commit_offset=4)
    assert slave.inner.core.tables.offsets.committed("orders", "consumers", 0) is None
    header = UpdateConsumerOffsetRequest("consumers", "orders", 0, 4)
    assert (await peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, header.encode())).code == 0
    assert slave.inner.core.tables.offsets.committed("orders", "consumers", 0) == 4


async def test_a_master_sends_slow_consumers_to_a_slave(tmp_path: Path) -> None:
    master = await RunningBroker.start(tmp_path / "m", {"slaveReadEnable": "true"})
    peer = Peer(master.address)
    for _ in range(3):
        await peer.send("orders", b"x" * 4000)
    handler = master.inner.routes[RequestCode.PULL_MESSAGE].__self__  # type: ignore[attr-defined]
    assert (await peer.pull("orders", 0, max_msg_nums=1)).fields["suggestWhichBrokerId"] == "0"
    handler.hot_window_bytes = 6000
    assert (await peer.pull("orders", 0, max_msg_nums=1)).fields["suggestWhichBrokerId"] == "1"
    assert (await peer.pull("orders", 2)).fields["suggestWhichBrokerId"] == "0"
    await peer.close()
    await master.stop()

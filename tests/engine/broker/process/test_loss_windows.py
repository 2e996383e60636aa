"""What each way of acknowledging keeps when the master is lost: `acks` of our producer against a real pair.

The slave is cut off (its stream is stopped), the master goes on, then it is gone for good and the slave is
promoted. What was acknowledged with `acks="all"` is there; what was sent with less may be lost, and is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.client import Message, MessageQueue, Producer, SendStatus
from engine.client.options import Acks, ProducerOptions
from engine.errors import EngineError, Refused
from engine.protocol.records import decode_records
from tests.engine.broker.peers import eventually
from tests.engine.broker.replication.test_replicating_brokers import BrokerGroup

SAFE = {"minInSyncReplicas": "2", "allAckInSyncStateSet": "true", "slaveTimeout": "200"}


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[BrokerGroup]:
    made = BrokerGroup(tmp_path)
    await made.open()
    yield made
    await made.close()


async def _start(group: BrokerGroup, *, role: str = "SYNC_MASTER", **settings: str) -> None:
    await group.start(0, brokerRole=role, **settings)
    await group.start(1, **settings)
    master = group.members[0].inner
    assert master.tasks.replication.group is not None
    await eventually(lambda: master.tasks.replication.group.in_sync_table().current.ids == (0, 1))  # type: ignore[union-attr]
    await eventually(lambda: master.core.role.is_master)


async def _send(group: BrokerGroup, acks: Acks, body: bytes) -> SendStatus | None:
    """How the send ended; None when it was refused."""
    options = ProducerOptions(acks=acks, retries=0, send_timeout_ms=2_000)
    name_server = "{}:{}".format(*group.server.address)
    async with Producer("P", namesrv=name_server, options=options) as producer:
        try:
            result = await producer.send(Message("orders", body), queue=MessageQueue("orders", "broker-a", 0))
        except EngineError:
            return None
        await asyncio.sleep(0.1 if acks == 0 else 0)  # nobody answers: let it arrive
        return result.status


def _cut_off_slave(group: BrokerGroup) -> None:
    """From now on nothing reaches it; the master still counts on it."""
    replication = group.members[1].inner.tasks.replication.group.member  # type: ignore[union-attr]
    assert replication.streams.follower is not None and replication.streams.follower._task is not None
    replication.streams.follower._task.cancel()


async def _survivors(group: BrokerGroup, *, unclean: bool) -> list[bytes]:
    """The master is gone for good; what its slave has."""
    await group.stop(0)
    slave = group.members[1].inner
    assert slave.tasks.replication.group is not None
    await slave.tasks.replication.group.member.promote(1, None, is_unclean=unclean)
    slave.core.store.replica.confirmed_offset = None  # look at all that it has
    await eventually(
        lambda: slave.core.store.queues.dispatched_offset >= slave.core.store.replica.whole_end()
    )
    result = slave.core.store.queues.get("orders", 0, 0, 32)
    return [record.body for record in decode_records(result.body)]


async def test_acks_all_keeps_what_it_acknowledged(group: BrokerGroup) -> None:
    await _start(group, **SAFE)
    assert await _send(group, "all", b"kept") is SendStatus.SEND_OK
    _cut_off_slave(group)
    late = await _send(group, "all", b"late")
    assert late is SendStatus.FLUSH_SLAVE_TIMEOUT, "stored here, its fate elsewhere unknown"
    assert await _survivors(group, unclean=False) == [b"kept"]


async def test_acks_one_is_answered_by_the_master_alone_and_lost_with_it(group: BrokerGroup) -> None:
    await _start(group, **SAFE)
    assert await _send(group, "all", b"kept") is SendStatus.SEND_OK
    _cut_off_slave(group)
    assert await _send(group, 1, b"one") is SendStatus.SEND_OK
    assert await _survivors(group, unclean=False) == [b"kept"]


async def test_acks_zero_is_not_answered_and_lost_with_the_master(group: BrokerGroup) -> None:
    await _start(group, **SAFE)
    assert await _send(group, 0, b"copied") is SendStatus.HANDED_OVER
    await eventually(lambda: group.members[1].inner.core.store.queues.max_offset("orders", 0) == 1)
    _cut_off_slave(group)
    await _send(group, 0, b"nowhere")
    assert await _survivors(group, unclean=False) == [b"copied"]


async def test_an_asynchronous_master_may_lose_what_was_not_copied_and_says_so(group: BrokerGroup) -> None:
    await _start(group, role="ASYNC_MASTER")
    assert await _send(group, "all", b"copied") is SendStatus.SEND_OK
    await eventually(lambda: group.members[1].inner.core.store.queues.max_offset("orders", 0) == 1)
    _cut_off_slave(group)
    assert await _send(group, "all", b"lost") is SendStatus.SEND_OK
    with pytest.raises(Refused, match="may hold acknowledged messages"):
        await _survivors(group, unclean=False)

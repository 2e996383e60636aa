"""Our consumers while a master is away: they read from its slave, and go back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.client import (
    ClientInstance,
    ClientOptions,
    ConsumeFromWhere,
    ConsumerOptions,
    PullOptions,
    PushConsumer,
    ReceivedMessage,
)
from engine.namesrv.namesrv import Namesrv
from engine.namesrv.options import NamesrvOptions
from tests.engine.broker.peers import Peer, RunningBroker, eventually
from tests.engine.broker.replicas import copy_log, dispatched

GROUP = "readers"
QUICK = ConsumerOptions(
    commit_interval_s=0.1,
    rebalance_s=0.5,
    from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    pull=PullOptions(suspend_ms=500, retry_after_error_s=0.1),
)


class Group:
    """A name server, a master and its slave, in this process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.settings = {"slaveReadEnable": "true", "defaultTopicQueueNums": "1"}

    async def start(self) -> None:
        self.server = Namesrv(NamesrvOptions(listen_port=0, kv_config_path=str(self._folder / "kv.json")))
        await self.server.start()
        self.namesrv = "{}:{}".format(*self.server.address)
        self.settings["namesrvAddr"] = self.namesrv
        self.master = await self.start_master()
        self.slave = await RunningBroker.start(
            self._folder / "b", {**self.settings, "brokerRole": "SLAVE", "brokerId": "1"}
        )

    async def start_master(self, port: int = 0) -> RunningBroker:
        return await RunningBroker.start(self._folder / "a", {**self.settings, "listenPort": str(port)})

    async def produce(self, *bodies: bytes) -> None:
        """Stored by the master, copied to the slave, and so are topics and offsets."""
        peer = Peer(self.master.address)
        for body in bodies:
            assert (await peer.send("orders", body, default_topic_queue_nums=1)).code == 0
        await peer.close()
        copy_log(self.master, self.slave)
        await dispatched(self.slave.inner)
        assert await self.slave.inner.tasks.replication.metadata_sync.round()

    async def stop(self) -> None:
        await self.slave.stop()
        await self.master.stop()
        await self.server.stop()


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[Group]:
    made = Group(tmp_path)
    await made.start()
    yield made
    await made.stop()


@contextlib.asynccontextmanager
async def consuming(group: Group, bodies: list[bytes]) -> AsyncIterator[None]:
    async def listen(message: ReceivedMessage) -> None:
        bodies.append(message.body)

    async with ClientInstance(group.namesrv, ClientOptions(poll_name_server_s=0.3)) as instance:
        consumer = PushConsumer(GROUP, listen, instance=instance, options=QUICK)
        consumer.subscribe("orders")
        async with consumer:
            yield


async def test_a_consumer_reads_from_the_slave_and_returns_to_its_master(group: Group) -> None:
    await group.produce(b"0", b"1")
    got: list[bytes] = []
    async with consuming(group, got):
        await eventually(lambda: got == [b"0", b"1"])
        # The slave has more than the consumer has seen when the master goes.
        port = group.master.inner.address[1]
        await group.produce(b"2")
        await eventually(lambda: got == [b"0", b"1", b"2"])
        await group.master.stop()
        await eventually(lambda: group.slave.inner.core.tables.offsets.committed("orders", GROUP, 0) == 3, 15)
        group.master = await group.start_master(port)
        await eventually(
            lambda: group.master.inner.core.tables.offsets.committed("orders", GROUP, 0) == 3, 15
        )
        await group.produce(b"3")
        await eventually(lambda: got == [b"0", b"1", b"2", b"3"], 15)


async def test_a_consumer_that_starts_without_the_master_begins_where_its_group_stood(group: Group) -> None:
    await group.produce(b"0", b"1")
    got: list[bytes] = []
    async with consuming(group, got):
        await eventually(lambda: group.master.inner.core.tables.offsets.committed("orders", GROUP, 0) == 2)
    await group.produce(b"2", b"3")
    await group.master.stop()
    await asyncio.sleep(0.1)
    later: list[bytes] = []
    async with consuming(group, later):
        await eventually(lambda: later == [b"2", b"3"], 15)
        await eventually(lambda: group.slave.inner.core.tables.offsets.committed("orders", GROUP, 0) == 4, 15)

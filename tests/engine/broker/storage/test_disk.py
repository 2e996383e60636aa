"""A disk that fills up, and old data that is read in a thread."""

from __future__ import annotations

import pytest

from engine.broker.settings import store_options_io as store_options
from engine.broker.storage import housekeeping_task as housekeeping
from engine.broker.storage.disk_room import DiskSpace
from engine.protocol.codes import ResponseCode
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import WAITING, Peer, RunningBroker, eventually, records


async def test_a_disk_over_ninety_percent_takes_nothing_until_there_is_room(
    broker: RunningBroker, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await peer.send("orders")
    usage = 0.91
    monkeypatch.setattr(housekeeping, "disk_space", lambda path: DiskSpace(0, 0, usage))

    await broker.inner.tasks.log.housekeeping.clean()

    refused = await peer.send("orders")
    assert refused.code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert "91%" in str(refused.remark)
    assert len(records(await peer.pull("orders", 0, sys_flag=WAITING))) == 1
    usage = 0.5
    await broker.inner.tasks.log.housekeeping.clean()
    assert (await peer.send("orders")).code == 0


async def test_what_is_outside_of_the_hot_window_is_read_in_a_thread(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_options.os, "sysconf", lambda name: 10)
    broker = await start_broker()
    peer = Peer(broker.address)
    assert broker.inner.core.store.options.reads.hot_window_bytes < 100
    for number in range(20):
        await peer.send("orders", b"%d" % number)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 20)

    answer = await peer.pull("orders", 0)

    # Eight at a time from the disk.
    assert [record.body for record in records(answer)] == [b"%d" % number for number in range(8)]
    assert answer.fields["nextBeginOffset"] == "8"
    tagged = await peer.pull("orders", 0, subscription="none")
    assert tagged.code == ResponseCode.PULL_RETRY_IMMEDIATELY
    await peer.close()


async def test_slow_consumers_are_sent_to_the_slave_when_slaves_may_be_read(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_options.os, "sysconf", lambda name: 10)
    broker = await start_broker(slaveReadEnable="true")
    peer = Peer(broker.address)
    await peer.send("orders")
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 1)
    assert (await peer.pull("orders", 0)).fields["suggestWhichBrokerId"] == "1"
    await peer.close()

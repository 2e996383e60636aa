"""Starting, stopping, starting again: what is saved, what name servers hear, what a failed sync means."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import threading
from pathlib import Path

import pytest

from engine.broker.state import state_file_io as change_file
from engine.errors import BadInput, EngineError
from engine.namesrv.namesrv import Namesrv
from engine.namesrv.options import NamesrvOptions
from engine.protocol.bodies.routes import TopicRouteData
from engine.protocol.codes import RequestCode, ResponseCode
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import SMALL, WAITING, Peer, RunningBroker, eventually, records


async def start_name_server(folder: Path, port: int = 0) -> Namesrv:
    options = NamesrvOptions(
        listen_host="127.0.0.1", listen_port=port, kv_config_path=str(folder / "kvConfig.json")
    )
    name_server = Namesrv(options)
    await name_server.start()
    return name_server


async def route(address: tuple[str, int], topic: str) -> TopicRouteData | None:
    peer = Peer(f"{address[0]}:{address[1]}")
    try:
        answer = await peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
    finally:
        await peer.close()
    return TopicRouteData.decode(answer.body) if answer.code == 0 else None


# -- topics that make themselves ----------------------------------------------------------------------------


async def test_a_new_topic_is_on_disk_before_its_first_message_is_acknowledged(
    broker: RunningBroker, peer: Peer
) -> None:
    answers = await asyncio.gather(*(peer.send("orders") for _ in range(20)))
    assert {answer.code for answer in answers} == {0}
    stored = json.loads((broker.inner.core.runtime.config_directory / "topics.json").read_bytes())
    assert stored["topicConfigTable"]["orders"]["writeQueueNums"] == 4
    assert not broker.inner.core.tables.topics.unsaved


async def test_topics_make_themselves_again_once_a_start_allows_it(start_broker: StartBroker) -> None:
    codes = []
    for number, allowed in enumerate(("true", "false", "true")):
        broker = await start_broker(autoCreateTopicEnable=allowed)
        peer = Peer(broker.address)
        codes.append((await peer.send(f"orders-{number}")).code)
        await peer.close()
        await broker.stop()
    assert codes == [0, ResponseCode.TOPIC_NOT_EXIST, 0]


async def test_nothing_is_stored_in_a_topic_that_cannot_be_saved(
    broker: RunningBroker, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as broken:
        broken.setattr(change_file, "write_durable", fail)
        for _ in range(2):
            refused = await peer.send("orders")
            assert refused.code == ResponseCode.SERVICE_NOT_AVAILABLE
            assert "topics.json" in str(refused.remark)
        assert broker.inner.core.store.log.max_offset == 0

    assert (await peer.send("orders")).code == 0
    assert not broker.inner.core.tables.topics.unsaved


# -- stop and start -----------------------------------------------------------------------------------------


async def test_a_restart_keeps_messages_topics_groups_and_offsets(start_broker: StartBroker) -> None:
    first = await start_broker()
    peer = Peer(first.address)
    await peer.send("orders", b"kept")
    await peer.heartbeat("consumers", "orders")
    offset = {"consumerGroup": "consumers", "topic": "orders", "queueId": "0", "commitOffset": "1"}
    await peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, offset)
    await peer.close()
    version = first.inner.core.tables.topics.version
    await first.stop()

    second = await start_broker()
    peer = Peer(second.address)
    assert second.inner.core.tables.topics.version == version
    assert "consumers" in second.inner.core.tables.groups
    assert second.inner.core.tables.offsets.committed("orders", "consumers", 0) == 1
    assert [record.body for record in records(await peer.pull("orders", 0, sys_flag=WAITING))] == [b"kept"]
    assert (await peer.send("orders")).fields["queueOffset"] == "1"
    await peer.close()


async def test_offsets_are_saved_by_the_clock(start_broker: StartBroker) -> None:
    broker = await start_broker(flushConsumerOffsetInterval="20")
    broker.inner.core.tables.offsets.commit("orders", "consumers", 0, 5)
    path = broker.inner.core.runtime.config_directory / "consumerOffset.json"
    await eventually(lambda: path.exists() and b"orders@consumers" in path.read_bytes())


async def test_a_stop_answers_who_waits_and_refuses_the_rest(start_broker: StartBroker) -> None:
    broker = await start_broker()
    peer = Peer(broker.address)
    await peer.send("orders")
    waiting = asyncio.create_task(peer.pull("orders", 1, sys_flag=WAITING))
    await eventually(lambda: len(broker.inner.tasks.waits.holds) == 1)

    stopping = asyncio.create_task(broker.stop())

    assert (await asyncio.wait_for(waiting, 2)).code == ResponseCode.PULL_NOT_FOUND
    await asyncio.wait_for(stopping, 5)
    with pytest.raises(EngineError):
        await peer.send("orders")
    await peer.close()


async def test_a_damaged_table_is_read_from_its_backup_and_two_refuse_the_start(
    start_broker: StartBroker,
) -> None:
    first = await start_broker()
    peer = Peer(first.address)
    await peer.send("orders")
    await peer.send("invoices")
    await peer.close()
    path = first.inner.core.runtime.config_directory / "topics.json"
    await first.stop()
    path.write_bytes(path.read_bytes()[:50])

    second = await start_broker()
    assert "orders" in second.inner.core.tables.topics
    await second.stop()

    for damaged in (path, path.with_name("topics.json.bak")):
        damaged.write_bytes(b"{")
    with pytest.raises(BadInput, match=r"topics\.json"):
        await start_broker()


async def test_a_port_in_use_refuses_the_start_before_the_store_is_touched(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    broker = await start_broker()
    port = str(broker.inner.address[1])
    with pytest.raises(BadInput, match="cannot listen"):
        await RunningBroker.start(tmp_path / "other", {"listenPort": port})
    assert not (tmp_path / "other").exists()


async def test_a_metrics_port_in_use_refuses_the_start_and_leaves_a_closed_store(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with pytest.raises(BadInput, match=f"metrics: cannot listen on 127.0.0.1:{port}"):
            await start_broker(metricsExporterType="PROM", metricsPromExporterPort=port)
    assert not (tmp_path / "store" / "abort").exists()
    await start_broker()


async def test_a_second_broker_on_the_same_store_refuses_to_start(start_broker: StartBroker) -> None:
    await start_broker()
    with pytest.raises(EngineError, match="another process"):
        await start_broker()


async def test_the_vip_port_serves_all_but_pulls(tmp_path: Path) -> None:
    base = next(port for port in range(21002, 31000, 7) if _is_free(port) and _is_free(port - 2))
    broker = await RunningBroker.start(tmp_path / "store", {**SMALL, "listenPort": str(base)})
    vip = Peer(f"127.0.0.1:{base - 2}")
    assert (await vip.send("orders")).code == 0
    assert (await vip.pull("orders", 0)).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    await vip.close()
    await broker.stop()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


# -- flushing -----------------------------------------------------------------------------------------------


async def test_a_failed_sync_answers_10_and_fences_the_store(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH")
    peer = Peer(broker.address)
    await peer.send("orders", b"safe")

    def fail(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as broken:
        broken.setattr(os, "fdatasync", fail)
        doubtful = await peer.send("orders", b"doubtful")
    assert doubtful.code == ResponseCode.FLUSH_DISK_TIMEOUT
    assert doubtful.fields["queueOffset"] == "1"

    refused = await peer.send("orders")
    assert refused.code == ResponseCode.SERVICE_NOT_AVAILABLE
    # What is not known to be on disk is not shown to consumers.
    bodies = [record.body for record in records(await peer.pull("orders", 0))]
    assert bodies == [b"safe"]
    await peer.close()


async def test_a_sync_that_takes_too_long_answers_10(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH", syncFlushTimeout="50")
    peer = Peer(broker.address)
    await peer.send("orders")
    release = threading.Event()
    sync = os.fdatasync

    def slow(fd: int) -> None:
        release.wait(5)
        sync(fd)

    with monkeypatch.context() as slowed:
        slowed.setattr(os, "fdatasync", slow)
        late = await peer.send("orders", b"late")
        release.set()
    assert late.code == ResponseCode.FLUSH_DISK_TIMEOUT
    await eventually(
        lambda: broker.inner.core.store.log.flushed_offset == broker.inner.core.store.log.max_offset
    )
    assert (await peer.send("orders")).code == 0
    await peer.close()


async def test_a_synchronous_master_without_slave_says_so(start_broker: StartBroker) -> None:
    broker = await start_broker(brokerRole="SYNC_MASTER", inSyncReplicas="2")
    peer = Peer(broker.address)
    answer = await peer.send("orders")
    assert answer.code == ResponseCode.SLAVE_NOT_AVAILABLE
    assert answer.fields["queueOffset"] == "0"
    assert (await peer.send("orders", properties={"WAIT": "false"})).code == 0
    await peer.close()


async def test_a_synchronous_master_that_wants_one_replica_is_it(start_broker: StartBroker) -> None:
    """RocketMQ 5: inSyncReplicas counts the master itself and is 1 by default."""
    broker = await start_broker(brokerRole="SYNC_MASTER")
    peer = Peer(broker.address)
    assert (await peer.send("orders")).code == 0
    await peer.close()


async def test_too_few_in_sync_refuses_before_the_append(start_broker: StartBroker) -> None:
    broker = await start_broker(brokerRole="SYNC_MASTER", minInSyncReplicas="2")
    peer = Peer(broker.address)
    answer = await peer.send("orders")
    assert answer.code == ResponseCode.SYSTEM_ERROR and "in-sync replicas not enough" in str(answer.remark)
    assert broker.inner.core.store.log.max_offset == 0
    assert (await peer.send("orders", properties={"WAIT": "false"})).code == 0
    await peer.close()


async def test_the_transient_pool_shows_messages_once_they_are_committed(start_broker: StartBroker) -> None:
    broker = await start_broker(transientStorePoolEnable="true", commitIntervalCommitLog="20")
    peer = Peer(broker.address)
    await peer.send("orders", b"one")
    answer = await peer.pull("orders", 0, sys_flag=WAITING)
    assert [record.body for record in records(answer)] == [b"one"]
    await peer.close()


# -- name servers -------------------------------------------------------------------------------------------


async def test_every_name_server_knows_the_broker_and_a_stop_unregisters(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    servers = [await start_name_server(tmp_path / name) for name in ("n1", "n2")]
    addresses = ";".join(f"{host}:{port}" for host, port in (server.address for server in servers))
    broker = await start_broker(namesrvAddr=addresses)
    peer = Peer(broker.address)
    for server in servers:
        found = await route(server.address, "TBW102")
        assert found is not None
        assert found.broker_datas[0].broker_addrs == {0: broker.address}

    assert (await peer.send("orders")).code == 0
    for server in servers:
        assert await route(server.address, "orders") is not None

    await peer.close()
    await broker.stop()
    for server in servers:
        assert await route(server.address, "orders") is None
        await server.stop()


async def test_a_dead_name_server_stops_nothing_and_is_told_everything_when_it_is_back(
    start_broker: StartBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.broker.process.registration_task.RETRY_S", 0.05)
    server = await start_name_server(tmp_path)
    host, port = server.address
    broker = await start_broker(namesrvAddr=f"{host}:{port}")
    peer = Peer(broker.address)
    await server.stop()
    assert (await peer.send("orders")).code == 0

    server = await start_name_server(tmp_path, port)
    async with asyncio.timeout(5):
        while await route(server.address, "orders") is None:
            await asyncio.sleep(0.02)
    await peer.close()
    await broker.stop()
    await server.stop()


async def test_a_broker_closed_for_writing_announces_it(start_broker: StartBroker, tmp_path: Path) -> None:
    server = await start_name_server(tmp_path)
    host, port = server.address
    broker = await start_broker(namesrvAddr=f"{host}:{port}", brokerPermission="4")
    found = await route(server.address, "BenchmarkTest")
    assert found is not None
    assert found.queue_datas[0].perm == 4
    await broker.stop()
    await server.stop()


async def test_a_broker_closed_and_opened_while_it_runs_is_seen_at_its_name_server(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    server = await start_name_server(tmp_path)
    host, port = server.address
    broker = await start_broker(namesrvAddr=f"{host}:{port}")
    peer = Peer(broker.address)
    for perm in (4, 6):
        text = f"brokerPermission={perm}\n".encode()
        assert (await peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=text)).code == 0
        async with asyncio.timeout(5):
            while await announced_perm(server.address) != perm:
                await asyncio.sleep(0.02)
    await peer.close()
    await broker.stop()
    await server.stop()


async def announced_perm(name_server: tuple[str, int]) -> int | None:
    found = await route(name_server, "BenchmarkTest")
    return None if found is None else found.queue_datas[0].perm

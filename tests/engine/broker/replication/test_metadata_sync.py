"""A slave takes its master's topics, groups, offsets and progress."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from engine.broker.failover.role import RoleKind
from engine.broker.replication import metadata_io as table_reads
from engine.broker.replication import metadata_task as metadata_sync
from engine.broker.replication.metadata import ReplicaFile, UnconfiguredTopics
from engine.broker.topics.topic_table import MAX_QUEUES_PER_TOPIC, TOPICS_FILE, TopicTable
from engine.net.outcomes import Reply
from engine.protocol.bodies.groups import (
    MessageRequestMode,
    SetMessageRequestModeRequestBody,
    SubscriptionGroupConfig,
)
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.names import TRANS_GROUP, TRANS_HALF_TOPIC
from engine.protocol.properties import Property
from engine.store.timers.timer_wheel import PRECISION_MS
from tests.engine.broker.peers import Peer, RunningBroker, eventually
from tests.engine.broker.replicas import copy_log, dispatched


class Pair:
    """A master, its slave, and a client of the master. The slave asks only when a test says so."""

    def __init__(self, master: RunningBroker, slave: RunningBroker) -> None:
        self.master, self.slave = master, slave
        self.at_master = Peer(master.address)

    async def sync(self) -> bool:
        return await self.slave.inner.tasks.replication.metadata_sync.round()

    async def stop(self) -> None:
        await self.at_master.close()
        await self.slave.stop()
        await self.master.stop()


@pytest.fixture
async def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pair]:
    monkeypatch.setattr(metadata_sync, "PERIOD_S", 3_600.0)
    monkeypatch.setattr(metadata_sync, "FULL_PERIOD_S", 3_600.0)
    monkeypatch.setattr(metadata_sync, "_SOON_S", 3_600.0)
    monkeypatch.setattr(metadata_sync, "_COVER_POLLS", 1)
    master = await RunningBroker.start(tmp_path / "a", {})
    slave = await RunningBroker.start(tmp_path / "b", {"brokerRole": "SLAVE", "brokerId": "1"})
    slave.inner.core.role.become(RoleKind.SLAVE, 1, 1, master.address)
    made = Pair(master, slave)
    yield made
    await made.stop()


async def test_topics_come_with_their_version_and_go(pair: Pair) -> None:
    topics = pair.master.inner.core.tables.topics
    topics.put(TopicConfig("orders", 3, 3), 5)
    assert await pair.sync()
    copied = pair.slave.inner.core.tables.topics
    assert copied.get("orders") == TopicConfig("orders", 3, 3)
    assert copied.version == topics.version
    assert not copied.has_changed()
    topics.delete("orders", 6)
    await pair.sync()
    assert "orders" not in copied
    assert copied.configs() == topics.configs()


async def test_nothing_is_taken_from_who_is_not_the_master_of_this_group(pair: Pair) -> None:
    """A master that came back with an empty disk at the same address would have everything deleted here."""
    slave = pair.slave.inner
    slave.core.tables.topics.put(TopicConfig("orders", 3, 3), 5)
    assert slave.tasks.replication.group is not None
    await slave.tasks.replication.group.member.file.change(lambda state: replace(state, epoch=1, term_id=77))
    assert not await pair.sync()
    assert "orders" in slave.core.tables.topics and not slave.core.role.is_master_alive


async def test_groups_come_and_go_with_their_offsets(pair: Pair) -> None:
    groups = pair.master.inner.core.tables.groups
    groups.put(SubscriptionGroupConfig("readers", retry_max_times=3), 5)
    groups.set_readable("readers", "orders", False, 6)
    pair.master.inner.core.tables.offsets.commit("orders", "readers", 2, 40)
    await pair.sync()
    slave = pair.slave.inner
    assert slave.core.tables.groups.get("readers") == SubscriptionGroupConfig("readers", retry_max_times=3)
    assert slave.core.tables.groups.is_read_forbidden("readers", "orders")
    assert slave.core.tables.offsets.committed("orders", "readers", 2) == 40
    groups.delete("readers", 7)
    pair.master.inner.core.tables.offsets.forget_group("readers")
    await pair.sync()
    assert "readers" not in slave.core.tables.groups
    assert slave.core.tables.offsets.committed("orders", "readers", 2) is None


async def test_offsets_follow_the_master_also_backwards(pair: Pair) -> None:
    offsets = pair.master.inner.core.tables.offsets
    offsets.commit("orders", "readers", 0, 40)
    await pair.sync()
    offsets.reset("orders", "readers", 0, 10)
    await pair.sync()
    assert pair.slave.inner.core.tables.offsets.committed("orders", "readers", 0) == 10


async def test_an_offset_that_only_the_slave_has_stays(pair: Pair) -> None:
    """Committed here while the master was down."""
    pair.slave.inner.core.tables.offsets.commit("orders", "night-shift", 0, 7)
    await pair.sync()
    assert pair.slave.inner.core.tables.offsets.committed("orders", "night-shift", 0) == 7


async def test_request_modes_follow(pair: Pair) -> None:
    mode = SetMessageRequestModeRequestBody("orders", "readers", MessageRequestMode.POP, 4)
    pair.master.inner.core.tables.modes.put(mode)
    await pair.sync()
    assert pair.slave.inner.core.tables.modes.get("orders", "readers") == mode


async def test_what_was_taken_is_on_disk(pair: Pair) -> None:
    pair.master.inner.core.tables.topics.put(TopicConfig("orders", 3, 3), 5)
    pair.master.inner.core.tables.offsets.commit("orders", "readers", 0, 40)
    await pair.sync()
    folder = pair.slave.inner.core.runtime.config_directory
    await eventually(lambda: b'"orders"' in (folder / "topics.json").read_bytes())
    await eventually(lambda: b"orders@readers" in (folder / "consumerOffset.json").read_bytes())


async def test_progress_waits_for_the_log_that_it_rests_on(pair: Pair) -> None:
    master, slave = pair.master.inner, pair.slave.inner
    await pair.at_master.send("orders", b"late", properties={Property.DELAY: "1", "UNIQ_KEY": "K1"})
    await eventually(lambda: master.core.store.queues.max_offset("orders", 0) == 1)
    assert master.core.tables.delays.get(1) == 1
    master.core.tables.offsets.commit(TRANS_HALF_TOPIC, TRANS_GROUP, 0, 9)
    await pair.sync()
    assert slave.core.tables.delays.get(1) == 0
    assert slave.core.tables.offsets.committed(TRANS_HALF_TOPIC, TRANS_GROUP, 0) is None
    copy_log(pair.master, pair.slave)
    assert slave.tasks.replication.metadata_sync.settle()
    assert slave.core.tables.delays.get(1) == 1
    assert slave.core.tables.offsets.committed(TRANS_HALF_TOPIC, TRANS_GROUP, 0) == 9
    read_ms = slave.tasks.master.waiting.timer_store.delivered_before_ms
    assert read_ms and read_ms % PRECISION_MS == 0


async def test_a_delivery_that_the_slave_never_got_is_made_again(pair: Pair) -> None:
    """The master says that it is done with, and dies before the slave has the delivered message."""
    master, slave = pair.master.inner, pair.slave.inner
    await pair.at_master.send("orders", b"first")
    await pair.at_master.send("orders", b"late", properties={Property.DELAY: "1", "UNIQ_KEY": "K1"})
    copy_log(pair.master, pair.slave)
    await eventually(lambda: master.core.store.queues.max_offset("orders", 0) == 2)
    await pair.sync()
    await slave.tasks.replication.role_changes.become_master(2)
    await eventually(lambda: slave.core.store.queues.max_offset("orders", 0) == 2)


async def test_what_the_old_master_delivered_is_not_delivered_again(pair: Pair) -> None:
    master, slave = pair.master.inner, pair.slave.inner
    await pair.at_master.send("orders", b"first")
    for kind, key in ((Property.DELAY, "K1"), (Property.TIMER_DELAY_SEC, "K2")):
        await pair.at_master.send("orders", b"late", properties={kind: "1", "UNIQ_KEY": key})
    await eventually(lambda: master.core.store.queues.max_offset("orders", 0) == 3)
    copy_log(pair.master, pair.slave)
    await pair.sync()
    await dispatched(slave)
    await slave.tasks.replication.role_changes.become_master(2)
    await asyncio.sleep(1.5)
    assert slave.core.store.queues.max_offset("orders", 0) == 3


async def test_a_topic_of_a_copied_message_is_asked_for_at_once(pair: Pair) -> None:
    """The slave's clock is an hour away here."""
    await pair.sync()
    pair.master.inner.core.tables.topics.put(TopicConfig("orders", 3, 3), 5)
    await pair.at_master.send("orders", b"first")
    copy_log(pair.master, pair.slave)
    await dispatched(pair.slave.inner)
    topics = pair.slave.inner.core.tables.topics
    await eventually(lambda: topics.get("orders") == TopicConfig("orders", 3, 3))
    pair.master.inner.core.tables.topics.delete("orders", 6)
    await pair.sync()
    assert "orders" not in topics


@pytest.mark.parametrize("is_promoted", [False, True])
async def test_a_topic_whose_master_is_gone_is_made_of_its_queues(pair: Pair, is_promoted: bool) -> None:
    slave = pair.slave.inner
    await pair.sync()
    slave.tasks.replication.metadata_sync._soonest_s = float("inf")  # it has not come to ask again
    pair.master.inner.core.tables.topics.put(TopicConfig("orders", 4, 4), 5)
    before = slave.core.tables.topics.version
    for queue in (0, 2):
        await pair.at_master.send("orders", b"first", queue_id=queue)
    copy_log(pair.master, pair.slave)
    await dispatched(slave)
    assert "orders" not in slave.core.tables.topics
    await pair.at_master.close()
    await pair.master.stop()
    if is_promoted:
        await slave.tasks.replication.role_changes.become_master(2)
    else:
        assert not await pair.sync()
    assert slave.core.tables.topics.get("orders") == TopicConfig("orders", 3, 3)
    assert slave.core.tables.topics.version != before, "whoever follows reads it anew"
    file = slave.core.runtime.config_directory / "topics.json"
    await eventually(lambda: file.exists() and b'"orders"' in file.read_bytes())


def test_a_queue_number_that_nobody_would_choose_announces_no_million_queues() -> None:
    topics, saved = TopicTable(), list[str]()
    strangers = UnconfiguredTopics(
        topics, lambda: {"orders": [0, (1 << 31) - 2]}, save=saved.append, now_ms=lambda: 5
    )
    assert strangers.note("orders")
    strangers.adopt()
    assert topics.get("orders") == TopicConfig("orders", MAX_QUEUES_PER_TOPIC, MAX_QUEUES_PER_TOPIC)
    assert saved == [TOPICS_FILE] and not strangers.names()


async def test_named_state_follows_to_our_slaves(pair: Pair) -> None:
    taken: list[bytes] = []
    pair.master.inner.tasks.replication.files["users.json"] = ReplicaFile(lambda: b"\xff users", taken.append)
    pair.slave.inner.tasks.replication.files["users.json"] = ReplicaFile(lambda: b"", taken.append)
    pair.master.inner.core.tables.orders.popped(
        "orders", "readers", 0, [3, 4], attempt_id=None, invisible_ms=60_000, now_ms=1
    )
    await pair.sync()
    pair.slave.inner.tasks.replication.metadata_sync.settle()
    assert taken == [b"\xff users"]
    assert pair.slave.inner.core.tables.orders.get("orders", "readers", 0) is not None


async def test_large_tables_come_in_pages(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_reads, "PAGE", 7)
    for number in range(40):
        pair.master.inner.core.tables.topics.put(TopicConfig(f"t{number}", 1, 1), number)
        pair.master.inner.core.tables.groups.put(SubscriptionGroupConfig(f"g{number}"), number)
    await pair.sync()
    assert pair.slave.inner.core.tables.topics.configs() == pair.master.inner.core.tables.topics.configs()
    assert pair.slave.inner.core.tables.groups.configs() == pair.master.inner.core.tables.groups.configs()


async def test_an_older_rocketmq_is_a_good_master(pair: Pair) -> None:
    """4.9: no pages, no timers, no request modes, nothing of ours."""
    unknown = (
        RequestCode.GET_TIMER_CHECK_POINT,
        RequestCode.GET_TIMER_METRICS,
        RequestCode.GET_ALL_MESSAGE_REQUEST_MODE,
        RequestCode.SIGNALBOX_REPLICA_STATE,
    )
    asked: list[int] = []
    ask = pair.slave.inner.tasks.replication.metadata_sync.ask

    async def ask_older(address: str, request: Command) -> Command:
        asked.append(request.code)
        if request.code in unknown:
            return Command(Reply(ResponseCode.REQUEST_CODE_NOT_SUPPORTED).code, remark="not supported")
        answer = await ask(address, Command(request.code))
        answer.fields.clear()
        return answer

    pair.slave.inner.tasks.replication.metadata_sync.ask = ask_older
    pair.master.inner.core.tables.topics.put(TopicConfig("orders", 3, 3), 5)
    pair.master.inner.core.tables.offsets.commit(TRANS_HALF_TOPIC, TRANS_GROUP, 0, 9)
    assert await pair.sync()
    assert "orders" in pair.slave.inner.core.tables.topics
    assert pair.slave.inner.core.tables.offsets.committed(TRANS_HALF_TOPIC, TRANS_GROUP, 0) == 9
    assert RequestCode.GET_BROKER_RUNTIME_INFO in asked


async def test_a_slave_notices_that_its_master_is_gone(pair: Pair) -> None:
    await pair.sync()
    assert pair.slave.inner.core.role.is_master_alive
    await pair.master.stop()
    await eventually(lambda: not pair.slave.inner.core.role.is_master_alive)
    assert not await pair.sync()


async def test_a_master_does_not_ask(pair: Pair) -> None:
    await pair.slave.inner.tasks.replication.role_changes.become_master(2)
    pair.master.inner.core.tables.topics.put(TopicConfig("orders", 3, 3), 5)
    assert not await pair.sync()
    assert "orders" not in pair.slave.inner.core.tables.topics


async def test_a_new_master_is_asked_at_once(pair: Pair) -> None:
    pair.master.inner.core.tables.topics.put(TopicConfig("orders", 3, 3), 5)
    await pair.slave.inner.tasks.replication.role_changes.become_slave(pair.master.address, 1, 2)
    await eventually(lambda: "orders" in pair.slave.inner.core.tables.topics)

"""Delayed, timed and popped messages that are damaged when they are to be delivered: the others come in time,
the damaged one is listed, and comes when it is whole again."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from engine.protocol.codes import RequestCode
from engine.protocol.names import SCHEDULE_TOPIC, TIMER_TOPIC
from engine.protocol.records import Record
from engine.store.results import Damage
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.damage.flips import BODY_AT, flip, retry
from tests.engine.broker.damage.test_damaged_reads import damage_section, listed
from tests.engine.broker.damage.test_skip_exchange import group, promote
from tests.engine.broker.peers import Peer, RunningBroker, eventually, records
from tests.engine.broker.pop.popping import ask_pop, popped_of
from tests.engine.broker.replication.test_replicating_brokers import BrokerGroup

__all__ = ["group"]

LEVELS = {"messageDelayLevel": "2s 3s"}
WAYS = {
    "delay": (SCHEDULE_TOPIC, {"DELAY": "1"}),
    "timer": (TIMER_TOPIC, {"TIMER_DELAY_MS": "2500"}),
}
BODIES = [b"first", b"damaged", b"last"]


async def send_all(peer: Peer, way: str) -> list[str]:
    """Three messages that wait; their unique keys."""
    keys = []
    for number, body in enumerate(BODIES):
        properties = {**WAYS[way][1], "UNIQ_KEY": f"K{number}", "TAGS": "t"}
        answer = await peer.send("Orders", body, queue_id=2, properties=properties)
        assert answer.code == 0
        keys.append(f"K{number}")
    return keys


async def victim_of(broker: RunningBroker, way: str) -> Record:
    topic, store = WAYS[way][0], broker.inner.core.store
    await eventually(lambda: store.queues.max_offset(topic, 0) == len(BODIES))
    if way == "timer":
        await eventually(lambda: broker.inner.tasks.master.waiting.timer_store.queue_offset == len(BODIES))
    await broker.inner.tasks.log.flusher.bring_to_disk()
    record = store.log.record_at(store.queues.units(topic, 0, 1, 1)[0].commit_log_offset)
    assert record is not None and record.body == b"damaged"
    return record


async def delivered(broker: RunningBroker, count: int, queue_id: int = 2) -> list[Record]:
    store = broker.inner.core.store
    await eventually(lambda: store.queues.max_offset("Orders", queue_id) >= count, 20)
    units = store.queues.units("Orders", queue_id, 0, 10)
    found = [store.log.record_at(unit.commit_log_offset) for unit in units]
    return [record for record in found if record is not None]


async def settled(broker: RunningBroker) -> None:
    """All that is owed is redelivered, and noted as such."""
    async with asyncio.timeout(20):
        while any(record.is_owed for record in broker.inner.tasks.damage.records):
            await retry(broker.inner.tasks.damage.repairs)
            await broker.inner.tasks.log.flusher.bring_to_disk()
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("at", [0, BODY_AT], ids=["size", "body"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_message_that_is_damaged_when_it_is_due_is_listed_and_delivered_later(
    start_broker: StartBroker, tmp_path: Path, way: str, at: int
) -> None:
    broker = await start_broker(**LEVELS)
    peer = Peer(broker.address)
    await send_all(peer, way)
    victim = await victim_of(broker, way)
    flip(tmp_path / "store", victim.commit_log_offset + at)
    assert [record.body for record in await delivered(broker, 2)] == [b"first", b"last"]
    (row,) = await listed(peer)
    name = "%DELIVERY%Orders" if at else "%DELIVERY%"
    assert (row["offset"], row["size"]) == (victim.commit_log_offset, victim.size)
    assert (list(row["skips"]), row["skips"][name]["way"]) == ([name], way)
    assert await listed(peer, name) == [row]
    assert (await damage_section(peer))["skipped"] == 1
    await peer.close()
    await broker.stop()
    # It waits for its repair across restarts, and is delivered once.
    broker = await start_broker(**LEVELS)
    peer = Peer(broker.address)
    assert [record.body for record in await delivered(broker, 2)] == [b"first", b"last"]
    flip(tmp_path / "store", victim.commit_log_offset + at)
    # A second delivery that began before the repair adds nothing, though it can read the topic now.
    (owed,) = broker.inner.tasks.damage.records
    assert await broker.inner.tasks.damage.deliveries.skip_delivery(owed.damage, way)
    await settled(broker)
    *_, again = await delivered(broker, 3)
    assert (again.body, again.uniq_key, again.properties["TAGS"]) == (b"damaged", "K1", "t")
    assert (again.topic, again.queue_id, again.reconsume_times) == ("Orders", 2, 0)
    (row,) = await listed(peer)
    assert row["repairedMs"] > 0 and row["skips"][name]["redeliveredMs"] > 0
    await peer.close()
    await broker.stop()
    broker = await start_broker(**LEVELS)
    await retry(broker.inner.tasks.damage.repairs)
    assert len(await delivered(broker, 3)) == 3


@pytest.mark.parametrize("way", WAYS)
async def test_the_delivery_waits_until_the_list_is_on_disk(
    start_broker: StartBroker, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a crash would forget a message that counts as delivered."""
    broker = await start_broker(**LEVELS)
    peer = Peer(broker.address)
    await send_all(peer, way)
    victim = await victim_of(broker, way)
    deliveries, waiting = broker.inner.tasks.damage.deliveries, broker.inner.tasks.master.waiting
    is_full, refusals, saved = [True], [0], deliveries.saved

    async def refuse(file: str) -> OSError | None:
        refusals[0] += is_full[0]
        return OSError(28, "No space left on device") if is_full[0] else await saved(file)

    monkeypatch.setattr(deliveries, "saved", refuse)
    monkeypatch.setattr("engine.broker.delivery.delay_task._RETRY_MS", 50)
    monkeypatch.setattr("engine.broker.delivery.timer_task._RETRY_S", 0.05)
    flip(tmp_path / "store", victim.commit_log_offset + BODY_AT)
    await eventually(lambda: refusals[0] >= 3, 20)
    if way == "delay":
        assert waiting.delays.offsets.get(1) == 1
    else:
        assert waiting.timer_store.count(int(victim.properties["TIMER_OUT_MS"])) > 0
    assert [record.body for record in await delivered(broker, 1)] == [b"first"]
    is_full[0] = False
    assert [record.body for record in await delivered(broker, 2)] == [b"first", b"last"]
    await peer.close()


async def test_what_was_called_back_is_not_delivered_when_it_is_whole_again(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    broker = await start_broker(recallMessageEnable="true")
    peer = Peer(broker.address)
    deliver_ms = int(time.time() * 1000) + 3_000
    properties = {"TIMER_DELIVER_MS": str(deliver_ms), "UNIQ_KEY": "K1"}
    answer = await peer.send("Orders", b"damaged", properties=properties)
    handle = {"topic": "Orders", "recallHandle": answer.fields["recallHandle"]}
    assert (await peer.ask(RequestCode.RECALL_MESSAGE, handle)).code == 0
    store = broker.inner.core.store
    await eventually(lambda: broker.inner.tasks.master.waiting.timer_store.queue_offset == 2)
    await broker.inner.tasks.log.flusher.bring_to_disk()
    offset = store.queues.units(TIMER_TOPIC, 0, 0, 1)[0].commit_log_offset
    flip(tmp_path / "store", offset + BODY_AT)
    await eventually(lambda: any(record.is_owed for record in broker.inner.tasks.damage.records), 20)
    flip(tmp_path / "store", offset + BODY_AT)
    await settled(broker)
    assert store.queues.max_offset("Orders", 0) == 0
    await peer.close()


async def test_a_timed_message_that_is_whole_again_in_time_waits_for_its_time(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    """The timers' files were lost: the whole queue is read again, and this message does not say its time."""
    broker = await start_broker()
    peer = Peer(broker.address)
    deliver_ms = int(time.time() * 1000) + 10_000
    await peer.send("Orders", b"x", properties={"TIMER_DELIVER_MS": str(deliver_ms), "UNIQ_KEY": "K1"})
    await peer.send("Others", b"y")
    await peer.close()
    store = broker.inner.core.store
    await eventually(lambda: broker.inner.tasks.master.waiting.timer_store.queue_offset == 1)
    offset = store.queues.units(TIMER_TOPIC, 0, 0, 1)[0].commit_log_offset
    await broker.stop()
    root = tmp_path / "store"
    for path in (root / "timerwheel", *(root / "config").glob("timercheck*"), *(root / "timerlog").glob("*")):
        path.unlink()
    flip(root, offset)
    broker = await start_broker()
    await eventually(lambda: any(record.is_owed for record in broker.inner.tasks.damage.records))
    flip(root, offset)
    await settled(broker)
    assert broker.inner.core.store.queues.max_offset(TIMER_TOPIC, 0) == 2
    assert broker.inner.core.store.queues.max_offset("Orders", 0) == 0
    (found,) = await delivered(broker, 1, queue_id=0)
    assert found.body == b"x" and found.store_timestamp >= deliver_ms


async def test_what_another_epoch_redelivered_is_given_again(start_broker: StartBroker) -> None:
    """Its append may have been cut from the log."""
    broker = await start_broker()
    known = broker.inner.tasks.damage.records
    record, _ = known.note(Damage("Orders", 0, 0, 0, 100, "00000000000000000000"), 5)
    for name in ("same", "other", "later"):
        known.skip(record, name, "pull", 6)
    epoch, end = broker.inner.core.role.epoch, broker.inner.core.store.replica.kept_end
    record.skips["same"].appended = epoch, end
    record.skips["later"].appended = epoch, end + 1
    record.skips["other"].appended = epoch + 1, end
    broker.inner.tasks.damage.settle()
    assert {name: bool(skip.redelivered_ms) for name, skip in record.skips.items()} == {
        "same": True,
        "other": False,
        "later": False,
    }
    assert record.skips["other"].appended is None and record.skips["later"].appended is not None


async def test_a_popped_message_that_is_damaged_when_it_comes_back_is_listed(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    broker = await start_broker()
    peer = Peer(broker.address)
    for body in BODIES:
        assert (await peer.send("Orders", body)).code == 0
    given = popped_of(await ask_pop(peer, "Orders", invisible_time=1_500))
    assert [message.body for message in given] == BODIES
    await broker.inner.tasks.log.flusher.bring_to_disk()
    offset = given[1].record.commit_log_offset
    flip(tmp_path / "store", offset + BODY_AT)
    store = broker.inner.core.store
    await eventually(lambda: len(retries(broker)) == 2, 20)
    assert retries(broker) == [b"first", b"last"]
    (row,) = await listed(peer, "poppers")
    assert (row["topic"], row["queueOffset"], row["skips"]["poppers"]["way"]) == ("Orders", 1, "pop")
    flip(tmp_path / "store", offset + BODY_AT)
    await settled(broker)
    await eventually(lambda: not store.queues.has_undispatched())
    assert retries(broker) == [b"first", b"last", b"damaged"]
    await peer.close()


def retries(broker: RunningBroker) -> list[bytes]:
    store = broker.inner.core.store
    (topic,) = [name for name in store.queues.ids_by_topic() if "poppers" in name] or [""]
    units = store.queues.units(topic, 0, 0, 10)
    found = [store.log.record_at(unit.commit_log_offset) for unit in units]
    return [record.body for record in found if record is not None]


async def test_a_queue_that_leads_elsewhere_is_mended_and_nothing_is_lost(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    broker = await start_broker(**LEVELS)
    peer = Peer(broker.address)
    await send_all(peer, "delay")
    await victim_of(broker, "delay")
    path = tmp_path / "store" / "consumequeue" / SCHEDULE_TOPIC / "0" / "00000000000000000000"
    with open(path, "r+b") as file:
        file.seek(20 + 6)
        file.write(b"\x7f")
    assert sorted(record.body for record in await delivered(broker, 3)) == sorted(BODIES)
    assert await listed(peer) == []
    await peer.close()


@pytest.mark.parametrize("way", WAYS)
async def test_a_member_of_a_group_repairs_it_first(group: BrokerGroup, tmp_path: Path, way: str) -> None:
    master, slave = await group.start(0, **LEVELS), await group.start(1, **LEVELS)
    await group.in_sync()
    await send_all(group.peers[0], way)
    victim = await victim_of(master, way)
    end = master.inner.core.store.log.max_offset
    await eventually(lambda: slave.inner.core.store.log.max_offset >= end)
    await slave.inner.tasks.log.flusher.bring_to_disk()
    flip(tmp_path / "0", victim.commit_log_offset + BODY_AT)
    assert [record.body for record in await delivered(master, 3)] == BODIES
    (row,) = await listed(group.peers[0])
    assert row["repairedMs"] > 0 and row["skips"] == {}


@pytest.mark.parametrize("way", WAYS)
async def test_a_promoted_slave_delivers_what_its_master_had_listed(
    group: BrokerGroup, tmp_path: Path, way: str
) -> None:
    master, slave = await group.start(0, **LEVELS), await group.start(1, **LEVELS)
    await group.in_sync()
    await send_all(group.peers[0], way)
    victim = await victim_of(master, way)
    end = master.inner.core.store.log.max_offset
    await eventually(lambda: slave.inner.core.store.log.max_offset >= end)
    await slave.inner.tasks.log.flusher.bring_to_disk()
    for member in (0, 1):
        flip(tmp_path / str(member), victim.commit_log_offset + BODY_AT)
    await delivered(master, 2)
    await master.inner.tasks.log.flusher.bring_to_disk()
    end = master.inner.core.store.log.max_offset
    await eventually(lambda: slave.inner.core.store.log.max_offset >= end)
    assert await slave.inner.tasks.replication.metadata_sync.round()
    await group.stop(0)
    await promote(slave)
    flip(tmp_path / "1", victim.commit_log_offset + BODY_AT)
    await settled(slave)
    found = [record.body for record in await delivered(slave, 3)]
    assert sorted(found) == sorted(BODIES)
    assert [record.body for record in records(await group.peers[1].pull("Orders", 0, queue_id=2))] == found

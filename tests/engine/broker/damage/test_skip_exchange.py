"""Who skipped what is known to the whole group: a promoted slave redelivers, and a slave tells its master."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from engine.broker.damage import repair_task, skip_exchange
from engine.broker.damage.damaged_records import (
    DAMAGE_FILE,
    DamagedRecord,
    DamagedRecords,
    Skip,
    decode_rows,
    encode_rows,
)
from engine.errors import PeerError
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.headers.brokers import SkipsRequest
from engine.store.results import Damage
from tests.engine.broker.damage.flips import BODY_AT, flip, retry
from tests.engine.broker.damage.test_damaged_reads import damage_section, listed, pull_all
from tests.engine.broker.damage.test_group_repairs import COUNT, VICTIM, fill
from tests.engine.broker.peers import RunningBroker, eventually
from tests.engine.broker.replication.test_replicating_brokers import BrokerGroup

FILE = "00000000000000000000"
OTHERS = [number for number in range(COUNT) if number != VICTIM]


def skipped(at_ms: int, redelivered_ms: int = 0, *, number: int = 1, group: str = "billing") -> DamagedRecord:
    damage = Damage("Orders", 0, number, number * 100, 100, FILE)
    return DamagedRecord(damage, 5, 0, {group: Skip(at_ms, "pull", redelivered_ms)})


def only_skip(records: DamagedRecords) -> Skip:
    ((_, _, skip),) = records.skips()
    return skip


# -- the rules ----------------------------------------------------------------------------------------------


def test_a_heard_skip_is_owed_but_says_nothing_of_this_disk() -> None:
    records = DamagedRecords()
    assert records.merge(skipped(10), "other-file", is_masters=True)
    (record,) = records.broken()
    assert (record.found_ms, record.repaired_ms, record.damage.file) == (0, 0, "other-file")
    assert record.is_owed and records.known_count() == 0 and records.section(0) is None
    assert records.repaired(100, 200, 20) == records.owed() == [record]
    assert (records.repaired_count, records.repaired_since_start) == (0, 0)


def test_damage_of_a_heard_record_is_news_once_it_is_seen() -> None:
    records = DamagedRecords()
    records.merge(skipped(10), FILE, is_masters=True)
    record, is_new = records.note(skipped(10).damage, 20)
    assert (is_new, record.found_ms, list(record.skips)) == (True, 20, ["billing"])
    assert records.note(skipped(10).damage, 30) == (record, False)


@pytest.mark.parametrize(
    ("own", "given", "expected"),
    [
        (skipped(10), skipped(10, 15), (10, 15)),
        (skipped(10, 15), skipped(10), (10, 0)),
        (skipped(10, 15), skipped(20), (20, 0)),
        (skipped(20), skipped(10, 15), (20, 0)),
    ],
    ids=["it was redelivered", "it was not", "it was skipped again", "ours is later"],
)
def test_a_slave_believes_its_master(
    own: DamagedRecord, given: DamagedRecord, expected: tuple[int, int]
) -> None:
    records = DamagedRecords()
    records.merge(own, FILE, is_masters=True)
    records.merge(given, FILE, is_masters=True)
    skip = only_skip(records)
    assert (skip.at_ms, skip.redelivered_ms) == expected
    assert not records.merge(given, FILE, is_masters=True)


@pytest.mark.parametrize(
    ("given", "expected"),
    [(skipped(10), (10, 15)), (skipped(5), (10, 15)), (skipped(20, 25), (20, 0))],
    ids=["known", "older", "later"],
)
def test_a_master_takes_from_a_slave_what_it_has_not_got(
    given: DamagedRecord, expected: tuple[int, int]
) -> None:
    records = DamagedRecords()
    records.merge(skipped(10, 15), FILE, is_masters=True)
    records.merge(given, FILE, is_masters=False)
    skip = only_skip(records)
    assert (skip.at_ms, skip.redelivered_ms) == expected


def test_a_copy_is_bounded_and_what_is_owed_comes_first() -> None:
    rows = [skipped(10, number=number) for number in range(1, 100)]
    data = encode_rows(rows, 2_000)
    assert len(data) <= 2_000 + 20
    found = decode_rows(data)
    assert found is not None and 0 < len(found) < 99
    assert [record.key for record in found] == [record.key for record in rows[: len(found)]]
    assert decode_rows(b"{") is None and decode_rows(b"7") == []


# -- whole brokers ------------------------------------------------------------------------------------------


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[BrokerGroup]:
    made = BrokerGroup(tmp_path)
    await made.open()
    yield made
    await made.close()


def hurt(group: BrokerGroup, folder: Path, member: int, offset: int, size: int) -> None:
    flip(folder / str(member), offset + BODY_AT)
    group.members[member].inner.core.store.repairs.damaged.add(offset, offset + size)


async def promote(broker: RunningBroker) -> None:
    assert broker.inner.tasks.replication.group is not None
    replication = broker.inner.tasks.replication.group.member
    await replication.promote(replication.status().epoch, 1, is_unclean=True)
    await eventually(lambda: broker.inner.core.role.is_master, 20)


async def redelivered(broker: RunningBroker, group: str = "consumers") -> list[bytes]:
    """What the group finds in its retry topic, once it is noted that it was redelivered."""
    damage, store = broker.inner.tasks.damage, broker.inner.core.store
    async with asyncio.timeout(20):
        while any(record.is_owed for record in damage.records):
            await broker.inner.tasks.log.flusher.bring_to_disk()
            await retry(damage.repairs)
            await asyncio.sleep(0.02)
    await eventually(lambda: not store.queues.has_undispatched())
    units = store.queues.units(f"%RETRY%{group}", 0, 0, 10)
    found = [store.log.record_at(unit.commit_log_offset) for unit in units]
    return [record.body for record in found if record is not None]


@pytest.mark.parametrize("is_whole", [True, False], ids=["a whole copy", "a damaged copy"])
async def test_a_promoted_slave_redelivers_what_its_master_skipped(
    group: BrokerGroup, tmp_path: Path, is_whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair_task, "ATTEMPT_S", 0.1)
    master, slave = await group.start(0), await group.start(1)
    offset, size = await fill(group)
    for member in (0, 1):
        hurt(group, tmp_path, member, offset, size)
    assert (await pull_all(group.peers[0]))[0] == OTHERS
    assert await slave.inner.tasks.replication.metadata_sync.round()
    (row,) = await listed(group.peers[1], "consumers")
    assert (row["topic"], row["queueOffset"], row["offset"]) == ("Orders", VICTIM, offset)
    assert row["skips"]["consumers"]["redeliveredMs"] == 0
    saved = tmp_path / "1" / "config" / DAMAGE_FILE
    await eventually(lambda: saved.exists() and b'"consumers"' in saved.read_bytes())
    # The alert is the master's as long as there is one.
    assert (await damage_section(group.peers[0]))["skipped"] == 1
    await eventually(lambda: slave.inner.tasks.damage.records.known_count() == 1)
    assert (await damage_section(group.peers[1]))["skipped"] == 0
    await group.stop(0)
    if is_whole:
        flip(tmp_path / "1", offset + BODY_AT)
    await promote(slave)
    assert (await damage_section(group.peers[1]))["skipped"] == 1
    if not is_whole:
        await retry(slave.inner.tasks.damage.repairs)
        assert slave.inner.core.store.queues.max_offset("%RETRY%consumers", 0) == 0
        flip(tmp_path / "1", offset + BODY_AT)
    assert await redelivered(slave) == [b"message %02d" % VICTIM]
    (row,) = await listed(group.peers[1], "consumers")
    assert row["repairedMs"] > 0 and row["skips"]["consumers"]["redeliveredMs"] > 0
    assert master.inner.tasks.damage.records.skipped_since_start == 1


async def test_what_the_old_master_redelivered_is_not_given_again(group: BrokerGroup, tmp_path: Path) -> None:
    master, slave = await group.start(0), await group.start(1)
    offset, size = await fill(group)
    for member in (0, 1):
        hurt(group, tmp_path, member, offset, size)
    await pull_all(group.peers[0])
    assert await slave.inner.tasks.replication.metadata_sync.round()
    flip(tmp_path / "0", offset + BODY_AT)
    assert await redelivered(master) == [b"message %02d" % VICTIM]
    await eventually(lambda: slave.inner.core.store.log.max_offset == master.inner.core.store.log.max_offset)
    assert await slave.inner.tasks.replication.metadata_sync.round()
    (row,) = await listed(group.peers[1], "consumers")
    assert row["skips"]["consumers"]["redeliveredMs"] > 0
    await group.stop(0)
    await promote(slave)
    await retry(slave.inner.tasks.damage.repairs)
    await eventually(lambda: not slave.inner.core.store.queues.has_undispatched())
    assert slave.inner.core.store.queues.max_offset("%RETRY%consumers", 0) == 1


async def test_a_slave_tells_its_master_what_it_skipped_alone(
    group: BrokerGroup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Consumers read from the slave while the master is away; the master, which has the message, is back."""
    monkeypatch.setattr(repair_task, "ATTEMPT_S", 0.1)
    await group.start(0)
    slave = await group.start(1)
    offset, size = await fill(group)
    assert await slave.inner.tasks.replication.metadata_sync.round()
    await group.stop(0)
    await eventually(lambda: not slave.inner.core.role.is_master_alive)
    hurt(group, tmp_path, 1, offset, size)
    assert (await pull_all(group.peers[1]))[0] == OTHERS
    (row,) = await listed(group.peers[1], "consumers")
    assert row["skips"]["consumers"]["redeliveredMs"] == 0
    master = await group.start(0)
    await eventually(lambda: slave.inner.core.role.is_master_alive and master.inner.core.role.is_master, 20)
    assert await listed(group.peers[0], "consumers") == []
    await eventually_told(slave, lambda: len(master.inner.tasks.damage.records) == 1)
    assert await redelivered(master) == [b"message %02d" % VICTIM]
    (row,) = await listed(group.peers[0], "consumers")
    assert row["skips"]["consumers"]["redeliveredMs"] > 0
    assert await damage_section(group.peers[0]) is None
    await eventually(lambda: slave.inner.core.store.log.max_offset == master.inner.core.store.log.max_offset)
    assert await slave.inner.tasks.replication.metadata_sync.round()
    assert slave.inner.tasks.damage.exchange.unreported() is None
    assert not any(record.is_owed for record in slave.inner.tasks.damage.records)


async def eventually_told(slave: RunningBroker, is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not is_true():
            await slave.inner.tasks.replication.metadata_sync.round()
            await retry(slave.inner.tasks.damage.repairs)
            await asyncio.sleep(0.02)


async def test_a_master_without_the_list_changes_nothing(group: BrokerGroup, tmp_path: Path) -> None:
    """Release 0.1.0 sends no such file and knows no such request."""
    master, slave = await group.start(0), await group.start(1)
    await fill(group)
    del master.inner.tasks.replication.files[DAMAGE_FILE]
    own = skipped(10, number=1)
    own.damage = own.damage._replace(commit_log_offset=0)
    assert slave.inner.tasks.damage.records.merge(own, FILE, is_masters=True)
    assert await slave.inner.tasks.replication.metadata_sync.round()
    assert "Orders" in slave.inner.core.tables.topics
    (row,) = await listed(group.peers[1], "billing")
    assert row["skips"]["billing"]["redeliveredMs"] == 0
    # A file that makes no sense changes nothing either.
    slave.inner.tasks.replication.files[DAMAGE_FILE].adopt(b"\0")
    slave.inner.tasks.replication.files[DAMAGE_FILE].adopt(b'{"records":[1,{"offset":"x"}]}')
    assert len(await listed(group.peers[1])) == 1


async def test_only_members_of_the_group_tell_a_master(group: BrokerGroup) -> None:
    master, slave = await group.start(0), await group.start(1)
    await fill(group)
    replication = master.inner.tasks.replication.group
    assert replication is not None
    epoch, term_id = replication.member.epoch_and_term_id
    rows = encode_rows([skipped(10)], skip_exchange.MAX_COPY_BYTES)
    fields = SkipsRequest("TestCluster", "broker-a", epoch, term_id).encode()
    answer = await group.peers[0].ask(RequestCode.SIGNALBOX_GROUP_SKIPS, fields, rows)
    assert answer.code == ResponseCode.NO_PERMISSION
    assert len(master.inner.tasks.damage.records) == 0
    for address, told in ((slave.address, epoch), (master.address, epoch + 1)):
        with pytest.raises(PeerError, match=r"epoch|not the master"):
            await replication._requests.skips(address, told, term_id, rows)
    assert len(master.inner.tasks.damage.records) == 0
    await replication._requests.skips(master.address, epoch, term_id, rows)
    assert [list(record.skips) for record in master.inner.tasks.damage.records] == [["billing"]]
    await replication._requests.skips(master.address, epoch, term_id, orjson.dumps(["nonsense"]))
    assert len(master.inner.tasks.damage.records) == 1


def parsed(data: bytes) -> Any:
    return orjson.loads(data)


async def test_the_copy_is_made_anew_only_when_something_changed(group: BrokerGroup) -> None:
    master = await group.start(0)
    await group.peers[0].send("Orders", bytes(300))
    exchange, known = master.inner.tasks.damage.exchange, master.inner.tasks.damage.records
    assert parsed(exchange.take()) == {"records": []}
    record, _ = known.note(Damage("Orders", 0, 0, 0, 100, FILE), 5)
    known.skip(record, "billing", "pull", 6)
    first = exchange.take()
    assert list(parsed(first)["records"][0]["skips"]) == ["billing"]
    assert exchange.take() is first
    known.redelivered(record.skips["billing"], 7)
    assert parsed(exchange.take())["records"][0]["skips"]["billing"]["redeliveredMs"] == 7


def test_records_that_have_no_queue_keep_their_skips() -> None:
    known = DamagedRecords()
    record, _ = known.note(Damage("", -1, -1, 100, 100, FILE), 5)
    known.skip(record, "%DELIVERY%Orders", "timer", 6)
    known.repaired(100, 200, 7)
    named, is_new = known.note(Damage("rmq_sys_wheel_timer", 0, 3, 100, 100, FILE), 8)
    assert is_new and not named.skips
    assert [list(record.skips) for record in known.owed()] == [["%DELIVERY%Orders"]]

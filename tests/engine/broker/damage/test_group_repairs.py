"""Members of a group repair each other's damaged records: whole brokers, over their own ports."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.broker.failover.member_requests_io import is_final
from engine.errors import PeerError, PeerTimeout
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.headers.brokers import RecordRequest
from tests.engine.broker.damage.flips import BODY_AT, flip, log_bytes, retry
from tests.engine.broker.damage.test_damaged_reads import damage_section, listed, pull_all, stored
from tests.engine.broker.peers import eventually, records
from tests.engine.broker.replication.test_replicating_brokers import BrokerGroup

COUNT = 10
VICTIM = 4


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[BrokerGroup]:
    made = BrokerGroup(tmp_path)
    await made.open()
    yield made
    await made.close()


async def fill(group: BrokerGroup) -> tuple[int, int]:
    """Where the victim lies, and its size; both members have everything on disk."""
    master, slave = group.members[0].inner, group.members[1].inner
    for number in range(COUNT):
        assert (await group.peers[0].send("Orders", b"message %02d" % number)).code == 0
    await group.in_sync()
    await eventually(lambda: slave.core.store.queues.max_offset("Orders", 0) == COUNT)
    slave.tasks.replication.metadata_sync.wake()
    await eventually(lambda: "Orders" in slave.core.tables.topics)
    for broker in (master, slave):
        await broker.tasks.log.flusher.bring_to_disk()
    record = (await stored(group.peers[0]))[VICTIM]
    return record.commit_log_offset, record.size


@pytest.mark.parametrize("member", [0, 1], ids=["the master from its slave", "the slave from its master"])
@pytest.mark.parametrize("at", [0, BODY_AT], ids=["size", "body"])
async def test_a_member_repairs_a_record_from_the_other(
    group: BrokerGroup, tmp_path: Path, member: int, at: int
) -> None:
    await group.start(0)
    await group.start(1)
    offset, size = await fill(group)
    good = log_bytes(tmp_path / "0", offset, size)
    await group.stop(member)
    flip(tmp_path / str(member), offset + at)
    bad = log_bytes(tmp_path / str(member), offset, size)
    broker = await group.start(member)
    await eventually(lambda: broker.inner.tasks.damage.records.repaired_count == 1, 30)
    assert log_bytes(tmp_path / str(member), offset, size) == good
    assert (tmp_path / str(member) / "damaged" / f"{offset:020d}-{size}").read_bytes() == bad
    peer = group.peers[member]
    assert [record.queue_offset for record in records(await peer.pull("Orders", 0))] == list(range(COUNT))
    (row,) = await listed(peer)
    assert row["offset"] == offset and row["repairedMs"] > 0 and row["skips"] == {}
    section = await damage_section(peer)
    assert (section["skipped"], section["repaired"]) == (0, 1)


async def test_a_pull_waits_for_the_repair_of_what_it_reads(group: BrokerGroup, tmp_path: Path) -> None:
    """The damage is known, but nobody has tried to repair it before the pull comes."""
    await group.start(0)
    await group.start(1)
    offset, size = await fill(group)
    flip(tmp_path / "0", offset + BODY_AT)
    group.members[0].inner.core.store.repairs.damaged.add(offset, offset + size)
    assert await pull_all(group.peers[0]) == (list(range(COUNT)), [])
    assert group.members[0].inner.tasks.damage.records.repaired_count == 1


async def test_what_nobody_has_is_skipped_and_a_slave_sends_to_its_master(
    group: BrokerGroup, tmp_path: Path
) -> None:
    await group.start(0)
    await group.start(1)
    offset, size = await fill(group)
    for member in (0, 1):
        flip(tmp_path / str(member), offset + BODY_AT)
        group.members[member].inner.core.store.repairs.damaged.add(offset, offset + size)
    await eventually(lambda: group.members[1].inner.core.role.is_master_alive)
    answer = await group.peers[1].pull("Orders", VICTIM)
    assert answer.code == ResponseCode.PULL_RETRY_IMMEDIATELY
    assert (answer.fields["nextBeginOffset"], answer.fields["suggestWhichBrokerId"]) == (str(VICTIM), "0")
    assert await listed(group.peers[1], "consumers") == []
    found, remarks = await pull_all(group.peers[0])
    assert found == [number for number in range(COUNT) if number != VICTIM]
    assert len(remarks) == 1
    # Now one of them is restored: the other follows, and the group gets its message.
    flip(tmp_path / "1", offset + BODY_AT)
    await retry(group.members[0].inner.tasks.damage.repairs)
    await eventually(lambda: group.members[0].inner.core.store.queues.max_offset("%RETRY%consumers", 0) == 1)
    assert log_bytes(tmp_path / "0", offset, size) == log_bytes(tmp_path / "1", offset, size)


async def test_who_does_not_know_the_secret_gets_no_bytes(group: BrokerGroup) -> None:
    master = await group.start(0)
    await group.start(1)
    offset, size = await fill(group)
    replication = master.inner.tasks.replication.group
    assert replication is not None
    epoch, term_id = replication.member.epoch_and_term_id
    header = RecordRequest("TestCluster", "broker-a", epoch, term_id, offset, size, 1)
    answer = await group.peers[0].ask(RequestCode.SIGNALBOX_GROUP_RECORD, header.encode())
    assert (answer.code, bytes(answer.body)) == (ResponseCode.NO_PERMISSION, b"")
    requests = replication._requests
    assert len(await requests.record(master.address, epoch, term_id, offset, size)) == size
    for wrong in ((offset, size - 1), (offset + 1, size), (offset, 1 << 20), (1 << 40, 100), (offset, -1)):
        with pytest.raises(PeerError) as caught:
            await requests.record(master.address, epoch, term_id, *wrong)
        assert is_final(caught.value)
    with pytest.raises(PeerError) as caught:
        await requests.record(master.address, epoch + 1, term_id, offset, size)
    assert not is_final(caught.value)
    assert not is_final(PeerTimeout("late"))

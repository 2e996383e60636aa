"""The front of a group's log: who decides where it starts, and what becomes of a member that lacks a part."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.broker.replication.master_link_io import MasterLink
from engine.broker.replication.master_task import MasterTerm
from engine.broker.replication.slave_task import Follower
from engine.errors import Refused
from engine.store.results import QueueUnit
from tests.engine.broker.replication.members import Member, Wire, running, until
from tests.engine.store.samples import NOW_MS, SEGMENT_SIZE
from tests.ports import free_ports

pytestmark = pytest.mark.asyncio

HOUR_MS = 3_600_000
YOUNG = 0
OLD = 100 * HOUR_MS


def clock(ahead_ms: int) -> Callable[[], int]:
    """Messages are stored at NOW_MS; this is so much later, and goes on."""
    begin = asyncio.get_running_loop().time()
    return lambda: NOW_MS + ahead_ms + int((asyncio.get_running_loop().time() - begin) * 1000)


def group(root: Path, size: int = 2, *, ahead_ms: int = YOUNG, **options: object) -> list[Member]:
    wire, now_ms = Wire(), clock(ahead_ms)
    return [
        Member(root / str(number), wire, number, port, master=_master(number), now_ms=now_ms, **options)  # type: ignore[arg-type]
        for number, port in enumerate(free_ports(size))
    ]


def _master(number: int) -> str | None:
    return "member-0" if number else None


def again(root: Path, member: Member, wire: Wire, *, ahead_ms: int = YOUNG, **options: object) -> Member:
    """The same store, started once more."""
    number = member.member_id
    return Member(
        root / str(number),
        wire,
        number,
        member.port,
        master=_master(number),
        now_ms=clock(ahead_ms),
        **options,  # type: ignore[arg-type]
    )


def in_sync(member: Member) -> tuple[int, ...]:
    term = member.replication.streams.term
    return term.table.current.ids if term is not None else ()


async def fill(master: Member, *slaves: Member, segments: int = 4) -> None:
    """Until the log has so many segments and one that is being written."""
    ids = tuple(member.member_id for member in (master, *slaves))
    await until(lambda: in_sync(master) == ids and master.role == "master")
    number = 0
    while master.store.log.max_offset < segments * SEGMENT_SIZE:
        master.put(number)
        number += 1
    assert await master.send(number)
    await until(lambda: all(slave.log() == master.log() for slave in slaves))


def _heard(slave: Member) -> int | None:
    """Up to where its master lets it delete; on its own disk, too."""
    following = slave.replication.streams.follower
    told = following.may_delete_to if following is not None else None
    assert told is None or told <= (slave.file.known.start_offset or 0)
    return told


def segments(root: Path, number: int) -> list[Path]:
    return sorted((root / str(number) / "commitlog").iterdir())


def age(root: Path, *numbers: int, count: int = 2) -> None:
    """Make the first segments of these members' logs old."""
    for number in numbers:
        for path in segments(root, number)[:count]:
            os.utime(path, (0, (NOW_MS - OLD) / 1000))


def lose_front(root: Path, number: int, count: int = 2) -> None:
    for path in segments(root, number)[:count]:
        path.unlink()


async def test_expiry_follows_the_master(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(master, slave):
        await fill(master, slave)
        age(tmp_path, 0, 1)
        await slave.clean()
        assert slave.store.log.min_offset == 0, "its master has decided nothing"
        await master.clean()
        assert master.store.log.min_offset == 2 * SEGMENT_SIZE
        assert master.file.known.start_offset == 2 * SEGMENT_SIZE
        await until(lambda: _heard(slave) == 2 * SEGMENT_SIZE)
        await slave.clean()
        assert slave.store.log.min_offset == 2 * SEGMENT_SIZE
        assert await master.send(9_999) and in_sync(master) == (0, 1)
        assert slave.replication.status().trouble is None


async def test_a_slave_whose_own_copy_looks_young_obeys_all_the_same(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(master, slave):
        await fill(master, slave)
        age(tmp_path, 0)
        await master.clean()
        await until(lambda: _heard(slave) == 2 * SEGMENT_SIZE)
        await slave.clean()
        assert slave.store.log.min_offset == 2 * SEGMENT_SIZE


async def test_the_start_is_on_disk_before_anything_is_deleted(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(master, slave):
        await fill(master, slave)
        age(tmp_path, 0, 1)
        change, seen = master.file.change, []

        async def slow(step):  # type: ignore[no-untyped-def]
            seen.append(master.store.log.min_offset)
            state = await change(step)
            seen.append((state.start_offset, master.store.log.min_offset))
            return state

        master.file.change = slow  # type: ignore[method-assign]
        await master.clean()
        assert (2 * SEGMENT_SIZE, 0) in seen


async def test_a_master_killed_before_it_deleted_goes_on_with_it(tmp_path: Path) -> None:
    """The slave has deleted already: its log starts later than its master's, and lacks nothing."""
    master, slave = group(tmp_path)
    async with running(slave):
        async with running(master):
            await fill(master, slave)
            age(tmp_path, 0, 1)
            assert master.replication.streams.term is not None
            await master.replication.streams.term.decide_start(2 * SEGMENT_SIZE)
            await until(lambda: _heard(slave) == 2 * SEGMENT_SIZE)
            await slave.clean()
            assert slave.store.log.min_offset == 2 * SEGMENT_SIZE
        started = again(tmp_path, master, slave._wire)
        async with running(started):
            await until(lambda: in_sync(started) == (0, 1) and started.role == "master")
            assert started.store.log.min_offset == 0
            assert await started.send(9_999)
            await started.clean()
            assert started.store.log.min_offset == 2 * SEGMENT_SIZE


async def test_without_a_master_a_slave_deletes_nothing(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(slave):
        async with running(master):
            await fill(master, slave)
            age(tmp_path, 0, 1)
            await master.clean()
            await until(lambda: _heard(slave) == 2 * SEGMENT_SIZE)
        await until(
            lambda: slave.replication.streams.follower and slave.replication.streams.follower.link is None
        )
        await slave.clean(disk_usage_ratio=0.99)
        assert slave.store.log.min_offset == 0
        assert "master" in slave.replication.streams.cleaning_refusal()


async def test_a_full_disk_of_a_slave_deletes_nothing_that_its_master_keeps(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(master, slave):
        await fill(master, slave)
        await slave.clean(disk_usage_ratio=0.99)
        assert slave.store.log.min_offset == 0
        assert (
            slave.replication.streams.cleaning_refusal() and not master.replication.streams.cleaning_refusal()
        )


async def test_slaves_follow_a_master_that_deletes_to_make_room(tmp_path: Path) -> None:
    """Where it may (RocketMQ's default): otherwise its slaves would run full first."""
    master, slave = group(tmp_path)
    async with running(master, slave):
        await fill(master, slave)
        await master.clean(disk_usage_ratio=0.86)
        start = master.store.log.min_offset
        assert start == 4 * SEGMENT_SIZE
        assert master.store.front.deleted_unexpired.segments == 4
        await until(lambda: _heard(slave) == start)
        await slave.clean()
        assert slave.store.log.min_offset == start
        assert await master.send(9_999) and in_sync(master) == (0, 1)


async def test_a_member_that_lost_its_front_is_not_in_sync(tmp_path: Path) -> None:
    first, second, third = group(tmp_path, 3)
    async with running(first, second):
        async with running(third):
            await fill(first, second, third)
        lose_front(tmp_path, 2)
        third = again(tmp_path, third, first._wire)
        async with running(third):
            await until(lambda: in_sync(first) == (0, 1))
            assert await first.send(9_999), "two of three are enough"
            status = third.replication.status()
            assert status.missing_from == 0 and status.log_start == 2 * SEGMENT_SIZE
            assert "messages from offset 0 on have not expired" in str(status.trouble)
            await asyncio.sleep(1.2)
            assert in_sync(first) == (0, 1), "it does not come back by having the end of the log"
            count = sum(unit.commit_log_offset < 2 * SEGMENT_SIZE for unit in _units(first))
            assert count > 500
            lost = rf"lacks {2 * SEGMENT_SIZE} bytes \({count} messages\) at the front.* has them"
            with pytest.raises(Refused, match=lost):
                await second.replication.promote(1, 2, is_unclean=False)
            assert first.role == "master", "nothing was changed"


async def test_who_lacks_only_what_has_expired_is_in_sync(tmp_path: Path) -> None:
    """Members of the first release expired for themselves, each at its own time."""
    master, slave = group(tmp_path, ahead_ms=OLD)
    async with running(slave):
        async with running(master):
            await fill(master, slave)
        lose_front(tmp_path, 0, count=1)
        started = again(tmp_path, master, slave._wire, ahead_ms=OLD)
        async with running(started):
            await until(lambda: started.role == "master" and in_sync(started) == (0, 1))
    lose_front(tmp_path, 1, count=3)
    wire = Wire()
    master, slave = (again(tmp_path, member, wire, ahead_ms=OLD) for member in (started, slave))
    async with running(slave, master):
        await until(lambda: in_sync(master) == (0, 1) and master.role == "master")
        assert await master.send(9_999)
        assert slave.replication.status().trouble is None
        assert (await slave.replication.promote(master.file.known.epoch, 1, is_unclean=False)).master_id == 1


async def test_a_member_without_its_front_is_promoted_only_uncleanly(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(master, slave):
        await fill(master, slave)
    lose_front(tmp_path, 1)
    alone = again(tmp_path, slave, Wire())
    async with running(alone):
        epoch = alone.file.known.epoch
        with pytest.raises(Refused, match=f"lacks {2 * SEGMENT_SIZE} bytes.*member 0 did not answer"):
            await alone.replication.promote(epoch, None, is_unclean=False)
        done = await alone.replication.promote(epoch, None, is_unclean=True)
        assert done.master_id == 1
        assert f"lacks {2 * SEGMENT_SIZE} bytes" in str(done.may_be_lost)
        # The other still has those messages: it keeps them, and can bring them back.
        back = again(tmp_path, master, alone._wire)
        async with running(back):
            await until(lambda: in_sync(alone) == (0, 1) and alone.role == "master")
            await alone.clean()
            await back.clean()
            assert back.store.log.min_offset == 0
            done = await alone.replication.promote(alone.file.known.epoch, 0, is_unclean=False)
            assert (done.master_id, done.may_be_lost) == (0, None)
            await until(lambda: back.role == "master")
            await asyncio.sleep(1.2)
            assert in_sync(back) == (0,), "the member that lacks the front is out"


async def test_a_master_that_lost_its_front_gives_way(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(slave):
        async with running(master):
            await fill(master, slave)
        lose_front(tmp_path, 0)
        started = again(tmp_path, master, slave._wire)
        async with running(started):
            await until(lambda: slave.role == "master")
            assert slave.store.log.min_offset == 0
            await until(lambda: "have not expired" in str(started.replication.status().trouble))
            assert in_sync(slave) == (1,)


async def test_a_group_of_one_that_lost_its_front_goes_on(tmp_path: Path) -> None:
    """Nobody else has it: refusing would bring nothing back."""
    (master,) = group(tmp_path, 1, min_in_sync=1)
    async with running(master):
        await fill(master)
    lose_front(tmp_path, 0)
    started = again(tmp_path, master, Wire(), min_in_sync=1)
    async with running(started):
        await until(lambda: started.role == "master")


async def test_a_log_of_which_nothing_is_the_masters_is_not_cut(tmp_path: Path) -> None:
    """It would have to end before it starts."""
    master, slave = group(tmp_path)
    async with running(master):
        async with running(slave):
            await fill(master, slave, segments=1)
        while master.store.log.max_offset < 4 * SEGMENT_SIZE:
            master.put(9_999)  # never confirmed
    lose_front(tmp_path, 0, count=2)
    wire = Wire()
    slave = again(tmp_path, slave, wire)
    async with running(slave):
        await slave.replication.promote(slave.file.known.epoch, 1, is_unclean=False)
        started = again(tmp_path, master, wire)
        before = started.log()
        async with running(started):
            await until(lambda: "Empty this store" in str(started.replication.status().trouble))
            assert started.log() == before and started.store.log.min_offset == 2 * SEGMENT_SIZE


async def test_an_emptied_member_starts_where_its_master_does(tmp_path: Path) -> None:
    first, second, third = group(tmp_path, 3)
    async with running(first, second):
        await fill(first, second)
        age(tmp_path, 0, 1)
        await first.clean()
        async with running(third):
            await until(lambda: in_sync(first) == (0, 1, 2))
            assert third.store.log.min_offset == 2 * SEGMENT_SIZE
            assert third.replication.status().trouble is None
            await until(lambda: _start_known(first, 2) == 2 * SEGMENT_SIZE)


def _units(member: Member) -> list[QueueUnit]:
    units: list[QueueUnit] = []
    while piece := member.store.queues.units("Orders", 0, len(units), 10_000):
        units += piece
    return units


def _start_known(master: Member, member_id: int) -> int | None:
    term = master.replication.streams.term
    return term.table.progress[member_id].log_start if term is not None else None


async def test_a_slave_of_the_first_release_stays_in_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says nothing about its log start, and must not be told about others'."""
    tail = Follower._tail
    monkeypatch.setattr(Follower, "_tail", lambda self: {**tail(self), "logStart": None})
    master, slave = group(tmp_path)
    async with running(master, slave):
        await fill(master, slave)
        age(tmp_path, 0, 1)
        await master.clean()
        assert await master.send(9_999)
        assert in_sync(master) == (0, 1)
        term = master.replication.streams.term
        assert term is not None
        assert term.links[1]._sent_start is None


async def test_a_master_of_the_first_release_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says where its log begins and does not know words about log starts."""
    handshake = MasterTerm._handshake

    def without_starts(self: MasterTerm, state: object) -> dict[str, object]:
        packet = handshake(self, state)  # type: ignore[arg-type]
        return {key: value for key, value in packet.items() if key not in ("startOffset", "neededFrom")}

    def unknown(self: MasterTerm, member_id: int, log_start: int) -> None:
        raise AssertionError("a word that the first release does not know")

    monkeypatch.setattr(MasterTerm, "_handshake", without_starts)
    monkeypatch.setattr(MasterTerm, "starts_at", unknown)
    monkeypatch.setattr(MasterTerm, "start_to_send", lambda self: None)
    master, slave = group(tmp_path)
    async with running(master, slave):
        await fill(master, slave)
        assert slave.file.known.start_offset is None
        age(tmp_path, 0, 1)
        await slave.clean()
        assert slave.store.log.min_offset == 0
        assert slave.replication.status().trouble is None
        assert await master.send(9_999)
        # As if its log began with the fourth segment: what is not old enough here may be the last copy.
        following = slave.replication.streams.follower
        assert following is not None and isinstance(following.link, MasterLink)
        following.link.may_delete_to = 3 * SEGMENT_SIZE
        await slave.clean()
        assert slave.store.log.min_offset == 2 * SEGMENT_SIZE

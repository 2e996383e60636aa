"""A group over real sockets and files: copy, confirm, promote, rejoin."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from engine.broker.failover import member_task as replication
from engine.broker.failover.group_state import StaleEpoch
from engine.broker.failover.member_task import GroupMember
from engine.broker.replication import master_link_io as master_link
from engine.broker.replication import slave_link_io as slave_link
from engine.errors import Refused
from tests.engine.broker.replication.members import Member, Wire, running, until
from tests.engine.store.samples import draft, put
from tests.ports import free_port, free_ports

pytestmark = pytest.mark.asyncio


def group(root: Path, size: int = 2, **options: object) -> list[Member]:
    wire = Wire()
    return [
        Member(
            root / str(number),
            wire,
            number,
            port,
            master="member-0" if number else None,
            **options,  # type: ignore[arg-type]
        )
        for number, port in enumerate(free_ports(size))
    ]


def in_sync(member: Member) -> tuple[int, ...]:
    term = member.replication.streams.term
    return term.table.current.ids if term is not None else ()


async def test_a_slave_copies_from_the_beginning_and_is_in_sync(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(master):
        await until(lambda: master.role == "master")
        for number in range(700):  # several segments
            master.put(number)
        async with running(slave):
            await until(lambda: in_sync(master) == (0, 1))
            assert await master.send(700)
            assert slave.log() == master.log()
            assert slave.store.log.min_offset == 0
            assert slave.role == "slave 1"


async def test_a_copy_that_began_empty_says_where_it_is_whole(tmp_path: Path) -> None:
    """Also after a restart; a group's first slave has nothing to catch up with."""
    first, second, third = group(tmp_path, 3)
    async with running(first, second):
        await until(lambda: in_sync(first) == (0, 1))
        assert second.replication.status().whole_at == 0
        assert await first.send(0)
        end = first.store.log.max_offset
        async with running(third):
            await until(lambda: in_sync(first) == (0, 1, 2))
            assert await first.send(1)
            status = third.replication.status()
            assert (status.whole_at, status.log_end > end) == (end, True)
        again = Member(tmp_path / "2", first._wire, 2, third.port, master="member-0")
        async with running(again):
            await until(lambda: in_sync(first) == (0, 1, 2) and again.log() == first.log())
            assert again.replication.status().whole_at == end


async def test_alone_with_two_needed_nothing_is_acknowledged_or_seen(tmp_path: Path) -> None:
    master, _ = group(tmp_path)
    async with running(master):
        await until(lambda: master.role == "master")
        assert not await master.send(0)
        master.put(1)
        assert master.store.log.readable_end() == 0


async def test_the_slave_is_promoted_and_has_everything(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(slave):
        async with running(master):
            await until(lambda: in_sync(master) == (0, 1))
            acknowledged = [await master.send(number) for number in range(50)]
            assert all(acknowledged)
            before = master.log()
        answer = await slave.replication.promote(1, None, is_unclean=False)
        assert (answer.epoch, answer.master_id, answer.may_be_lost) == (2, 1, None)
        assert slave.replication.status().role == "master" and slave.log() == before
        assert not await slave.send(50), "one of two is not enough"


async def test_who_seeks_a_master_while_it_becomes_one_stays_master(tmp_path: Path) -> None:
    """It wakes between its promise and its becoming master; the term that it then learns of is its own."""
    master, slave = group(tmp_path)
    async with running(slave):
        async with running(master):
            await until(lambda: in_sync(master) == (0, 1))
        heir = slave.replication
        promoting = asyncio.ensure_future(heir.promote(1, None, is_unclean=False))
        while heir.status().role != "seeking":
            await asyncio.sleep(0)
        seeking = asyncio.ensure_future(heir._seek(0.0))
        assert (await promoting).master_id == 1
        await asyncio.sleep(0.2)
        assert (heir.status().role, heir.status().epoch) == ("master", 2)
        seeking.cancel()


async def test_an_old_master_cuts_its_extra_tail_and_follows(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(slave):
        async with running(master):
            await until(lambda: in_sync(master) == (0, 1))
            assert await master.send(0)
        await slave.replication.promote(1, None, is_unclean=False)
        # what a master that nobody could reach any more wrote to its log before it died
        old = Member(tmp_path / "0", slave._wire, 0, master.port)
        old.store.replica.adopt_queue_offsets()
        put(old.store, draft(99))
        async with running(old):
            await until(lambda: in_sync(slave) == (0, 1))
            assert old.role == "slave 1" and old.log() == slave.log()
            assert await slave.send(1) and old.log() == slave.log()


async def test_a_promotion_that_cannot_succeed_disturbs_nobody(tmp_path: Path) -> None:
    members = group(tmp_path, 3)
    async with running(*members):
        await until(lambda: in_sync(members[0]) == (0, 1, 2))
        assert await members[0].send(0)
        assert [sorted(member.replication.status().members) for member in members] == [["0", "1", "2"]] * 3
        wire = members[0]._wire
        wire.cut |= {(2, 0), (2, 1)}
        with pytest.raises(Refused, match="2 are needed"):
            await members[2].replication.promote(1, None, is_unclean=False)
        assert await members[0].send(1)
        assert members[2].replication.status().epoch == 1


async def test_a_master_hands_over_to_the_wanted_member(tmp_path: Path) -> None:
    members = group(tmp_path, 3)
    async with running(*members):
        await until(lambda: in_sync(members[0]) == (0, 1, 2))
        answer = await members[1].replication.promote(1, 2, is_unclean=False)
        assert answer.master_id == 2
        await until(lambda: in_sync(members[2]) == (0, 1, 2))
        assert members[0].role == "slave 2" and members[1].role == "slave 1"
        assert await members[2].send(0)


async def test_a_stale_request_to_follow_does_not_stop_a_slave(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(master, slave):
        await until(lambda: in_sync(master) == (0, 1))
        following = slave.replication.streams.follower
        with pytest.raises(StaleEpoch):
            await slave.replication.follow(1, 77, 0, "member-0")
        with pytest.raises(StaleEpoch):
            await slave.replication.follow(0, 0, 0, "member-0")
        assert slave.replication.streams.follower is following is not None
        assert await master.send(0)


async def test_who_promised_and_heard_no_outcome_follows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not call for another election: there is a master."""
    monkeypatch.setattr(replication, "LOST_PROMISE_S", 0.1)
    members = group(tmp_path, 3)
    async with running(*members):
        await until(lambda: in_sync(members[0]) == (0, 1, 2))
        first, second, third = (member.replication for member in members)
        await first.promise(2, 77)
        await second.promise(2, 77)
        await third.promise(2, 77)
        await second.become_master(2, 77)
        await first.follow(2, 77, 1, "member-1")
        await until(lambda: in_sync(members[1]) == (0, 1, 2))
        assert {member.replication.status().epoch for member in members} == {2}


async def test_a_silent_member_is_not_waited_for_twice(tmp_path: Path) -> None:
    members = group(tmp_path, 3)
    async with running(*members):
        await until(lambda: in_sync(members[0]) == (0, 1, 2))
        asked: list[int] = []
        wire = members[0]._wire
        reach = wire.reach

        def counted(me: int, address: str) -> GroupMember:
            if address == "member-0":
                asked.append(me)
            return reach(me, address)

        wire.reach = counted  # type: ignore[method-assign]
        wire.cut |= {(1, 0), (2, 0)}
        answer = await members[1].replication.promote(1, None, is_unclean=False)
        assert answer.silent_members == (0,)
        assert asked.count(1) == 1


async def test_a_master_that_stood_still_acknowledges_nothing_of_before(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(master, slave):
        await until(lambda: in_sync(master) == (0, 1))
        assert await master.send(0)
        term = master.replication.streams.term
        assert term is not None
        answers: list[bool] = []
        term.wait(-1, master.store.log.max_offset, 5_000, answers.append)
        term._awake_at -= 10
        term._advance()
        assert answers == [False]
        assert await master.send(1)


async def test_a_request_to_hand_over_counts_once(tmp_path: Path) -> None:
    members = group(tmp_path)
    async with running(*members):
        await until(lambda: in_sync(members[0]) == (0, 1) and members[0].role == "master")
        master = members[0].replication
        with pytest.raises(Refused, match="does not follow"):
            await master.hand_over(1, 7, 500, nonce=1)
        assert members[0].role == "master", "nothing changed"
        await master.hand_over(1, 1, 500, nonce=2)
        assert members[0].role == "seeking"
        await until(lambda: members[0].role == "master")
        with pytest.raises(Refused, match="obeyed before"):
            await master.hand_over(1, 1, 500, nonce=2)
        assert members[0].role == "master"


async def test_a_restarted_master_asks_before_it_writes(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(slave):
        async with running(master):
            await until(lambda: in_sync(master) == (0, 1))
            assert await master.send(0)
        again = Member(tmp_path / "0", slave._wire, 0, master.port)
        async with running(again):
            await until(lambda: again.role == "master")
            assert again.replication.status().epoch == 2
            await until(lambda: in_sync(again) == (0, 1))
            assert await again.send(1) and again.log() == slave.log()


async def test_a_master_with_two_needed_does_not_resume_alone(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(master, slave):
        await until(lambda: in_sync(master) == (0, 1))
    again = Member(tmp_path / "0", Wire(), 0, master.port)
    async with running(again):
        await until(lambda: "2 are needed" in again.replication.trouble)
        assert again.replication.streams.term is None


async def test_both_restart_together(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(master, slave):
        await until(lambda: in_sync(master) == (0, 1))
        assert await master.send(0)
    wire = Wire()
    again = [
        Member(tmp_path / str(number), wire, number, member.port)
        for number, member in enumerate((master, slave))
    ]
    async with running(*again):
        await until(lambda: in_sync(again[0]) == (0, 1))
        assert await again[0].send(1) and again[0].log() == again[1].log()


async def test_a_master_speaks_however_often_its_link_is_woken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two slaves that speak in turn wake each other's links: no reason to keep silent to both."""
    monkeypatch.setattr(slave_link, "HEARTBEAT_S", 0.1)
    monkeypatch.setattr(master_link, "HEARTBEAT_S", 0.05)
    monkeypatch.setattr(master_link, "SILENCE_S", 0.6)
    members = group(tmp_path, 3)
    async with running(*members):
        await until(lambda: in_sync(members[0]) == (0, 1, 2))
        term = members[0].replication.streams.term
        assert term is not None
        links = dict(term.links)
        await asyncio.sleep(1.5)
        assert term.links == links


async def test_who_does_not_know_the_secret_is_no_slave(tmp_path: Path) -> None:
    master, _ = group(tmp_path)
    stranger = Member(
        tmp_path / "x", master._wire, 1, free_port(), master="member-0", secret=b"another secret, wrong"
    )
    async with running(master, stranger):
        await until(lambda: stranger.replication.status().trouble)
        assert "cluster secret" in str(stranger.replication.status().trouble)
        assert in_sync(master) == (0,) and stranger.log() == b""


async def test_a_slave_that_was_emptied_copies_anew_and_learns_the_set(tmp_path: Path) -> None:
    master, slave = group(tmp_path)
    async with running(master):
        async with running(slave):
            await until(lambda: in_sync(master) == (0, 1))
            assert await master.send(0)
        shutil.rmtree(tmp_path / "1")
        again = Member(tmp_path / "1", master._wire, 1, slave.port, master="member-0")
        async with running(again):
            assert await master.send(1)
            assert again.log() == master.log()
            told = again.replication.status()
            assert told.in_sync.ids == (0, 1) and sorted(told.members) == ["0", "1"]
        # It may become master although the set did not change since it came back.
    again = Member(tmp_path / "1", Wire(), 1, slave.port, master="member-0")
    async with running(again):
        assert (await again.replication.promote(1, None, is_unclean=False)).master_id == 1

"""A slave of a master that is none of ours becomes master, and another slave of that master joins it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.broker.replication.epochs import Tail, has_tail, tail_from_json, tail_of, tail_to_json
from engine.errors import Refused
from tests.engine.broker.failover.test_replication import in_sync
from tests.engine.broker.replication.members import Member, Wire, running, until
from tests.engine.store.samples import NOW_MS, SEGMENT_SIZE
from tests.ports import free_ports

pytestmark = pytest.mark.asyncio


def plain_group(root: Path, size: int = 2, **options: object) -> list[Member]:
    """Member 0 is a stranger that speaks RocketMQ's stream; the others know nothing but its name."""
    wire, ports = Wire(), free_ports(size)
    wire.strangers["member-0"] = f"127.0.0.1:{ports[0]}"
    return [
        Member(
            root / str(number),
            wire,
            number,
            port,
            master="member-0" if number else None,
            min_in_sync=1,
            **options,  # type: ignore[arg-type]
        )
        for number, port in enumerate(ports)
    ]


async def copied(stranger: Member, *slaves: Member) -> None:
    end = stranger.store.log.max_offset
    await until(lambda: all(slave.store.log.max_offset == end for slave in slaves))


async def gone(slave: Member) -> None:
    following = slave.replication.streams.follower
    assert following is not None
    await until(lambda: following.link is None)


async def promote(member: Member, *, unclean: bool) -> str:
    answer = await member.replication.promote(0, None, is_unclean=unclean)
    return answer.may_be_lost or ""


async def test_a_takeover_is_said_to_be_unclean_and_needs_the_master_gone(tmp_path: Path) -> None:
    stranger, slave = plain_group(tmp_path)
    async with running(slave):
        async with running(stranger):
            await until(lambda: stranger.role == "master")
            for number in range(100):
                stranger.put(number)
            await copied(stranger, slave)
            with pytest.raises(Refused, match="still there"):
                await promote(slave, unclean=True)
            log = stranger.log()
        await gone(slave)
        with pytest.raises(Refused, match=f"behind offset {len(log)} is not here"):
            await promote(slave, unclean=False)
        assert slave.role == "slave 1"
        assert "promises nothing" in await promote(slave, unclean=True)
        await until(lambda: slave.role == "master")
        assert slave.log() == log
        assert await slave.send(100)
        assert (slave.replication.status().epoch, slave.replication.status().members) == (
            2,
            {"1": "member-1"},
        )


async def test_what_was_never_copied_is_named(tmp_path: Path) -> None:
    """The plain stream begins with the master's last file."""
    stranger, slave = plain_group(tmp_path)
    slave._master = "nobody yet"
    async with running(slave):
        async with running(stranger):
            await until(lambda: stranger.role == "master" and slave.replication.streams.follower is not None)
            for number in range(700):
                stranger.put(number)
            slave._master = "member-0"
            await copied(stranger, slave)
        await gone(slave)
        start = slave.store.log.min_offset
        assert start > 0
        text = await promote(slave, unclean=True)
        assert f"before offset {start} were never copied" in text
        await until(lambda: slave.role == "master")
        assert await slave.send(700)


async def test_nothing_copied_is_nothing_to_promote(tmp_path: Path) -> None:
    _, slave = plain_group(tmp_path)
    async with running(slave):
        with pytest.raises(Refused, match="copied nothing"):
            await promote(slave, unclean=True)


async def test_another_slave_of_the_same_master_joins_without_copying_again(tmp_path: Path) -> None:
    stranger, first, second = plain_group(tmp_path, 3)
    async with running(first, second):
        async with running(stranger):
            await until(lambda: stranger.role == "master")
            for number in range(200):
                stranger.put(number)
            await copied(stranger, first, second)
        await gone(first)
        end = second.store.log.max_offset
        await promote(first, unclean=True)
        await until(lambda: first.role == "master")
        second._master = "member-1"
        await until(lambda: in_sync(first) == (1, 2))
        assert await first.send(200)
        assert second.log() == first.log()
        assert second.store.log.max_offset > end


async def test_a_slave_of_another_master_is_refused(tmp_path: Path) -> None:
    stranger, first = plain_group(tmp_path / "one")
    other, _, second = plain_group(tmp_path / "two", 3)
    async with running(first, second):
        async with running(stranger, other):
            await until(lambda: stranger.role == other.role == "master")
            for number in range(50):
                stranger.put(number)
                other.put(number + 1)
            await copied(stranger, first)
            await copied(other, second)
        await gone(first)
        await promote(first, unclean=True)
        await until(lambda: first.role == "master")
        log = second.log()
        second._wire.members["member-1"] = first
        second._master = "member-1"
        following = second.replication.streams.follower
        assert following is not None
        await until(lambda: "not of its master's group" in following.trouble)
        assert second.log() == log


async def test_tails(tmp_path: Path) -> None:
    stranger, _ = plain_group(tmp_path)
    async with running(stranger):
        await until(lambda: stranger.role == "master")
        assert tail_of(stranger.store.log, stranger.store.replica) is None
        for number in range(700):
            stranger.put(number)
        tail = tail_of(stranger.store.log, stranger.store.replica)
        assert tail is not None
        assert has_tail(stranger.store.log, stranger.store.replica, tail)
        assert tail_from_json(tail_to_json(tail)) == tail
        assert not has_tail(
            stranger.store.log, stranger.store.replica, Tail(tail.start + 1, tail.end, tail.digest)
        )
        assert not has_tail(
            stranger.store.log, stranger.store.replica, Tail(tail.start, tail.end + 1, tail.digest)
        )


@pytest.mark.parametrize(
    "content", [None, [], [0, 1], [0, 1 << 30, "x"], [-1, 5, "x"], ["0", 1, "x"], {"a": 1}]
)
async def test_whoever_shows_nonsense_shows_nothing(content: object) -> None:
    assert tail_from_json(content) is None


async def test_behind_a_plain_master_a_slave_expires_for_itself(tmp_path: Path) -> None:
    """As RocketMQ's slaves do: such a master says nothing about what it deletes."""
    stranger, slave = plain_group(tmp_path, now_ms=lambda: NOW_MS)
    async with running(slave):
        async with running(stranger):
            await until(lambda: stranger.role == "master")
            stranger.put(0)
            await copied(stranger, slave)
            for number in range(1, 1_000):
                stranger.put(number)
            await copied(stranger, slave)
            for path in sorted((tmp_path / "1" / "commitlog").iterdir())[:2]:
                os.utime(path, (0, 0))
            assert not slave.replication.streams.cleaning_refusal()
            await slave.clean()
            assert slave.store.log.min_offset == 2 * SEGMENT_SIZE
        await gone(slave)
        await slave.clean(disk_usage_ratio=0.99)
        assert slave.store.log.min_offset == 2 * SEGMENT_SIZE, "nobody is there to follow"

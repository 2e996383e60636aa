"""A master without a group founds one only when nobody of its name has one."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.broker.failover import master_search_io as founding
from engine.broker.failover import member_task as replication
from engine.broker.failover.master_search_io import SETTLE_S, Survey, Verdict, judge, survey
from engine.errors import NotPermitted, PeerError, PeerUnreachable
from engine.protocol.bodies.brokers import GroupStatus
from engine.protocol.codes import ResponseCode
from tests.engine.broker.failover.test_replication import free_ports, group, in_sync
from tests.engine.broker.replication.members import Member, Requests, Wire, running, until

NEW = GroupStatus(member_id=1, role="slave")
FOLLOWER = GroupStatus(member_id=1, role="slave", epoch=3, master_id=0)
MASTER = GroupStatus(member_id=2, role="master", epoch=3, master_id=2)
OLD_MASTER = GroupStatus(member_id=3, role="master", epoch=2, master_id=3)


def test_who_hears_of_nobody_founds() -> None:
    assert judge(0, Survey()) == Verdict()


def test_slaves_that_have_no_group_yet_are_no_reason_to_wait() -> None:
    assert judge(0, Survey({"b": NEW})) == Verdict()


def test_the_master_of_the_highest_epoch_is_followed() -> None:
    heard = Survey({"d": OLD_MASTER, "c": MASTER, "b": FOLLOWER})
    assert judge(0, heard) == Verdict(MASTER, is_alone=False)


def test_a_master_is_followed_whoever_else_is_silent() -> None:
    assert judge(0, Survey({"c": MASTER}, {"b": "timed out"})).master == MASTER


def test_a_group_without_a_master_waits_for_a_person() -> None:
    """Also when it takes this very member for its master: the log is theirs."""
    verdict = judge(0, Survey({"b": FOLLOWER}))
    assert verdict.master is None and not verdict.is_alone
    assert "epoch 3" in verdict.doubt and "promote member 1" in verdict.doubt


def test_whoever_is_named_and_silent_may_have_a_group() -> None:
    verdict = judge(0, Survey({"c": NEW}, {"b:1": "did not answer"}))
    assert verdict.doubt == "b:1 may have a group of this name: did not answer"


def test_name_servers_that_are_down_are_a_reason_to_wait() -> None:
    assert "refused" in judge(0, Survey(unnamed="connection refused")).doubt


def test_name_servers_that_have_just_come_back_are_not_believed_yet() -> None:
    assert "just come back" in judge(0, Survey(), SETTLE_S - 0.1).doubt
    assert judge(0, Survey(), SETTLE_S) == Verdict()
    assert judge(0, Survey({"c": MASTER}), 0.0).master == MASTER


@pytest.mark.parametrize("status", [NEW, FOLLOWER])
def test_another_broker_with_the_same_id_is_a_reason_to_wait(status: GroupStatus) -> None:
    assert judge(1, Survey({"b:1": status})).doubt == "b:1 is brokerId 1 of this group already"


class Answering(Requests):
    """Brokers that answer as they are told."""

    def __init__(self, answers: dict[str, GroupStatus | Exception]) -> None:
        wire = Wire()
        wire.named = [*answers, "own"]
        super().__init__(wire, 0)
        self._answers = answers

    async def status(self, address: str) -> GroupStatus:
        answer = self._answers[address]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.asyncio
async def test_only_brokers_that_do_not_know_the_question_have_no_group() -> None:
    unknown = PeerError("not supported", code=ResponseCode.REQUEST_CODE_NOT_SUPPORTED)
    busy = PeerError("busy", code=ResponseCode.SYSTEM_BUSY)
    answers = {"a": MASTER, "b": unknown, "c": busy, "d": PeerUnreachable("gone"), "e": NotPermitted("no")}
    heard = await survey(Answering(answers), "own")
    assert heard.statuses == {"a": MASTER}
    assert heard.silent == {"c": "busy", "d": "gone", "e": "no"}


@pytest.mark.asyncio
async def test_a_fault_of_our_own_is_no_silence() -> None:
    with pytest.raises(ZeroDivisionError):
        await survey(Answering({"a": ZeroDivisionError()}), "own")


NAMED = ["member-0", "member-1", "member-2"]


@contextlib.asynccontextmanager
async def after_a_lost_disk(root: Path, **options: object) -> AsyncIterator[tuple[Member, Member, Member]]:
    """What is left of a group of three that has acknowledged a message: the master, with the same broker.conf
    on a new disk and not started yet, and its two slaves."""
    first, *others = group(root, 3)
    async with running(*others):
        async with running(first):
            await until(lambda: in_sync(first) == (0, 1, 2))
            assert await first.send(0)
        shutil.rmtree(root / "0")
        again = Member(root / "0", first._wire, 0, first.port, **options)  # type: ignore[arg-type]
        yield again, others[0], others[1]


@pytest.mark.asyncio
async def test_an_emptied_master_follows_the_one_that_replaced_it(tmp_path: Path) -> None:
    async with after_a_lost_disk(tmp_path) as (again, second, _):
        again._wire.named = NAMED
        await second.replication.promote(1, 1, is_unclean=False)
        async with running(again):
            await until(lambda: in_sync(second) == (0, 1, 2))
            assert again.role == "slave 1" and await second.send(1)
            assert again.log() == second.log()


@pytest.mark.asyncio
async def test_an_emptied_master_that_nobody_replaced_waits_for_a_promotion(tmp_path: Path) -> None:
    async with after_a_lost_disk(tmp_path) as (again, second, third):
        again._wire.named = NAMED
        async with running(again):
            status = again.replication.status()
            assert (status.role, status.epoch) == ("seeking", 0)
            assert "promote" in (status.trouble or "")
            await second.replication.promote(1, None, is_unclean=False)
            master = second if second.role == "master" else third
            await until(lambda: in_sync(master) == (0, 1, 2))
            assert await master.send(1) and again.log() == master.log()


@pytest.mark.asyncio
async def test_a_store_with_messages_of_its_own_does_not_join(tmp_path: Path) -> None:
    """Two groups of one name were made by mistake: neither is cut, and only one takes writes."""
    first, second = group(tmp_path, min_in_sync=1)
    stranger = Member(tmp_path / "5", Wire(), 5, free_ports(1)[0], min_in_sync=1)
    async with running(stranger):
        await until(lambda: stranger.role == "master")
        stranger.put(0)
    shutil.rmtree(tmp_path / "5" / "config")
    first._wire.named = ["member-0", "member-1"]
    async with running(first, second):
        await until(lambda: in_sync(first) == (0, 1))
        again = Member(tmp_path / "5", first._wire, 5, stranger.port, min_in_sync=1)
        async with running(again):
            await until(lambda: "not of its master's group" in (again.replication.status().trouble or ""))
            assert again.role == "slave 5" and again.store.log.max_offset > 0


@pytest.mark.asyncio
async def test_a_master_founds_once_its_name_servers_are_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(founding, "SETTLE_S", 1.0)
    (alone,) = group(tmp_path, 1, min_in_sync=1)
    alone._wire.named = None
    async with running(alone):
        assert "no name server" in alone.replication.trouble and alone.role == "none"
        alone._wire.named = []
        await until(lambda: alone.role == "master")
        assert alone.replication.trouble == "" and await alone.send(0)


@pytest.fixture
def watchful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replication, "WATCH_S", 0.1)
    monkeypatch.setattr(replication, "SAVE_S", 0.1)


@pytest.mark.asyncio
@pytest.mark.usefixtures("watchful")
async def test_a_founder_gives_way_to_an_older_group(tmp_path: Path) -> None:
    """A name server had not heard of the older one when the emptied master asked."""
    async with after_a_lost_disk(tmp_path, min_in_sync=1) as (again, second, _):
        await second.replication.promote(1, 1, is_unclean=False)
        async with running(again):
            assert again.role == "master" and again.replication.status().epoch == 1
            again._wire.named = NAMED
            await until(lambda: in_sync(second) == (0, 1, 2))
            assert await second.send(1) and again.log() == second.log()


@pytest.mark.asyncio
@pytest.mark.usefixtures("watchful")
async def test_what_a_founder_wrote_before_it_gave_way_stays(tmp_path: Path) -> None:
    async with after_a_lost_disk(tmp_path, min_in_sync=1) as (again, second, _):
        await second.replication.promote(1, 1, is_unclean=False)
        async with running(again):
            assert await again.send(7)
            again._wire.named = NAMED
            await until(lambda: "not of its master's group" in (again.replication.status().trouble or ""))
            assert again.role == "slave 1" and again.store.log.max_offset > 0


@pytest.mark.asyncio
@pytest.mark.usefixtures("watchful")
async def test_a_founder_with_a_follower_of_its_own_stays(tmp_path: Path) -> None:
    """Two groups of one name, both whole: nothing but a person can tell which is right."""
    first, second = group(tmp_path / "a")
    elder = Member(tmp_path / "b", first._wire, 5, free_ports(1)[0], min_in_sync=1)
    async with running(elder, first, second):
        await until(lambda: in_sync(first) == (0, 1))
        first._wire.named = ["member-0", "member-1", "member-5"]
        await asyncio.sleep(0.5)
        assert first.role == "master" and await first.send(0)


@pytest.mark.asyncio
async def test_whoever_promised_while_it_asked_does_not_found(tmp_path: Path) -> None:
    """The answers are older than the promise."""
    (alone,) = group(tmp_path, 1, min_in_sync=1)
    asked, may_answer = asyncio.Event(), asyncio.Event()

    class Slow(Requests):
        async def others_named(self, own_address: str) -> list[str]:
            asked.set()
            await may_answer.wait()
            return []

    alone.replication._search.members = Slow(alone._wire, 0)
    starting = asyncio.ensure_future(alone.start())
    await asked.wait()
    await alone.replication.promise(2, 77)
    may_answer.set()
    await starting
    status = alone.replication.status()
    assert (status.role, status.epoch, status.master_id) == ("seeking", 2, None)
    await alone.stop()

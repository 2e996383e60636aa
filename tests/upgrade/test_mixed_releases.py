"""Members of release 0.1.0 beside new ones in one group: upgraded one by one under load, and back."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.client import Message, SendStatus
from engine.client.blocking import Admin, Producer
from engine.errors import EngineError
from tests.crash.cluster import REPOSITORY
from tests.crash.group import Group, Member, until
from tests.upgrade import old_tree

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]
TOPIC = "orders"


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return old_tree.check_out(tmp_path_factory.mktemp("release"))


@contextmanager
def started(folder: Path, trees: list[Path]) -> Iterator[Group]:
    group = Group(folder, len(trees))
    for member, tree in zip(group.members, trees, strict=True):
        member.tree = tree
    try:
        group.start()
        yield group
    finally:
        group.close()
        for daemon in group.daemons:
            daemon.kill()


class Load:
    """Sends all the time; remembers what was acknowledged with SEND_OK."""

    def __init__(self, namesrv: str) -> None:
        self.acknowledged: set[bytes] = set()
        self._namesrv = namesrv
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(60)

    def go_on(self) -> None:
        """Until the group has taken more: each mixture of releases must acknowledge."""
        before = len(self.acknowledged)
        until(lambda: len(self.acknowledged) >= before + 20, "sends are acknowledged")

    def _run(self) -> None:
        number = 0
        with Producer("load", namesrv=self._namesrv) as producer:
            while not self._is_over.wait(0.005):
                number += 1
                body = b"%d" % number
                try:
                    if producer.send(Message(TOPIC, body)).status is SendStatus.SEND_OK:
                        self.acknowledged.add(body)
                except EngineError:
                    continue


def stored(namesrv: str) -> set[bytes]:
    with Admin(namesrv=namesrv) as admin:
        return {
            admin.messages.at(queue, offset).body
            for queue in admin.messages.queues(TOPIC)
            for offset in range(admin.offsets.min_offset(queue), admin.offsets.max_offset(queue))
        }


def replace(group: Group, member: Member, tree: Path) -> None:
    """One step of a rolling change: hand over, stop, start with the other tree, catch up."""
    master, _ = group.master()
    if master is member:
        other = next(each for each in group.members if each is not member)
        group.promote(member, wanted=other.number)
        group.await_in_sync()
    member.stop()
    member.tree = tree
    member.start()
    group.await_in_sync()


@pytest.mark.parametrize("size", [2, 3])
def test_a_group_is_upgraded_member_by_member_and_back(tmp_path: Path, old: Path, size: int) -> None:
    with started(tmp_path, [old] * size) as group:
        namesrv = f"127.0.0.1:{group.name_server.port}"
        with Load(namesrv) as load:
            for tree in (REPOSITORY, old):
                for member in reversed(group.members):
                    replace(group, member, tree)
        group.await_in_sync()
        assert load.acknowledged - stored(namesrv) == set()
        assert group.check_equality() == []


@pytest.mark.parametrize("is_old_master", [True, False])
def test_one_of_each_release_replicates_and_takes_over(
    tmp_path: Path, old: Path, is_old_master: bool
) -> None:
    trees = [old, REPOSITORY] if is_old_master else [REPOSITORY, old]
    with started(tmp_path, trees) as group:
        namesrv = f"127.0.0.1:{group.name_server.port}"
        with Load(namesrv) as load:
            group.promote(group.members[0], wanted=1)
            group.await_in_sync()
            load.go_on()
            group.members[1].kill()
            group.promote(group.members[0])
            group.members[1].start()
            group.await_in_sync()
            load.go_on()
        assert load.acknowledged - stored(namesrv) == set()


def log_starts(group: Group) -> list[int]:
    return [status.log_start for _, status in sorted(group.statuses().items())]


def expire(group: Group, member: Member, segments: int) -> None:
    """Make the first segments of this member old, and have them deleted there."""
    for path in sorted(member.commit_log.iterdir())[:segments]:
        os.utime(path, (0, 0))
    group.admin.brokers.delete_expired_commit_logs(member.place)


def test_logs_that_start_at_different_places_stay_in_sync(tmp_path: Path, old: Path) -> None:
    """Members of release 0.1.0 expired for themselves. New ones follow their master, whoever that is."""
    with started(tmp_path, [old] * 3) as group:
        namesrv = f"127.0.0.1:{group.name_server.port}"
        with Producer("filling", namesrv=namesrv) as producer:
            for _ in range(100):
                producer.send(Message("filling", os.urandom(60_000)))
        segment = max(path.stat().st_size for path in group.members[0].commit_log.iterdir())
        expire(group, group.members[1], 2)
        until(lambda: log_starts(group) == [0, 2 * segment, 0], "a slave of 0.1.0 deletes for itself")
        with Load(namesrv) as load:
            for member in reversed(group.members):
                replace(group, member, REPOSITORY)
                load.go_on()
            assert log_starts(group) == [0, 2 * segment, 0], "nobody has decided anything"
            master, status = group.master()
            expire(group, master, 2)
            wanted = status.log_start + 2 * segment
            until(lambda: set(log_starts(group)) == {wanted}, "all start where the master says")
            load.go_on()
            group.await_in_sync()
            master.kill()
            others = [member for member in group.members if member is not master]
            assert group.promote(others[0]).may_be_lost is None
            master.start()
            group.await_in_sync()
            load.go_on()
        assert load.acknowledged - stored(namesrv) == set()
        assert group.check_equality() == []

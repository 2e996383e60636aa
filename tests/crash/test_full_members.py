"""F39: one member's disk fills up, in each role, and somebody is promoted: nothing acknowledged is lost, and
nothing that could be read and has not expired vanishes at the front.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.admin.main import main
from engine.client import Message
from engine.client.blocking import Producer
from tests.crash.checker.replica_equality import log_start
from tests.crash.cluster import ASYNC, SYNC, Daemon
from tests.crash.conftest import MakeGroup
from tests.crash.full_members import (
    BY_HAND,
    MASTER,
    SETTINGS,
    SLAVE,
    TO_FULL,
    FullMembers,
    Round,
    every_round,
    make_full_members,
)
from tests.crash.group import Group, until
from tests.crash.small_disk import FORCE, LEVELS, REFUSE, MountedDisk, SmallDisk

ROUNDS_S = 1.5
"""Some rounds of cleaning, every 200 ms."""


def test_a_full_disk_and_a_promotion_lose_nothing(make_group: MakeGroup, tmp_path: Path, seed: int) -> None:
    rounds = [Round(SLAVE, TO_FULL, FORCE), Round(MASTER, BY_HAND, REFUSE)]
    make_full_members(make_group, tmp_path, 2, seed, flush=SYNC).run(rounds)


def test_a_promoted_slave_that_says_nothing_keeps_what_its_group_promised(
    make_group: MakeGroup, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """RocketMQ's defaults in its broker.conf, and a disk at which RocketMQ deletes."""
    disk = SmallDisk(tmp_path / "disk", tmp_path / "1" / "store")
    group: Group = make_group(2, settings=SETTINGS, environments={1: disk.environment})
    master, slave = group.members
    slave.drop_settings("minInSyncReplicas", "allAckInSyncStateSet")
    group.start()
    name_server = f"127.0.0.1:{group.name_server.port}"
    with Producer("filling", namesrv=name_server) as producer:
        for _ in range(100):
            producer.send(Message("filling", os.urandom(12_000)))
    group.promote(master, wanted=1)
    group.await_in_sync()
    disk.fill(FORCE)
    for _ in range(2):
        until(lambda: group.master()[1].in_sync.min_in_sync == 1, "it promises less itself")
        assert group.master()[1].promised_in_sync == 2
        time.sleep(ROUNDS_S)
        assert log_start(slave.commit_log) == 0
        assert "has promised minInSyncReplicas=2, the settings of this master say 1" in slave.tail(200)
        # What it remembers outlives a crash.
        slave.kill()
        slave.start()
        group.await_in_sync()
    assert main(["groupStatus", "-n", name_server, "-b", slave.place]) == 0
    assert "minInSyncReplicas 1, where 2 were promised" in capsys.readouterr().out
    slave.kill()
    slave.change_settings(cleanFileForciblyEnable="true")
    slave.start()
    until(lambda: log_start(slave.commit_log) > 0, "what broker.conf says is obeyed")


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
@pytest.mark.parametrize("size", [2, 3])
def test_every_member_in_every_role_fills_up(
    make_group: MakeGroup, tmp_path: Path, size: int, flush: str, seed: int
) -> None:
    """18 rounds each, 72 in all."""
    campaign = make_full_members(make_group, tmp_path, size, seed, flush=flush)
    campaign.run(campaign.random.sample(every_round(), len(every_round())))
    print(f"{len(every_round())} rounds, {campaign.acknowledged()} acknowledged", end=", ")
    print(f"{len(campaign.refusals)} promotions of a full member refused: {set(campaign.refusals)}")


@pytest.fixture
def mounted(tmp_path: Path, daemons: list[Daemon]) -> Iterator[dict[int, MountedDisk]]:
    disks = {number: MountedDisk(tmp_path / f"disk-{number}") for number in range(2)}
    yield disks
    for daemon in daemons:
        daemon.kill()
    for disk in disks.values():
        disk.close()


@pytest.mark.crash_long
@pytest.mark.needs_mounts
def test_small_file_systems_fill_up(
    make_group: MakeGroup, mounted: dict[int, MountedDisk], seed: int
) -> None:
    """The same with real ones: each role at each level."""
    stores = {number: disk.mount_point / "store" for number, disk in mounted.items()}
    campaign = FullMembers(make_group(2, flush=SYNC, settings=SETTINGS, stores=stores), mounted, seed)
    hows = itertools.cycle((TO_FULL, BY_HAND))
    campaign.run([Round(full, next(hows), level) for full in (SLAVE, MASTER) for level in LEVELS])

"""F39: one member's disk fills up, in each role, and somebody is promoted: nothing acknowledged is lost, and
nothing that could be read and has not expired vanishes at the front.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

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
from tests.crash.small_disk import FORCE, LEVELS, REFUSE, MountedDisk


def test_a_full_disk_and_a_promotion_lose_nothing(make_group: MakeGroup, tmp_path: Path, seed: int) -> None:
    rounds = [Round(SLAVE, TO_FULL, FORCE), Round(MASTER, BY_HAND, REFUSE)]
    make_full_members(make_group, tmp_path, 2, seed, flush=SYNC).run(rounds)


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

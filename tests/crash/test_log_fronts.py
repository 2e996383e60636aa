"""The front of the log in a group: expiry follows the master, and a member that lacks unexpired segments is
neither in sync nor electable (F39).
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from engine.errors import EngineError
from tests.crash import requests as rq
from tests.crash.checker.replica_equality import log_start
from tests.crash.cluster import ASYNC, SYNC
from tests.crash.conftest import MakeGroup
from tests.crash.drain import crashing, first_offset
from tests.crash.full_members import SETTINGS, make_disks
from tests.crash.group import until
from tests.crash.load import GROUP, TOPIC
from tests.crash.log_fronts import (
    AT_ANY_HOUR,
    QUIET_S,
    SEGMENT_BYTES,
    age,
    allow_expiry,
    decided_start,
    is_left_out,
    lose_front,
    started,
    starts,
)
from tests.crash.small_disk import EXPIRE_EARLY
from tests.crash.wire import Link


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
@pytest.mark.parametrize("size", [2, 3])
def test_expiry_follows_the_master(make_group: MakeGroup, size: int, flush: str, seed: int) -> None:
    campaign = started(make_group, size, seed, flush=flush, settings={**SETTINGS, **AT_ANY_HOUR})
    group, old = campaign.group, campaign.master
    slaves = [member for member in group.members if member is not old]
    # Slaves on whose disks all looks old delete nothing of their own accord, nor without a master.
    for slave in slaves:
        age(slave, 5 * SEGMENT_BYTES)
    time.sleep(QUIET_S)
    assert starts(group) == {0}
    campaign.kill(old)
    time.sleep(QUIET_S)
    assert starts(group) == {0}
    for slave in slaves:
        age(slave, 5 * SEGMENT_BYTES, by_s=0)
    old.start()
    campaign.settle()
    # What the master deletes goes everywhere, and no more than that.
    campaign.load_for(0.3)
    below = 3 * SEGMENT_BYTES
    allow_expiry(campaign, below)
    for member in group.members:
        age(member, below)
    until(lambda: starts(group) == {below}, f"every log starts at {below}, not at {starts(group)}")
    campaign.settle()
    campaign.verify_group()
    # The next master knows where the log starts.
    heir = campaign.random.choice([member for member in group.members if member is not campaign.master])
    campaign.promote(heir, wanted=heir.number)
    campaign.first_ack(time.monotonic())
    time.sleep(QUIET_S)
    campaign.settle()
    campaign.verify_group()
    assert starts(group) == {below}


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_a_member_without_the_front_is_left_out_and_never_master(
    make_group: MakeGroup, flush: str, seed: int
) -> None:
    campaign = started(make_group, 3, seed, flush=flush, settings=SETTINGS)
    group, old = campaign.group, campaign.master
    short = group.members[2]
    lose_front(short, 2 * SEGMENT_BYTES)
    until(lambda: is_left_out(group, short), f"it is left out: {group.statuses()}")
    assert campaign.load_for(0.5)[0] > 10, "two members are enough for writes"
    with pytest.raises(EngineError, match=r"lacks \d+ bytes \(\d+ messages\)"):
        group.promote(short, wanted=short.number)
    with pytest.raises(EngineError, match="lacks"):
        group.promote(old, wanted=short.number)
    # It is no witness, either: with the master dead nobody knows what the in-sync set has acknowledged.
    campaign.kill(old)
    for asked in (short, group.members[1]):
        with pytest.raises(EngineError, match="whose log lacks its front"):
            group.promote(asked)
    old.start()
    campaign.first_ack(time.monotonic())
    # Among the living the other one may take over.
    assert campaign.promote(short, wanted=1).master_id == 1
    campaign.first_ack(time.monotonic())
    # Emptied, it copies anew and counts again.
    short.kill()
    shutil.rmtree(short.store)
    short.start()
    campaign.settle()
    campaign.verify_group()
    assert starts(group) == {0}


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_of_two_the_one_without_the_front_waits_for_the_other(
    make_group: MakeGroup, flush: str, seed: int
) -> None:
    campaign = started(make_group, 2, seed, flush=flush, settings=SETTINGS)
    group, old = campaign.group, campaign.master
    short = group.members[1]
    campaign.kill(old)
    lose_front(short, 2 * SEGMENT_BYTES)
    with pytest.raises(EngineError, match="lacks"):
        group.promote(short)
    old.start()
    until(lambda: is_left_out(group, short), f"it is left out: {group.statuses()}")
    with pytest.raises(EngineError, match="lacks"):
        group.promote(short, wanted=short.number)
    # Who goes on all the same is told what that costs.
    campaign.kill(old)
    answer = campaign.promote(short, unclean=True)
    assert "lacks" in (answer.may_be_lost or "")


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
@pytest.mark.parametrize("size", [2, 3])
def test_a_master_killed_while_it_deletes_loses_nothing(
    make_group: MakeGroup, tmp_path: Path, size: int, flush: str, seed: int
) -> None:
    """Where the log starts is on its disk before a segment goes, and the next master may start earlier."""
    disks = make_disks(tmp_path, size)
    environments = {number: disk.environment for number, disk in disks.items()}
    campaign = started(make_group, size, seed, flush=flush, settings=SETTINGS, environments=environments)
    group = campaign.group
    for number in range(1, 5):
        old, below = campaign.master, 2 * number * SEGMENT_BYTES
        before = log_start(old.commit_log)
        allow_expiry(campaign, below)
        for member in group.members:
            age(member, below)
        campaign.begin_load()
        disks[old.number].fill(EXPIRE_EARLY)
        until(lambda at=before, old=old: log_start(old.commit_log) > at, "it begins to delete")  # type: ignore[misc]
        campaign.kill(old)
        campaign.end_load()
        assert decided_start(old) >= log_start(old.commit_log)
        disks[old.number].free()
        if number % 2:
            heir = campaign.random.choice([member for member in group.members if member is not old])
            assert campaign.promote(heir).may_be_lost is None
        old.start()
        campaign.first_ack(time.monotonic())
        campaign.load_for(0.5)
        campaign.settle()
        campaign.verify_group()


@pytest.mark.crash_long
def test_a_slave_without_the_front_moves_no_reader_past_it(make_group: MakeGroup, seed: int) -> None:
    """Also when it is the only member left: whoever is moved forward there never comes back."""
    campaign = started(make_group, 3, seed, settings=SETTINGS)
    group = campaign.group
    short = group.members[2]
    lose_front(short, 2 * SEGMENT_BYTES)
    until(lambda: is_left_out(group, short), f"it is left out: {group.statuses()}")
    campaign.kill(group.members[0], group.members[1])
    deadline = time.monotonic() + 5.0
    with Link(short.address) as link:
        while time.monotonic() < deadline:
            answer = link.call(rq.PULL, rq.pull_fields(TOPIC, GROUP, 0, 0))
            assert answer.code in (rq.PULL_NOT_FOUND, rq.PULL_RETRY, rq.SYSTEM_BUSY), answer
            time.sleep(0.2)
        # What it has, it serves.
        first = first_offset(link, TOPIC, 0)
        assert first > 0 and link.call(rq.PULL, rq.pull_fields(TOPIC, GROUP, 0, first)).code == rq.SUCCESS


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
@pytest.mark.parametrize("size", [2, 3])
def test_a_master_that_lost_its_front_gives_way(
    make_group: MakeGroup, size: int, flush: str, seed: int
) -> None:
    campaign = started(make_group, size, seed, flush=flush, settings=SETTINGS)
    group, old = campaign.group, campaign.master
    with crashing(campaign.history):
        lose_front(old, 2 * SEGMENT_BYTES)
    until(lambda: (found := group.find_master()) and found[0] is not old, f"it gives way: {group.statuses()}")
    until(lambda: is_left_out(group, old), f"it is left out: {group.statuses()}")
    old.kill()
    shutil.rmtree(old.store)
    old.start()
    campaign.settle()
    campaign.load_for(0.3)
    campaign.settle()
    campaign.verify_group()
    assert starts(group) == {0}

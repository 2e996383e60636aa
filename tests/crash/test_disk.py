"""F8, F9, F10: the disk fails, fills up or crawls under a live broker."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash import requests as rq
from tests.crash.campaign import Campaign, Windows, sends_after
from tests.crash.checker.events import FAIL, OK, SEND
from tests.crash.checker.resources import Allowance, check_resources
from tests.crash.cluster import ASYNC, SYNC, Daemon
from tests.crash.conftest import MakeBroker
from tests.crash.load import GROUP, QUEUES, TOPIC
from tests.crash.power import Ext4Disk
from tests.crash.shims.build import shim
from tests.crash.wire import Address, Link

RESUME_S = 5.0
DEAD_DISK_GRACE_S = 1.5
"""A flush every 500 ms, and a machine that is busy."""
MB = 1 << 20


class Faults:
    """The control file of shims/faults.c."""

    def __init__(self, folder: Path, match: str) -> None:
        self._control = folder / "fault"
        self.environment = {
            "LD_PRELOAD": str(shim("faults")),
            "FAULT_FILE": str(self._control),
            "FAULT_MATCH": match,
        }

    def begin(self, what: str) -> float:
        """The moment from which on it holds for every call."""
        spare = self._control.with_suffix(".new")
        spare.write_text(what)
        spare.rename(self._control)
        return time.monotonic()

    def end(self) -> None:
        self._control.unlink()


@pytest.mark.parametrize(("flush", "grace_s"), [(SYNC, 0.0), (ASYNC, DEAD_DISK_GRACE_S)])
def test_nothing_is_acknowledged_after_a_failed_sync(
    make_broker: MakeBroker, tmp_path: Path, flush: str, grace_s: float, seed: int
) -> None:
    """Nor after the disk seems well again: the kernel may have dropped what it could not write."""
    faults = Faults(tmp_path, "/commitlog/")
    broker = make_broker(flush=flush, environment=faults.environment)
    campaign = Campaign(broker, seed)
    campaign.start()
    campaign.begin_load()
    time.sleep(1.0)
    failed_at = faults.begin("eio")
    time.sleep(grace_s + 1.0)
    faults.end()
    time.sleep(1.0)
    campaign.end_load()
    late = sends_after(campaign.history.events(), failed_at + grace_s, OK)
    assert not late, f"{len(late)} acknowledged after the sync failed, such as {late[0]}"
    assert broker.is_alive
    campaign.look()
    campaign.crash()
    campaign.restart()
    campaign.verify()


def go_on_with_a_dead_disk(campaign: Campaign, die: Callable[[], object]) -> None:
    """Writes fail as well as syncs: acknowledging ends, the process and its log stay calm."""
    campaign.reader_troubles.add(rq.SYSTEM_ERROR)
    campaign.start()
    campaign.begin_load()
    time.sleep(1.0)
    die()
    died_at = time.monotonic()
    time.sleep(DEAD_DISK_GRACE_S + 1.0)
    campaign.end_load()
    late = sends_after(campaign.history.events(), died_at + DEAD_DISK_GRACE_S, OK)
    assert not late, f"{len(late)} acknowledged on a dead disk, such as {late[0]}"
    assert campaign.broker.is_alive
    assert campaign.acknowledged() > 100


def test_a_full_disk_refuses_writes_and_nothing_else(
    make_broker: MakeBroker, tmp_path: Path, seed: int
) -> None:
    faults = Faults(tmp_path, "/store/")
    broker = make_broker(environment=faults.environment)
    campaign = Campaign(broker, seed)
    campaign.start()
    campaign.load_for(1.0)
    full_at = faults.begin("enospc")
    # More than two segments: whatever was ready in advance is used up.
    codes = campaign.load_for(2.5)
    assert codes.keys() <= {rq.SUCCESS, rq.SERVICE_NOT_AVAILABLE, rq.SYSTEM_BUSY}, codes
    assert codes[rq.SERVICE_NOT_AVAILABLE] > 500, codes
    assert broker.is_alive
    reads_and_commits_go_on(broker.address)
    faults.end()
    resumes(broker.address)
    campaign.load_for(0.5)
    assert sends_after(campaign.history.events(), full_at, FAIL)
    campaign.look()
    campaign.verify()
    campaign.crash()
    campaign.restart()
    campaign.verify()


def reads_and_commits_go_on(address: Address) -> None:
    with Link(address) as link:
        for queue in range(QUEUES):
            assert link.call(rq.PULL, rq.pull_fields(TOPIC, GROUP, queue, 0)).code == rq.SUCCESS
            commit = rq.commit_fields(TOPIC, "FullDisk", queue, 7)
            assert link.call(rq.UPDATE_OFFSET, commit).code == rq.SUCCESS
            fetched = link.call(rq.QUERY_OFFSET, rq.fetch_fields(TOPIC, "FullDisk", queue))
            assert fetched.fields["offset"] == "7"


def resumes(address: Address) -> None:
    """Sends succeed again without a restart."""
    deadline = time.monotonic() + RESUME_S
    with Link(address) as link:
        # Sent to another topic: its values are not part of the campaign.
        while link.call(rq.SEND_V2, rq.send_fields("Resumed", 0, "k"), b"x").code != rq.SUCCESS:
            assert time.monotonic() < deadline, f"still refused {RESUME_S} s after space was freed"
            time.sleep(0.05)


def test_a_slow_disk_makes_sends_slow_and_nothing_worse(
    make_broker: MakeBroker, tmp_path: Path, seed: int
) -> None:
    faults = Faults(tmp_path, "/commitlog/")
    broker = make_broker(flush=SYNC, environment=faults.environment)
    campaign = Campaign(broker, seed, windows=Windows((64, 64, 64, 64), rate_per_s=2000))
    campaign.start()
    campaign.load_for(0.5)
    before = broker.sample()
    faults.begin("sleep 300")
    campaign.load_for(3.0)
    assert not check_resources([before, broker.sample()], Allowance(100 * MB, descriptors=20, threads=10))
    faults.end()
    refused = [e for e in campaign.history.events() if e.op == SEND and e.status == FAIL]
    slow = [event for event in refused if event.t_done - event.t_invoke > 1.0]
    assert len(slow) <= len(refused) // 100, f"{len(slow)} of {len(refused)} refusals took over a second"
    campaign.look()
    campaign.verify()


@pytest.mark.crash_long
@pytest.mark.parametrize("part", ["/commitlog/", "/consumequeue/"])
def test_a_part_of_the_store_on_a_dead_disk_ends_acknowledging(
    make_broker: MakeBroker, tmp_path: Path, part: str, seed: int
) -> None:
    faults = Faults(tmp_path, part)
    campaign = Campaign(make_broker(environment=faults.environment), seed)
    go_on_with_a_dead_disk(campaign, lambda: faults.begin("dead"))
    campaign.crash()
    faults.end()
    campaign.restart()
    campaign.verify()


@pytest.mark.crash_long
@pytest.mark.needs_mounts
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_a_dead_disk_ends_acknowledging(
    make_broker: MakeBroker, disk: Ext4Disk, flush: str, seed: int
) -> None:
    campaign = Campaign(make_broker(flush=flush, store=disk.store), seed)
    go_on_with_a_dead_disk(campaign, disk.shut_down)


@pytest.fixture
def small_disk(tmp_path: Path, daemons: list[Daemon]) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(folder)], check=True)
    yield folder
    for daemon in daemons:
        daemon.kill()
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.crash_long
@pytest.mark.needs_mounts
def test_thirty_times_a_disk_fills_up_and_is_freed(
    make_broker: MakeBroker, small_disk: Path, seed: int
) -> None:
    settings = {"cleanFileForciblyEnable": "false", "cleanResourceInterval": "500"}
    broker = make_broker(store=small_disk / "store", settings=settings)
    campaign = Campaign(broker, seed, windows=Windows((1, 8), rate_per_s=100), readers=1)
    campaign.start()
    campaign.load_for(1.0)
    for number in range(30):
        with (small_disk / "ballast").open("wb") as ballast:
            fill(ballast.fileno(), leave_bytes=campaign.random.choice((0, 4096, MB + 5000)))
        campaign.load_for(1.0)
        assert broker.is_alive, broker.tail()
        reads_and_commits_go_on(broker.address)
        (small_disk / "ballast").unlink()
        resumes(broker.address)
        if number % 10 == 9:
            campaign.crash()
            campaign.restart()
            campaign.verify()


def fill(fd: int, leave_bytes: int) -> None:
    room = os.fstatvfs(fd)
    size = room.f_bavail * room.f_bsize - leave_bytes
    if size > 0:
        os.posix_fallocate(fd, 0, size)


@pytest.mark.crash_long
@pytest.mark.parametrize("attempt", range(25))
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_fifty_failed_syncs(
    make_broker: MakeBroker, tmp_path: Path, flush: str, attempt: int, seed: int
) -> None:
    grace_s = 0.0 if flush == SYNC else DEAD_DISK_GRACE_S
    test_nothing_is_acknowledged_after_a_failed_sync(make_broker, tmp_path, flush, grace_s, seed + attempt)

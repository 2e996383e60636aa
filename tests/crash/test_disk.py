"""F8, F10: the disk fails or crawls under a live broker."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash import requests as rq
from tests.crash.campaign import Campaign, Windows, sends_after
from tests.crash.checker.events import FAIL, OK, SEND
from tests.crash.checker.resources import Allowance, check_resources
from tests.crash.cluster import ASYNC, SYNC
from tests.crash.conftest import MakeBroker
from tests.crash.faults import Faults
from tests.crash.power import Ext4Disk

DEAD_DISK_GRACE_S = 1.5
"""A flush every 500 ms, and a machine that is busy."""
MB = 1 << 20


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


@pytest.mark.crash_long
@pytest.mark.parametrize("attempt", range(25))
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_fifty_failed_syncs(
    make_broker: MakeBroker, tmp_path: Path, flush: str, attempt: int, seed: int
) -> None:
    grace_s = 0.0 if flush == SYNC else DEAD_DISK_GRACE_S
    test_nothing_is_acknowledged_after_a_failed_sync(make_broker, tmp_path, flush, grace_s, seed + attempt)

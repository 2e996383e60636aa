"""F3, F4, F7: power is cut under load. What was synced is there; SYNC_FLUSH loses nothing, ASYNC_FLUSH a
short tail.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from tests.crash.campaign import Campaign, assert_kept
from tests.crash.checker.check import check_history
from tests.crash.checker.events import OK, SEND
from tests.crash.checker.lost import loss_window_s, without_lost
from tests.crash.checker.lost_by_offset import check_lost_by_offset
from tests.crash.cluster import ASYNC, SYNC, Broker
from tests.crash.conftest import MakeBroker
from tests.crash.drain import crashing
from tests.crash.power import Ext4Disk, Platter

FLUSH_INTERVAL_S = 0.5
PROMPT = {"flushCommitLogLeastPages": "0"}
"""Otherwise a load that a busy machine makes a trickle of is flushed every ten seconds only."""
LEAST_FLUSH_S = 0.3
"""What one sync of a megabyte or so takes on two cores that are all in use."""


class FlushProbe(threading.Thread):
    """Writes and syncs half a megabyte, again and again: the longest is what one flush takes just now."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._path = folder / "flush-probe"
        self._quit = threading.Event()
        self.longest_s = LEAST_FLUSH_S

    def run(self) -> None:
        with self._path.open("wb", buffering=0) as file:
            while not self._quit.wait(0.05):
                begun = time.monotonic()
                os.pwrite(file.fileno(), bytes(512 << 10), 0)
                os.fdatasync(file.fileno())
                self.longest_s = max(self.longest_s, time.monotonic() - begun)

    def stop(self) -> float:
        self._quit.set()
        self.join()
        return self.longest_s


def cut_under_load(campaign: Campaign, power: Platter | Ext4Disk) -> None:
    campaign.begin_load()
    campaign.random_pause(0.5, 1.8)
    with crashing(campaign.history):
        power.cut(campaign.broker)
    campaign.end_load()
    campaign.restart()


def cut_sync_rounds(
    broker: Broker, power: Platter | Ext4Disk, rounds: int, seed: int, *, least: int = 50
) -> None:
    campaign = Campaign(broker, seed)
    campaign.start()
    for number in range(1, rounds + 1):
        cut_under_load(campaign, power)
        campaign.verify(at_least=least * number)


def cut_async_rounds(broker: Broker, power: Platter | Ext4Disk, rounds: int, seed: int) -> None:
    campaign = Campaign(broker, seed)
    campaign.start()
    for _ in range(rounds):
        earlier = len(campaign.history.events())
        probe = FlushProbe(broker.folder)
        probe.start()
        cut_under_load(campaign, power)
        flush_s = probe.stop()
        events = campaign.history.events()
        this_round = events[earlier:]
        assert sum(event.op == SEND and event.status == OK for event in this_round) > 100
        window_s = loss_window_s(this_round)
        print(f"loss window {window_s:.3f} s, a flush takes {flush_s:.3f} s")
        assert window_s <= FLUSH_INTERVAL_S + flush_s, (
            f"acknowledged messages of the last {window_s:.2f} s are gone"
        )
        # What is gone is a tail: no queue has a hole, and all that is left keeps every promise.
        violations = check_lost_by_offset(this_round)
        violations += check_history(without_lost(events), persist_interval_s=None)
        assert_kept(violations, campaign.history, broker.folder)


def test_power_cuts_lose_nothing_that_was_flushed(make_broker: MakeBroker, tmp_path: Path, seed: int) -> None:
    platter = Platter(tmp_path)
    broker = make_broker(flush=SYNC, store=platter.store, environment=platter.environment)
    cut_sync_rounds(broker, platter, rounds=5, seed=seed)


def test_power_cuts_take_only_a_short_tail(make_broker: MakeBroker, tmp_path: Path, seed: int) -> None:
    platter = Platter(tmp_path)
    broker = make_broker(flush=ASYNC, store=platter.store, environment=platter.environment, settings=PROMPT)
    cut_async_rounds(broker, platter, rounds=3, seed=seed)


@pytest.mark.crash_long
@pytest.mark.parametrize("chain", range(10))
def test_a_hundred_power_cuts_of_synced_copies(
    make_broker: MakeBroker, tmp_path: Path, chain: int, seed: int
) -> None:
    platter = Platter(tmp_path)
    broker = make_broker(flush=SYNC, store=platter.store, environment=platter.environment)
    cut_sync_rounds(broker, platter, rounds=10, seed=seed + chain)


@pytest.mark.crash_long
@pytest.mark.needs_mounts
@pytest.mark.parametrize("chain", range(10))
def test_a_hundred_power_cuts_of_a_disk(
    make_broker: MakeBroker, disk: Ext4Disk, chain: int, seed: int
) -> None:
    cut_sync_rounds(make_broker(flush=SYNC, store=disk.store), disk, rounds=10, seed=seed + chain)


@pytest.mark.crash_long
@pytest.mark.needs_mounts
@pytest.mark.parametrize("chain", range(10))
def test_a_hundred_power_cuts_of_a_disk_take_only_a_tail(
    make_broker: MakeBroker, disk: Ext4Disk, chain: int, seed: int
) -> None:
    broker = make_broker(flush=ASYNC, store=disk.store, settings=PROMPT)
    cut_async_rounds(broker, disk, rounds=10, seed=seed + 100 * chain)

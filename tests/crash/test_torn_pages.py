"""F5: at a power cut some pages of the unflushed tail are on the disk and some are not, in any order.

The disk is an ext4 of its own. While the broker stands still, a random part of the newest pages is synced one
by one; then the file system is shut down. What was flushed is all there; of the rest nothing torn is ever
delivered and nothing is left behind a hole.
"""

from __future__ import annotations

import ctypes
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.cluster import ASYNC, SYNC, Broker, Daemon
from tests.crash.conftest import MakeBroker
from tests.crash.faults import Faults
from tests.crash.power import Ext4Disk
from tests.crash.test_power import PROMPT, cut_async_rounds, cut_sync_rounds

pytestmark = [pytest.mark.crash_long, pytest.mark.needs_mounts]

PAGE = 4096
NEWEST_PAGES = 300
"""More than half a second's messages."""
_SYNC_AND_WAIT = 7
_libc = ctypes.CDLL(None, use_errno=True)


class TearingDisk(Ext4Disk):
    """Before each cut, a random part of the newest pages of the log reaches the disk."""

    chance: random.Random
    torn_cuts = 0
    """After how many cuts a page was there behind one that was not."""

    def cut(self, broker: Broker) -> None:
        broker.freeze()
        path = max(path for path in (broker.store / "commitlog").iterdir() if last_written_page(path) >= 0)
        newest = last_written_page(path)
        sync_some_pages(path, newest, self.chance)
        super().cut(broker)
        if not path.exists():
            return  # it had only just come, and its name was not safe yet
        written = [any(page) for page in pages_of(path)[: newest + 1]]
        self.torn_cuts += written != sorted(written, reverse=True)


def sync_some_pages(path: Path, newest: int, chance: random.Random) -> None:
    pages = [page for page in range(max(0, newest - NEWEST_PAGES), newest + 1) if chance.random() < 0.5]
    fd = os.open(path, os.O_RDWR)
    try:
        for page in chance.sample(pages, len(pages)):
            sync_page(fd, page)
    finally:
        os.close(fd)


def pages_of(path: Path) -> list[bytes]:
    data = path.read_bytes()
    return [data[at : at + PAGE] for at in range(0, len(data), PAGE)]


def last_written_page(path: Path) -> int:
    """-1: none."""
    return max((number for number, page in enumerate(pages_of(path)) if any(page)), default=-1)


def sync_page(fd: int, page: int) -> None:
    offset, size = ctypes.c_long(page * PAGE), ctypes.c_long(PAGE)
    if _libc.sync_file_range(fd, offset, size, _SYNC_AND_WAIT):
        raise OSError(ctypes.get_errno(), "sync_file_range")


@pytest.fixture
def tearing_disk(tmp_path: Path, daemons: list[Daemon]) -> Iterator[TearingDisk]:
    disk = TearingDisk(tmp_path)
    yield disk
    for daemon in daemons:
        daemon.kill()
    disk.close()


@pytest.mark.parametrize("chain", range(5))
@pytest.mark.parametrize("segments", ["written", "fallocated"])
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_two_hundred_torn_tails(
    make_broker: MakeBroker,
    tearing_disk: TearingDisk,
    tmp_path: Path,
    flush: str,
    segments: str,
    chain: int,
    seed: int,
) -> None:
    """Under SYNC_FLUSH the disk is slow: otherwise there would be hardly a tail to tear."""
    faults = Faults(tmp_path, "/commitlog/")
    if flush == SYNC:
        faults.begin("sleep 200")
    tearing_disk.chance = random.Random(seed + chain)
    broker = make_broker(
        flush=flush,
        store=tearing_disk.store,
        launcher="tests.crash.steps.random_pages",
        settings=PROMPT,
        environment={**faults.environment, **({"FALLOCATED": "1"} if segments == "fallocated" else {})},
    )
    if flush == SYNC:
        cut_sync_rounds(broker, tearing_disk, rounds=10, seed=seed + chain, least=10)
    else:
        cut_async_rounds(broker, tearing_disk, rounds=10, seed=seed + chain)
    print(f"{tearing_disk.torn_cuts} of 10 tails were torn")
    if segments == "written":  # of an extent that was never written nothing survives before it is synced
        assert tearing_disk.torn_cuts >= (3 if flush == ASYNC else 1)

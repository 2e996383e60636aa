"""Brokers for the crash suite: whatever a test starts is killed at its end, and its output is shown when it
failed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.checker.log_patterns import check_log
from tests.crash.checker.violations import describe
from tests.crash.cluster import Broker, Daemon
from tests.crash.group import Group
from tests.crash.power import Ext4Disk

MakeBroker = Callable[..., Broker]
MakeGroup = Callable[..., Group]


@pytest.fixture
def daemons() -> Iterator[list[Daemon]]:
    """Whatever is put here is killed; its log must hold no traceback (unless the test emptied the list)."""
    started: list[Daemon] = []
    yield started
    for daemon in started:
        daemon.kill()
        if daemon.log_path.exists():
            print(f"--- {daemon.name}\n{daemon.tail()}")
    for daemon in started:
        violations = check_log(daemon.log_lines())
        assert not violations, f"{daemon.name}: {describe(violations)}"


@pytest.fixture
def make_broker(tmp_path: Path, daemons: list[Daemon]) -> MakeBroker:
    def make(**options: Any) -> Broker:
        broker = Broker(tmp_path, **options)
        daemons.append(broker)
        return broker

    return make


@pytest.fixture
def make_group(tmp_path: Path, daemons: list[Daemon]) -> Iterator[MakeGroup]:
    made: list[Group] = []

    def make(size: int, **options: Any) -> Group:
        group = Group(tmp_path, size, **options)
        daemons.extend(group.daemons)
        made.append(group)
        return group

    yield make
    for group in made:
        group.close()


@pytest.fixture
def seed() -> int:
    """CRASH_SEED repeats a run."""
    chosen = int(os.environ.get("CRASH_SEED", random.randrange(1 << 30)))
    print(f"CRASH_SEED={chosen}")
    return chosen


@pytest.fixture
def disk(tmp_path: Path, daemons: list[Daemon]) -> Iterator[Ext4Disk]:
    """A file system of its own, for tests that may mount."""
    disk = Ext4Disk(tmp_path)
    yield disk
    for daemon in daemons:
        daemon.kill()
    disk.close()

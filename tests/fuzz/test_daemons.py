"""F37: mutated frames at the real name server and the real broker, then: alive, no leak, a good request
answered.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.checker.resources import Allowance, Sample, check_resources
from tests.crash.checker.violations import describe
from tests.crash.cluster import Broker, Daemon, NameServer
from tests.crash.load import create_topic
from tests.fuzz import targets
from tests.fuzz.mutants import Breeder, every_cut
from tests.fuzz.salvo import Salvo

SHORT, LONG = 25_000, 500_000
GROWTH = Allowance(anonymous_bytes=50 << 20, descriptors=64, threads=8)
"""Queue files stay open and pools fill up to their bound; a leak would be thousands of connections."""
SETTLE_S = 10.0


@pytest.fixture
def name_server(tmp_path: Path) -> Iterator[NameServer]:
    daemon = NameServer(tmp_path)
    try:
        daemon.start()
        yield daemon
    finally:
        daemon.kill()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    daemon = Broker(tmp_path)
    try:
        daemon.start()
        create_topic(daemon.address)
        yield daemon
    finally:
        daemon.kill()


def seed() -> int:
    """FUZZ_SEED repeats a run."""
    chosen = int(os.environ.get("FUZZ_SEED", random.randrange(1 << 30)))
    print(f"FUZZ_SEED={chosen}")
    return chosen


def under_fire(daemon: Daemon, good: tuple[int, dict[str, str]], templates: list[bytes], count: int) -> Salvo:
    salvo = Salvo(daemon, good)
    # One salvo before the first look: caches and pools that fill once are not leaks.
    breeder = Breeder(seed(), templates, targets.ALL_CODES)
    salvo.fire(breeder, 2000)
    before = daemon.sample()
    salvo.fire(breeder, count)
    for template in templates:
        salvo.fire_hard(every_cut(template))
    salvo.fire_codes()
    salvo.still_answers()
    assert daemon.is_alive
    violations = check_resources([before, settled(daemon, before)], GROWTH)
    assert not violations, describe(violations)
    print(salvo.tally)
    return salvo


def settled(daemon: Daemon, before: Sample) -> Sample:
    """Connections of the last salvo may take a moment to be noticed as gone."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        now = daemon.sample()
        if now.descriptors <= before.descriptors or time.monotonic() > deadline:
            return now
        time.sleep(0.1)


def test_the_name_server_survives_mutated_frames(name_server: NameServer) -> None:
    under_fire(name_server, targets.NAMESRV_GOOD, targets.NAMESRV_TEMPLATES, SHORT)


def test_the_broker_survives_mutated_frames(broker: Broker) -> None:
    under_fire(broker, targets.BROKER_GOOD, targets.BROKER_TEMPLATES, SHORT)


@pytest.mark.nightly
def test_the_name_server_survives_half_a_million(name_server: NameServer) -> None:
    under_fire(name_server, targets.NAMESRV_GOOD, targets.NAMESRV_TEMPLATES, LONG)


@pytest.mark.nightly
def test_the_broker_survives_half_a_million(broker: Broker) -> None:
    under_fire(broker, targets.BROKER_GOOD, targets.BROKER_TEMPLATES, LONG)

"""F37: mutated frames at the real name server and the real broker, then: alive, no leak, a good request
answered.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.cluster import Broker, Daemon, NameServer
from tests.crash.load import create_topic
from tests.fuzz import targets
from tests.fuzz.leftovers import MOST_THREADS, holdings, leftovers
from tests.fuzz.mutants import Breeder, every_cut
from tests.fuzz.salvo import Salvo

SHORT, LONG = 25_000, 500_000
GROWTH_BYTES = 50 << 20


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
    salvo.still_answers()
    held = holdings(daemon)
    # One salvo before memory is looked at: caches that fill once are not leaks.
    breeder = Breeder(seed(), templates, targets.ALL_CODES)
    salvo.fire(breeder, 2000)
    before = daemon.sample()
    salvo.fire(breeder, count)
    for template in templates:
        salvo.fire_hard(every_cut(template))
    salvo.fire_codes()
    salvo.still_answers()
    assert daemon.is_alive
    assert not (left := leftovers(daemon, held)), f"still open: {left}"
    after = daemon.sample()
    grown = after.anonymous_bytes - before.anonymous_bytes
    assert grown <= GROWTH_BYTES, f"{grown >> 20} MB more than before"
    assert after.threads <= MOST_THREADS[daemon.name], f"{after.threads} threads"
    print(salvo.tally)
    return salvo


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

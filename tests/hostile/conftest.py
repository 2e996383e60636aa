"""A broker with something to pull, with and without access control, and a name server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.victim import Victim


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    yield from started(Victim.broker(tmp_path_factory.mktemp("broker")))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    yield from started(Victim.guarded(tmp_path_factory.mktemp("guarded")))


@pytest.fixture(scope="module")
def name_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    yield from started(Victim.name_server(tmp_path_factory.mktemp("namesrv")))


@pytest.fixture
def fresh_broker(tmp_path: Path) -> Iterator[Victim]:
    yield from started(Victim.broker(tmp_path))


@pytest.fixture
def fresh_guarded(tmp_path: Path) -> Iterator[Victim]:
    yield from started(Victim.guarded(tmp_path))


def started(victim: Victim) -> Iterator[Victim]:
    try:
        victim.start()
        yield victim
    finally:
        victim.daemon.kill()

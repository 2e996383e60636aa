"""Fixtures of the interop suites: one cluster per target, one JVM per client version and per mqadmin version.

All are session-wide because a JVM costs seconds; they keep apart by topic and group names from ``fresh``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .clusters import APACHE_TARGETS, Cluster, chosen_targets, running
from .jars import CLIENT_VERSIONS, SERVER_VERSIONS
from .java_client import JavaClient
from .mqadmin import AdminShell
from .pairs import Pair, running_pair

_HERE = Path(__file__).parent
_NUMBERS = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.interop)
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session", params=chosen_targets())
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running(request.param, tmp_path_factory.mktemp(request.param)) as started:
        yield started


@pytest.fixture(scope="session", params=APACHE_TARGETS)
def apache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Each line of Apache's servers in turn, for the tests of our own client."""
    with running(request.param, tmp_path_factory.mktemp(request.param)) as started:
        yield started


@contextmanager
def started_clients(name_server: str, homes: pytest.TempPathFactory) -> Iterator[Callable[[str], JavaClient]]:
    """A client of a version, started when first asked for."""
    started: dict[str, JavaClient] = {}

    def client(version: str) -> JavaClient:
        if version not in started:
            started[version] = JavaClient(version, name_server, homes.mktemp("java"))
        return started[version]

    try:
        yield client
    finally:
        for java_client in started.values():
            java_client.close()


@pytest.fixture(scope="session")
def java_clients(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], JavaClient]]:
    with started_clients(cluster.name_server, tmp_path_factory) as client:
        yield client


@pytest.fixture(scope="session", params=chosen_targets())
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A name server with two brokers."""
    with running_pair(request.param, tmp_path_factory.mktemp(f"{request.param}-pair")) as started:
        yield started


@pytest.fixture(scope="session")
def pair_clients(
    pair: Pair, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], JavaClient]]:
    """As java_clients, at the two brokers."""
    with started_clients(pair.name_server, tmp_path_factory) as client:
        yield client


@pytest.fixture(scope="session", params=CLIENT_VERSIONS, ids=lambda version: f"client-{version}")
def pair_java(request: pytest.FixtureRequest, pair_clients: Callable[[str], JavaClient]) -> JavaClient:
    """Each version in turn, at the two brokers."""
    return pair_clients(request.param)


@pytest.fixture(scope="session", params=CLIENT_VERSIONS, ids=lambda version: f"client-{version}")
def java(request: pytest.FixtureRequest, java_clients: Callable[[str], JavaClient]) -> JavaClient:
    """Each version in turn."""
    return java_clients(request.param)


@pytest.fixture(scope="session")
def java_5(java_clients: Callable[[str], JavaClient]) -> JavaClient:
    """For scenarios about something else, which need just a client."""
    return java_clients("5")


@pytest.fixture(scope="session", params=SERVER_VERSIONS, ids=lambda version: f"mqadmin-{version}")
def mqadmin(
    request: pytest.FixtureRequest, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AdminShell]:
    shell = AdminShell(request.param, cluster.name_server, tmp_path_factory.mktemp("mqadmin"))
    yield shell
    shell.close()


@pytest.fixture
def fresh() -> Callable[[str], str]:
    """A name that no other scenario uses."""
    return lambda word: f"{word}-{next(_NUMBERS)}"

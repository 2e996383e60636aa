"""One name server and one broker for all integration tests of the client, and names of their own for each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from tests.engine.client.servers import Cluster, start_broker, start_name_server

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    home = tmp_path_factory.mktemp("client-cluster")
    name_server = start_name_server(home)
    try:
        broker = start_broker(home, name_server.address, enablePropertyFilter="true", traceTopicEnable="true")
        try:
            yield Cluster(name_server.address, "client-a", broker.address)
        finally:
            broker.stop()
    finally:
        name_server.stop()


@pytest.fixture
def namesrv(cluster: Cluster) -> str:
    return cluster.namesrv


@pytest.fixture
def fresh() -> Callable[[str], str]:
    """A name that no other test uses."""
    return lambda stem: f"{stem}-{next(_numbers)}"

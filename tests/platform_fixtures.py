"""What tests of the platform share: embedded Redis, people of each role, a real name server and broker.

A plugin of the tests/console, tests/clusters and tests/reports folders (their conftest imports it).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from django.conf import settings
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.gateway import connections
from clusters.models import Cluster
from console.core.models import RoleBinding, User
from console.core.models.people import Role
from tests.audit_watch import watch
from tests.engine.client.redis_server import redis_server
from tests.engine.client.servers import Cluster as EngineCluster
from tests.engine.client.servers import start_broker, start_name_server

_numbers = itertools.count(1)
PASSWORD = "a long enough password"
_servers: dict[str, Any] = {}
_S = TypeVar("_S")


@pytest.fixture
def fresh() -> Callable[[str], str]:
    """A name that no other test uses."""
    return lambda stem: f"{stem}-{os.getpid()}-{next(_numbers)}"


@contextmanager
def one(name: str, start: Callable[[], AbstractContextManager[_S]]) -> Iterator[_S]:
    """Every conftest that imports this file has its own fixtures, also those of a session; the server behind
    them is one. Who comes first starts it, and is the last to end. (A second Redis on the same socket would
    leave connections to the first, where nobody hears what is sent.)"""
    if name in _servers:
        yield _servers[name]
        return
    with start() as server:
        _servers[name] = server
        try:
            yield server
        finally:
            del _servers[name]


@pytest.fixture(scope="session")
def redis() -> Iterator[str]:
    """The embedded server, on the socket that the settings name; or the one of REDIS_URL."""
    if os.environ.get("REDIS_URL"):
        yield settings.REDIS_URL
        return
    with one("redis", lambda: redis_server(settings.DATA_ROOT.console)) as url:
        assert url == settings.REDIS_URL
        yield url


@pytest.fixture(scope="session", autouse=True)
def connections_are_closed() -> Iterator[None]:
    """As at the end of a process, while somebody still takes its log lines."""
    yield
    connections._kept.close()


@pytest.fixture(autouse=True)
def quick_passwords(settings) -> None:  # type: ignore[no-untyped-def]
    """Slow hashes are for those who guess; tests make hundreds of people."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def audit_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """In every test a successful call of an unsafe route leaves its audit rows."""
    watch(monkeypatch)


@dataclass(frozen=True, slots=True)
class People:
    """One client per kind of caller; all see the cluster patterns that `people` was made with."""

    anonymous: APIClient
    viewer: APIClient
    operator: APIClient
    admin: APIClient
    """Of all clusters, by binding: not a super user."""
    other: APIClient
    """An operator of clusters that are called `other-*` alone."""
    root: APIClient


def make_user(name: str, role: Role | None = None, clusters: str = "*", names: str = "*") -> User:
    user = User.objects.create_user(name, password=PASSWORD)
    if role is not None:
        RoleBinding.objects.create(user=user, role=role, cluster_pattern=clusters, name_pattern=names)
    return user


def client_of(user: User | None) -> APIClient:
    """Signed in by session, as a browser is; CSRF is checked in tests of its own."""
    client = APIClient()
    if user is not None:
        client.force_login(user)
    return client


@pytest.fixture
def people(db: None) -> People:
    root = User.objects.create_superuser("root", password=PASSWORD)
    return People(
        anonymous=client_of(None),
        viewer=client_of(make_user("viewer", Role.VIEWER)),
        operator=client_of(make_user("operator", Role.OPERATOR)),
        admin=client_of(make_user("admin", Role.ADMIN)),
        other=client_of(make_user("other", Role.OPERATOR, clusters="other-*")),
        root=client_of(root),
    )


@pytest.fixture
def api(people: People) -> APIClient:
    return people.root


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineCluster]:
    """One real name server and one real broker for all tests of this process."""
    with one("engine", lambda: _start_engine(tmp_path_factory.mktemp("engine"))) as cluster:
        yield cluster


@contextmanager
def _start_engine(home: Path) -> Iterator[EngineCluster]:
    name_server = start_name_server(home)
    try:
        broker = start_broker(home, name_server.address, enablePropertyFilter="true", traceTopicEnable="true")
        try:
            yield EngineCluster(name_server.address, "client-a", broker.address)
        finally:
            broker.stop()
    finally:
        name_server.stop()


@pytest.fixture
def attached(db: None, engine: EngineCluster, redis: str) -> Cluster:
    """That broker as an attached cluster of the console, called `attached`."""
    return Cluster.objects.create(
        name="attached",
        broker_cluster_name="DefaultCluster",
        kind=Cluster.Kind.ATTACHED,
        name_server_addresses=[engine.namesrv],
        broker_addresses=[engine.broker],
        created_at=timezone.now(),
    )

"""Which addresses the console dials: looked up once, all of them checked, refused with one text."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from rest_framework.test import APIClient

from clusters.gateway import connections, webhooks
from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.connections import ask
from clusters.models import Cluster
from console.core.problems import Problem
from tests.engine.client.servers import Cluster as EngineCluster
from tests.ports import free_port

CLUSTERS = "/api/v1/clusters/"
METADATA = "169.254.169.254"
pytestmark = pytest.mark.django_db


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[list[str]]]:
    """What each name is answered with, one list of addresses after the other; the last one for ever."""
    told: dict[str, list[list[str]]] = {}
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *args: Any, **options: Any) -> Any:
        if host not in told:
            return real(host, port, *args, **options)
        answers = told[host]
        # For datagrams nobody dials: a client asks which of its own addresses faces the server.
        is_dialled = options.get("type") != socket.SOCK_DGRAM
        addresses = answers.pop(0) if is_dialled and len(answers) > 1 else answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return told


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kept = connections._Kept()
    monkeypatch.setattr(connections, "_kept", kept)
    yield
    kept.close()


def reached(address: str) -> bool:
    asked = ClusterAddress("theirs", (address,), frozenset())
    try:
        ask(asked, lambda admin: admin.cluster.info())
    except Problem as problem:
        assert problem.status == 503, problem.detail
        return False
    return True


def test_a_name_that_changes_its_mind_is_dialled_as_it_was_checked(
    names: dict[str, list[list[str]]], engine: EngineCluster
) -> None:
    """Checked and dialled by two look-ups, it would be dialled where nobody checked (DNS rebinding)."""
    port = engine.namesrv.rsplit(":", 1)[1]
    names["flips.example"] = [["127.0.0.1"], [METADATA]]
    assert reached(f"flips.example:{port}")
    names["wrong.example"] = [[METADATA]]
    assert not reached(f"wrong.example:{port}")


def test_one_bad_address_among_those_of_a_name_is_enough(
    names: dict[str, list[list[str]]], engine: EngineCluster
) -> None:
    port = engine.namesrv.rsplit(":", 1)[1]
    names["mixed.example"] = [["127.0.0.1", METADATA]]
    assert not reached(f"mixed.example:{port}")


def test_a_webhooks_name_that_changes_its_mind_does_not_reach_inside(
    names: dict[str, list[list[str]]], settings: Any
) -> None:
    settings.DIAL_NETWORKS = ["127.0.0.2/32"]
    with listening(lambda one: one.close()) as (port, heard):
        names["hook.example"] = [["127.0.0.2"], ["127.0.0.1"]]
        assert webhooks.post(f"http://hook.example:{port}/", b"{}", "", 0) == webhooks.UNREACHABLE
        names["hook.example"] = [["127.0.0.1", "127.0.0.2"]]
        assert webhooks.post(f"http://hook.example:{port}/", b"{}", "", 0) == webhooks.UNREACHABLE
        assert not heard


@pytest.mark.parametrize(
    "address",
    [
        "[::ffff:127.0.0.1]:9876",
        "[::ffff:7f00:1]:9876",
        "127.0.0.1:9876\r\nX-Evil: 1",
        "127.0.0.1:0",
        "127.0.0.1:-1",
        "/run/redis.sock",
        "unix:/run/redis.sock:1",
        "user:password@127.0.0.1:9876",
        "exämple.com:9876",
        "255.255.255.255:9876",
        "240.0.0.1:9876",
        "",
    ],
)
def test_what_is_no_address_of_a_name_server_is_refused_before_it_is_dialled(
    api: APIClient, redis: str, settings: Any, address: str
) -> None:
    settings.DIAL_NETWORKS = []
    body = {"kind": "attached", "name": "theirs", "name_servers": [address]}
    answer = api.post(CLUSTERS, body, format="json")
    assert answer.status_code == 400, answer.data
    assert answer.data["errors"][0]["field"].startswith("name_servers")
    assert not Cluster.objects.exists()


def greets(one: socket.socket) -> None:
    one.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")


def test_whatever_listens_there_the_answer_is_the_same(api: APIClient, redis: str) -> None:
    """A closed port, one that hangs up, one that is silent, and another protocol's."""

    def answered(port: int) -> str:
        body = {"kind": "attached", "name": "theirs", "name_servers": [f"127.0.0.1:{port}"]}
        answer = api.post(CLUSTERS, body, format="json")
        assert answer.status_code == 503, answer.data
        return answer.content.decode().replace(str(port), "PORT")

    closed = answered(free_port())
    assert '"unreachable"' in closed
    for behaviour in (lambda one: one.close(), lambda one: None, greets):
        with listening(behaviour) as (port, heard):
            assert answered(port) == closed
            assert heard, "it was dialled"
    assert not Cluster.objects.exists()


@contextmanager
def listening(behaviour: Callable[[socket.socket], None]) -> Iterator[tuple[int, list[socket.socket]]]:
    """A server on this machine that does one thing with each connection; and those that it had."""
    heard: list[socket.socket] = []
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                one, _ = server.accept()
            except OSError:
                return
            heard.append(one)
            behaviour(one)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1], heard
    finally:
        # close() alone does not wake who waits in accept().
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(10)
        for one in heard:
            one.close()

"""Name servers and brokers of both makes in one cluster: each must take the other for its own kind."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from . import apache, signalbox
from .clusters import BROKER_DEFAULTS
from .jars import SERVER_VERSIONS
from .processes import Server, free_port_base
from .remoting import call, create_topic, has_route, is_listening

GET_BROKER_CLUSTER_INFO = 106
OURS = "signalbox"


@contextmanager
def name_server(make: str, home: Path) -> Iterator[str]:
    home.mkdir()
    port = free_port_base()
    address = f"127.0.0.1:{port}"
    if make == OURS:
        server = signalbox.launch_name_server(address, home)
    else:
        server = apache.launch_name_server(make, port, home)
    try:
        server.wait_until(lambda: is_listening(address))
        yield address
    finally:
        server.kill()


@contextmanager
def broker(
    make: str, name: str, name_server: str, home: Path, **overrides: str
) -> Iterator[tuple[str, Server]]:
    home.mkdir()
    port = free_port_base()
    settings = {
        **BROKER_DEFAULTS,
        "brokerName": name,
        "listenPort": str(port),
        "storePathRootDir": str(home / "store"),
        "storePathCommitLog": str(home / "store" / "commitlog"),
        **overrides,
    }
    config = home / "broker.conf"
    config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    if make == OURS:
        server = signalbox.launch_broker(config, name_server, home)
    else:
        server = apache.launch_broker(make, config, name_server, home)
    try:
        server.wait_until(lambda: name in cluster_brokers(name_server))
        yield f"127.0.0.1:{port}", server
    finally:
        server.kill()


def cluster_brokers(name_server: str) -> list[str]:
    text = call(name_server, GET_BROKER_CLUSTER_INFO).body.decode()
    names: list[str] = json.loads(text.split('"clusterAddrTable":')[1][:-1]).get("InteropCluster", [])
    return sorted(names)


def eventually(condition: Callable[[], bool], timeout_s: float = 10) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.parametrize("compressed", ["false", "true"])
@pytest.mark.parametrize("make", SERVER_VERSIONS)
def test_our_broker_registers_at_apaches_name_server(make: str, compressed: str, tmp_path: Path) -> None:
    with (
        name_server(make, tmp_path / "ns") as address,
        broker(OURS, "ours", address, tmp_path / "b", compressedRegister=compressed) as (
            broker_address,
            server,
        ),
    ):
        assert cluster_brokers(address) == ["ours"]
        assert eventually(lambda: has_route(address, "TBW102"))
        create_topic(broker_address, "orders")
        create_topic(broker_address, "bills")
        assert eventually(lambda: has_route(address, "orders") and has_route(address, "bills"))
        assert server.stop() == 0
        assert eventually(lambda: not has_route(address, "orders"))
        assert cluster_brokers(address) == []


def test_brokers_of_all_makes_share_our_name_server(tmp_path: Path) -> None:
    makes = {OURS: "ours", **{version: f"apache-{version.replace('.', '')}" for version in SERVER_VERSIONS}}
    with name_server(OURS, tmp_path / "ns") as address, ExitStack() as running:
        for make, name in makes.items():
            home = tmp_path / name
            broker_address, _ = running.enter_context(broker(make, name, address, home))
            create_topic(broker_address, "shared")
        assert cluster_brokers(address) == sorted(makes.values())
        assert eventually(lambda: shared_by(address) == set(makes.values()))


def shared_by(name_server: str) -> set[str]:
    """Which brokers the route of the shared topic names."""
    answer = call(name_server, 105, {"topic": "shared"})
    return (
        {data["brokerName"] for data in json.loads(answer.body)["queueDatas"]} if answer.code == 0 else set()
    )

"""Servers that go and come back under running Java clients, which must not lose or miss anything."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .clusters import Cluster, chosen_targets, running
from .jars import CLIENT_VERSIONS
from .java_client import JavaClient
from .received import bodies, numbered
from .remoting import create_topic, has_route

# 4.9 consumers are refused (no subscription known) until their next heartbeat, up to 30 s after a restart.
BACK_TIMEOUT_MS = 75_000
COUNT = 40


@pytest.fixture(params=CLIENT_VERSIONS)
def own_cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Cluster, JavaClient]]:
    with running(chosen_targets()[0], tmp_path / "cluster") as cluster:
        java = JavaClient(request.param, cluster.name_server, tmp_path / "client")
        try:
            yield cluster, java
        finally:
            java.close()


def stop_and_start(cluster: Cluster) -> None:
    assert cluster.stop_broker() == 0
    cluster.start_broker()


def kill_and_start(cluster: Cluster) -> None:
    cluster.kill_broker()
    cluster.start_broker()


@pytest.mark.parametrize("listener", ["concurrent", "orderly"])
@pytest.mark.parametrize("restart", [stop_and_start, kill_and_start])
def test_consumers_go_on_after_a_restart_of_the_broker(
    own_cluster: tuple[Cluster, JavaClient], restart: Callable[[Cluster], None], listener: str
) -> None:
    cluster, java = own_cluster
    create_topic(cluster.broker, "restarts", queues=50)
    java.do("push-start", name="c", group="restarts-group", topic="restarts", listener=listener)
    java.do("send-sync", topic="restarts", count=COUNT, prefix="before")
    assert bodies(java.do("push-wait", name="c", count=COUNT)) == numbered("before", COUNT)

    restart(cluster)
    java.do("send-sync", topic="restarts", count=COUNT, prefix="after")
    received = java.do("push-wait", name="c", count=2 * COUNT, timeoutMs=BACK_TIMEOUT_MS)
    # What was consumed but not committed before a kill may come once more; nothing may be missing.
    assert set(bodies(received)) == {*numbered("before", COUNT), *numbered("after", COUNT)}
    java.do("push-stop", name="c")


def test_a_name_server_that_comes_back_is_told_everything(own_cluster: tuple[Cluster, JavaClient]) -> None:
    cluster, java = own_cluster
    java.do("send-sync", topic="known", count=1)
    cluster.restart_name_server()
    java.do("send-sync", topic="known", count=1)
    assert _eventually(lambda: has_route(cluster.name_server, "known"))
    assert len(java.do("send-sync", topic="new-after-restart", count=1)) == 1


def _eventually(condition: Callable[[], bool], timeout_s: float = 10) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True

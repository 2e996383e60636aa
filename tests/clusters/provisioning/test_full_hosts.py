"""A host whose disk is full to the last byte: a broker that was killed there is shown with the reason why it
does not start, or starts; with room it comes back by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from clusters.models import Broker
from console.beat import Beat
from tests.clusters.provisioning.agent_process import AgentProcess, agents, wait
from tests.clusters.provisioning.operating import begin, finish
from tests.crash.small_disk import BRIM, MB, MountedDisk

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(400),
    pytest.mark.nightly,
    pytest.mark.needs_mounts,
]
BASE = "/api/v1/clusters/"
SMALL = {"mappedFileSizeCommitLog": "8388608", "maxIndexNum": "1000", "maxHashSlotNum": "500"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[MountedDisk]:
    mounted = MountedDisk(tmp_path / "mounted", 256 * MB)
    yield mounted
    mounted.close()


@pytest.fixture
def agent(disk: MountedDisk, redis: str, transactional_db: None) -> Iterator[AgentProcess]:
    with agents(disk.mount_point, "one") as [running], Beat():
        yield running


def page(api: APIClient) -> dict[str, Any]:
    """What the page of the broker shows of its process."""
    return dict(api.get(f"{BASE}orders/brokers/broker-a-0/").data["process"])


@contextmanager
def hogged(disk: MountedDisk) -> Iterator[None]:
    """Whatever is freed is taken by somebody else at once."""
    ended = threading.Event()

    def take() -> None:
        with (disk.mount_point / "hog").open("ab", buffering=0) as file:
            while not ended.is_set():
                try:
                    file.write(bytes(4096))
                except OSError:
                    time.sleep(0.001)

    disk.fill(BRIM)
    thread = threading.Thread(target=take)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        (disk.mount_point / "hog").unlink()


def kill(agent: AgentProcess) -> None:
    [process] = agent.engines()["broker-a-0"]
    process.kill()


def test_a_broker_that_finds_no_room_is_shown_with_the_reason_and_comes_back(
    agent: AgentProcess, api: APIClient, disk: MountedDisk
) -> None:
    new = {"name": "orders", "groups": 1, "slaves": 0, "overrides": SMALL}
    finish(begin(api, "", new))
    before = page(api)["pid"]
    with hogged(disk):
        kill(agent)
        wait(lambda: "free space there" in page(api)["last_exit"], 60, lambda: f"{page(api)}\n{agent.log()}")
        shown = page(api)
        print(shown["observed"], shown["last_exit"])
        assert shown["observed"] in ("crashed", "crash_loop")
        assert "No space left on device" in shown["last_exit"] and "broker-a-0/" in shown["last_exit"]
    wait(lambda: page(api)["observed"] == "running", 90, agent.log)
    assert page(api)["pid"] not in (None, before)


def test_a_broker_that_is_killed_at_the_brim_starts_again(
    agent: AgentProcess, api: APIClient, disk: MountedDisk
) -> None:
    """What it needs is there already: nothing is written that did not change."""
    finish(begin(api, "", {"name": "orders", "groups": 1, "slaves": 0, "overrides": SMALL}))
    before = page(api)["pid"]
    disk.fill(BRIM)
    kill(agent)
    wait(lambda: page(api)["pid"] not in (None, before), 60, lambda: f"{page(api)}\n{agent.log()}")
    assert page(api)["observed"] == "running"
    leftovers = [each.name for each in Path(agent.host.data_root).rglob(".*") if each.is_file()]
    assert leftovers == []
    assert Broker.objects.get().observed == "running"

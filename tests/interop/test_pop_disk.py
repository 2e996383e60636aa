"""Stores that change hands while popped messages are not acknowledged: they come back there."""

from __future__ import annotations

from pathlib import Path

import pytest

from .clusters import Cluster
from .java_client import JavaClient
from .mqadmin import AdminShell
from .received import body, numbered, wait_until

pytestmark = pytest.mark.needs_maven

TOPIC, GROUP = "handed-over", "poppers"
INVISIBLE_MS = 8_000


def set_pop_mode(cluster: Cluster, home: Path) -> None:
    shell = AdminShell("5", cluster.name_server, home)
    shell.run("updateTopic", "-b", cluster.broker, "-t", TOPIC, "-r", "4", "-w", "4")
    shell.run("updateSubGroup", "-b", cluster.broker, "-g", GROUP)
    shell.run("setConsumeMode", "-b", cluster.broker, "-t", TOPIC, "-g", GROUP, "-m", "POP", "-q", "0")
    shell.close()


def hold_messages(cluster: Cluster, home: Path) -> None:
    """A consumer gets all messages, and dies with them."""
    victim = JavaClient("5", cluster.name_server, home)
    victim.do("send-sync", topic=TOPIC, count=8, prefix="m")
    options = {"topic": TOPIC, "group": GROUP, "invisibleMs": INVISIBLE_MS, "listener": "hang"}
    victim.do("pop-start", name="victim", **options)
    held = victim.do("pop-wait", name="victim", count=8, timeoutMs=60_000)
    assert sorted(map(body, held)) == numbered("m", 8)
    victim.kill()


@pytest.mark.parametrize(("first", "second"), [("apache-5", "signalbox"), ("signalbox", "apache-5")])
def test_popped_messages_come_back_under_the_other_broker(tmp_path: Path, first: str, second: str) -> None:
    cluster = Cluster(first, tmp_path / "cluster")
    try:
        cluster.start()
        set_pop_mode(cluster, tmp_path / "admin")
        hold_messages(cluster, tmp_path / "victim")
        assert cluster.stop() in (0, 143)
        cluster.become(second)
        heir = JavaClient("5", cluster.name_server, tmp_path / "heir")
        heir.do("pop-start", name="heir", topic=TOPIC, group=GROUP, invisibleMs=60_000)

        def have_come() -> bool:
            """Each at least once: what the first broker brought back shortly before its end comes twice."""
            received = heir.do("pop-wait", name="heir", count=0, timeoutMs=100)
            return sorted({body(message) for message in received}) == numbered("m", 8)

        wait_until(have_come, 120)
        heir.kill()
    finally:
        cluster.kill()

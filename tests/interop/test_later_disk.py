"""Stores with messages that wait, changing hands: whoever takes over delivers them, once and not early."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .clusters import Cluster, running
from .java_client import JavaClient
from .received import Message, body, read_all

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]

LEVELS = {"messageDelayLevel": "1s 25s", "recallMessageEnable": "true"}
WAIT_MS = 25_000


@pytest.mark.parametrize("is_killed", [False, True], ids=["stopped", "killed"])
@pytest.mark.parametrize(("first", "second"), [("apache-5", "signalbox"), ("signalbox", "apache-5")])
def test_waiting_messages_survive_a_change_of_engines(
    first: str, second: str, is_killed: bool, tmp_path: Path, fresh: Fresh
) -> None:
    topic = fresh("waiting")
    with running(first, tmp_path / "cluster", LEVELS) as cluster:
        due = _send_for_later(cluster, tmp_path, topic)
        cluster.kill() if is_killed else cluster.stop()
        cluster.become(second)
        java = JavaClient("5", cluster.name_server, tmp_path / "java-2")
        try:
            found = _until(java, topic, {"short", *due}, max(due.values()))
        finally:
            java.close()
    wanted = {"now", "short", *due}
    assert set(map(body, found)) == wanted
    # Apache may deliver again what was delivered in the seconds before a kill; nothing else may.
    assert len(found) == len(wanted) or (is_killed and second != "signalbox")
    for message in found:
        assert message["storeTimestamp"] >= due.get(body(message), 0)


def _send_for_later(cluster: Cluster, home: Path, topic: str) -> dict[str, int]:
    """What is sent, and when it is due: one is out before the change, two are not."""
    java = JavaClient("5", cluster.name_server, home / "java-1")
    try:
        java.do("later-send", topic=topic, body="now")
        java.do("later-send", topic=topic, body="short", delayMs=1100)
        begun_ms = int(time.time() * 1000)
        java.do("later-send", topic=topic, body="level", level=2)
        java.do("later-send", topic=topic, body="timed", deliverMs=begun_ms + WAIT_MS)
        gone = java.do("later-send", topic=topic, body="gone", deliverMs=begun_ms + WAIT_MS)
        java.do("later-recall", topic=topic, handle=gone["recallHandle"])
        assert len(read_all(java, topic, 2)) == 2
        time.sleep(1.5)  # Apache notes its timers once a second
    finally:
        java.close()
    return {"level": begun_ms + WAIT_MS, "timed": begun_ms + WAIT_MS}


def _until(java: JavaClient, topic: str, wanted: set[str], due_ms: int) -> list[Message]:
    deadline_ms = max(due_ms, int(time.time() * 1000)) + 15_000
    while True:
        found = read_all(java, topic, 1)
        if wanted <= set(map(body, found)):
            time.sleep(2)
            return read_all(java, topic, 1)
        if time.time() * 1000 > deadline_ms:
            return found
        time.sleep(0.5)

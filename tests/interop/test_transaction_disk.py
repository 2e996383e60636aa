"""Open transactions change hands with their store: the next make asks about them, and only about them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from .clusters import Cluster
from .java_client import JavaClient
from .received import bodies, numbered, read_all
from .test_disk import HANDOVERS

pytestmark = pytest.mark.needs_maven

NOT_YET = {"transactionCheckInterval": "600000"}
# The client takes up to 30 s to come back, in which nobody can be asked.
PATIENT = {"transactionCheckMax": "1000"}
TOPIC, GROUP = "disk-tx", "disk-shop"


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize(("first", "second"), HANDOVERS)
def test_the_next_broker_goes_on_with_open_transactions(
    tmp_path: Path, first: str, second: str, how: str
) -> None:
    cluster = Cluster(first, tmp_path / "cluster", NOT_YET)
    try:
        cluster.start()
        client = JavaClient("5", cluster.name_server, tmp_path / "client")
        client.do("send-sync", topic=TOPIC, prefix="plain")
        for decision in ("commit", "rollback", "unknown"):
            client.do("tx-send", group=GROUP, topic=TOPIC, count=4, prefix=decision, decision=decision)
        assert len(read_all(client, TOPIC, 5)) == 5
        time.sleep(1)  # Apache notes its decisions in the background
        client.do("tx-answer", group=GROUP, answer="commit")
        cluster.stop() if how == "stop" else cluster.kill()
        cluster.overrides = PATIENT
        cluster.become(second)
        _wait_for_answers(client)
        stored = read_all(client, TOPIC, 9)
        time.sleep(4)
        assert bodies(read_all(client, TOPIC, 9)) == bodies(stored)
        client.close()
    finally:
        cluster.kill()
    assert bodies(stored) == sorted([*numbered("commit", 4), *numbered("unknown", 4), "plain-0"])


def _wait_for_answers(client: JavaClient) -> None:
    """The client finds the new broker by itself, within its 30 s between heartbeats."""
    deadline = time.monotonic() + 75
    while len(client.do("tx-checked", group=GROUP)) < 4 and time.monotonic() < deadline:
        time.sleep(0.5)
    assert set(bodies(client.do("tx-checked", group=GROUP))) == set(numbered("unknown", 4))

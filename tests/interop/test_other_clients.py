"""Clients of other languages that we did not write: ali-ons for Node and Apache's client for Go.

Each program sends, then consumes what it sent, and tells what happened line by line.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from .clusters import Cluster
from .received import numbered
from .remoting import create_topic

HERE = Path(__file__).parent
COUNT = 12
RUN_TIMEOUT_S = 120
BUILD_TIMEOUT_S = 400
Fresh = Callable[[str], str]


@pytest.fixture(scope="session")
def node_program() -> list[str]:
    project = HERE / "node"
    if not (project / "node_modules" / "ali-ons").exists():
        build(["npm", "ci", "--no-audit", "--no-fund"], project)
    return ["node", str(project / "interop.js")]


@pytest.fixture(scope="session")
def go_program() -> list[str]:
    project = HERE / "go"
    build(["go", "build", "-o", "target/interop", "."], project)
    return [str(project / "target" / "interop")]


def build(command: Sequence[str], project: Path) -> None:
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr


def run(
    program: Sequence[str],
    cluster: Cluster,
    topic: str,
    group: str,
    home: Path,
    *errand: str,
    count: int = COUNT,
) -> list[dict[str, Any]]:
    done = subprocess.run(
        [*program, cluster.name_server, topic, group, str(count), *errand],
        cwd=home,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def of_kind(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["event"] == kind]


def places(events: list[dict[str, Any]]) -> set[tuple[int, int]]:
    return {(event["queueId"], event["queueOffset"]) for event in events}


def test_node_sends_and_consumes(
    node_program: list[str], cluster: Cluster, fresh: Fresh, tmp_path: Path
) -> None:
    topic = fresh("node")
    create_topic(cluster.broker, topic)  # ali-ons reports a missing route as an error before it falls back
    events = run(node_program, cluster, topic, fresh("node-group"), tmp_path)
    sent, received = of_kind(events, "sent"), of_kind(events, "received")
    assert {event["status"] for event in sent} == {"SEND_OK"}
    assert sorted(event["body"] for event in received) == numbered("single", COUNT)
    assert places(received) == places(sent)


def test_go_sends_and_consumes(go_program: list[str], cluster: Cluster, fresh: Fresh, tmp_path: Path) -> None:
    events = run(go_program, cluster, fresh("go"), fresh("go-group"), tmp_path)
    sent, received = of_kind(events, "sent"), of_kind(events, "received")
    (batch,) = of_kind(events, "batch")
    assert {event["status"] for event in [*sent, batch]} == {0}
    assert len(batch["offsetMsgId"].split(",")) == COUNT
    assert sorted(event["body"] for event in received) == sorted(
        numbered("single", COUNT) + numbered("batch", COUNT)
    )
    assert places(sent) < places(received)

"""A damaged byte of the commit log under the Go, Node and C++ clients: every other message is delivered, and
the damaged one is once its segment is restored."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engine.client import Admin, Message, Producer
from engine.protocol.message_ids import parse_offset_msg_id

from . import test_cpp_client as cpp
from . import test_other_clients as others
from .clusters import Cluster, running
from .damaged_log import BODY_AT, damage, flip
from .received import numbered
from .remoting import create_topic
from .test_cpp_client import library
from .test_other_clients import go_program, node_program

__all__ = ["go_program", "library", "node_program"]

TOPIC, COUNT, VICTIM = "damaged", 60, 25
OTHERS = sorted(set(numbered("m", COUNT)) - {f"m-{VICTIM}"})
Event = dict[str, Any]
Receive = Callable[[Cluster, str, Path, int], list[Event]]


@dataclass(slots=True)
class Damaged:
    cluster: Cluster
    offset: int
    groups: list[str]
    """Those that have read around the damage."""


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Damaged]:
    with running("signalbox", tmp_path_factory.mktemp("damage")) as cluster:
        create_topic(cluster.broker, TOPIC, queues=1)
        offset = asyncio.run(send(cluster))
        damage(cluster, offset)
        yield Damaged(cluster, offset, [])


async def send(cluster: Cluster) -> int:
    """Where the victim lies. The C++ program wants a tag, a key and a property."""
    async with Producer("senders", namesrv=cluster.name_server) as producer:
        sent = [
            await producer.send(
                Message(TOPIC, b"m-%d" % n, tags="t", keys=[f"key-m-{n}"], properties={"n": str(n)})
            )
            for n in range(COUNT)
        ]
    found = sent[VICTIM].offset_msg_id
    assert found is not None
    return parse_offset_msg_id(found)[1]


@pytest.fixture(
    params=["go push", "go orderly", "go pull", "node push", "cpp push", "cpp orderly", "cpp pull"]
)
def receive(request: pytest.FixtureRequest, go_program: list[str], node_program: list[str]) -> Receive:
    """One run of a client that reads so many messages of the topic."""
    client, way = request.param.split()
    errand = {"push": "receive", "orderly": "receive-orderly", "pull": "pull"}[way]
    program = {"go": go_program, "node": node_program}

    def run(cluster: Cluster, group: str, home: Path, count: int) -> list[Event]:
        if client == "cpp":
            words = [str(count), "orderly"] if way == "orderly" else [str(count)]
            return cpp.run(cluster, home, "pull" if way == "pull" else "push", TOPIC, group, *words)
        events = others.run(program[client], cluster, TOPIC, group, home, errand, count=count)
        return others.of_kind(events, "received")

    return run


def test_it_goes_on_behind_the_damage(
    receive: Receive, damaged: Damaged, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    group = request.node.callspec.params["receive"].replace(" ", "-")
    received = receive(damaged.cluster, group, tmp_path, COUNT - 1)
    assert sorted(event["body"] for event in received) == OTHERS
    assert asyncio.run(skipped(damaged.cluster, group)) == {(damaged.offset, False)}
    damaged.groups.append(group)


async def skipped(cluster: Cluster, group: str) -> set[tuple[int, bool]]:
    """The records that the group has skipped, and whether they were redelivered."""
    async with Admin(namesrv=cluster.name_server) as admin:
        found = await admin.broker_groups.damaged_records(cluster.broker, group)
    return {(row.offset, row.skips[group].redelivered_ms > 0) for row in found.records}


def test_each_group_gets_it_once_the_segment_is_restored(
    damaged: Damaged, go_program: list[str], node_program: list[str], tmp_path: Path
) -> None:
    """By the retry topic, which push consumers read without being told. The last test: it mends the log."""
    cluster = damaged.cluster
    assert cluster.stop_broker() == 0
    flip(cluster.store, damaged.offset + BODY_AT)
    cluster.start_broker()
    for group in damaged.groups:
        deadline = time.monotonic() + 60
        while asyncio.run(skipped(cluster, group)) != {(damaged.offset, True)}:
            assert time.monotonic() < deadline, group
            time.sleep(0.2)
    for group, program in {"go-push": go_program, "node-push": node_program, "cpp-push": None}.items():
        bodies = until_it_comes(cluster, program, group, tmp_path)
        # A client that ended may not have said that it was done with its last messages: they come again.
        assert bodies.count(f"m-{VICTIM}") == 1 and set(bodies) <= set(numbered("m", COUNT)), group


def until_it_comes(cluster: Cluster, program: list[str] | None, group: str, home: Path) -> list[str]:
    if program is None:
        events = cpp.run(cluster, home, "push", TOPIC, group, "1")
    else:
        events = others.run(program, cluster, TOPIC, group, home, "await", f"m-{VICTIM}")
    return [event["body"] for event in others.of_kind(events, "received")]

"""`damagedRecords` against a real broker with wrong bits in its commit log: of a record that a group skipped,
and of one whose delay passed; and what becomes of both once the segment is restored."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engine.admin.brokers import shown_name
from engine.admin.main import main
from engine.client import ConsumeFromWhere, ConsumerOptions, Message, Producer, PushConsumer
from engine.client.messages import ReceivedMessage
from engine.protocol.message_ids import parse_offset_msg_id
from tests.engine.broker.damage.flips import BODY_AT, flip
from tests.engine.client.servers import ROOT, Daemon, start_broker, start_name_server

SEGMENT_BYTES = 16 << 20
COUNT, VICTIM = 10, 4
SETTINGS = {"messageDelayLevel": "1s 2s"}
Ask = Callable[..., list[dict[str, Any]]]


@dataclass(slots=True)
class Damaged:
    namesrv: str
    broker: Daemon
    home: Path
    offsets: tuple[int, int]
    """Commit-log offsets of the damaged records: of a group's message, and of a delayed one."""

    def restart(self) -> None:
        self.broker.stop()
        for offset in self.offsets:
            flip(self.home / "client-a", offset + BODY_AT, SEGMENT_BYTES)
        self.broker = start_broker(self.home, self.namesrv, **SETTINGS)


@contextmanager
def damaged_broker(home: Path) -> Iterator[Damaged]:
    name_server = start_name_server(home)
    broker = start_broker(home, name_server.address, **SETTINGS)
    made = Damaged(name_server.address, broker, home, asyncio.run(fill(name_server.address)))
    try:
        made.restart()
        assert asyncio.run(consumed(made.namesrv, COUNT - 1)) == numbered() - {b"m-%d" % VICTIM}
        yield made
    finally:
        made.broker.stop()
        name_server.stop()


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Damaged]:
    with damaged_broker(tmp_path_factory.mktemp("damaged")) as made:
        yield made


def numbered() -> set[bytes]:
    return {b"m-%d" % number for number in range(COUNT)}


async def fill(namesrv: str) -> tuple[int, int]:
    async with Producer("fillers", namesrv=namesrv) as producer:
        sent = [await producer.send(Message("Orders", b"m-%d" % number)) for number in range(COUNT)]
        later = await producer.send(Message("Later", b"later", delay_level=2))
        await producer.send(Message("Orders-after", b"the log does not end with a damaged record"))
    assert sent[VICTIM].offset_msg_id and later.offset_msg_id
    return parse_offset_msg_id(sent[VICTIM].offset_msg_id)[1], parse_offset_msg_id(later.offset_msg_id)[1]


async def consumed(namesrv: str, count: int) -> set[bytes]:
    """What a member of the group gets, up to that many."""
    bodies: set[bytes] = set()
    is_done = asyncio.Event()

    async def listen(message: ReceivedMessage) -> None:
        bodies.add(message.body)
        if len(bodies) >= count:
            is_done.set()

    options = ConsumerOptions(from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
    consumer = PushConsumer("billing", listen, namesrv=namesrv, options=options)
    consumer.subscribe("Orders")
    async with consumer:
        async with asyncio.timeout(30):
            await is_done.wait()
    return bodies


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    def call(*arguments: str) -> list[dict[str, Any]]:
        capsys.readouterr()
        assert main(["damagedRecords", *arguments, "--json"]) == 0
        rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
        return rows

    return call


def rows_of(ask: Ask, damaged: Damaged, *arguments: str) -> dict[int, dict[str, Any]]:
    return {row["commit_log_offset"]: row for row in ask("-b", damaged.broker.address, *arguments)}


def eventually(look: Callable[[], bool]) -> None:
    """Skipped records are looked at once at the start, and then every minute."""
    deadline = time.monotonic() + 90
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_skips_are_listed_with_place_group_and_time(ask: Ask, damaged: Damaged) -> None:
    plain, delayed = damaged.offsets
    eventually(lambda: any(row["skipped_by"] == "delivery to Later" for row in rows(ask, damaged)))
    found = rows_of(ask, damaged)
    assert sorted(found) == sorted(damaged.offsets)
    row = found[plain]
    assert (row["broker"], row["file"]) == (damaged.broker.address, "00000000000000000000")
    assert (row["topic"], row["skipped_by"], row["repaired"], row["redelivered"]) == (
        "Orders",
        "billing",
        "-",
        "-",
    )
    assert row["size"] > 0 and row["queue"] >= 0 and row["queue_offset"] >= 0
    assert row["found"].startswith("20") and row["skipped"].startswith("20")
    assert (found[delayed]["topic"], found[delayed]["queue"]) == ("SCHEDULE_TOPIC_XXXX", 1)


def rows(ask: Ask, damaged: Damaged) -> list[dict[str, Any]]:
    return ask("-b", damaged.broker.address)


def test_a_group_is_shown_its_own_skips(ask: Ask, damaged: Damaged) -> None:
    plain, delayed = damaged.offsets
    eventually(lambda: len(rows_of(ask, damaged, "-g", "%DELIVERY%Later")) == 1)
    assert list(rows_of(ask, damaged, "-g", "billing")) == [plain]
    assert list(rows_of(ask, damaged, "--groupName", "%DELIVERY%Later")) == [delayed]
    assert ask("-b", damaged.broker.address, "-g", "nobody") == []
    assert ask("-b", damaged.broker.address, "-g", "../../etc") == []


def test_a_cluster_stands_for_its_masters(ask: Ask, damaged: Damaged) -> None:
    assert {row["broker"] for row in ask("-n", damaged.namesrv, "-c", "ClientCluster")} == {
        damaged.broker.address
    }


def test_people_get_a_table(damaged: Damaged, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["damagedRecords", "-b", damaged.broker.address, "-g", "billing"]) == 0
    title, *lines = capsys.readouterr().out.splitlines()
    assert "Commit log offset" in title and "Skipped by" in title and "Redelivered" in title
    (line,) = [line for line in lines if "billing" in line]
    assert str(damaged.offsets[0]) in line and "Orders" in line
    assert str(damaged.home) not in "\n".join(lines)


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["-b", "127.0.0.1:1"], 1, "127.0.0.1:1"),
        (["-b", "nonsense"], 2, "nonsense"),
        (["-c", "NoSuchCluster"], 1, "NoSuchCluster"),
        (["-b", "NAMESRV"], 1, "30030"),
    ],
    ids=["nobody there", "no address", "no cluster", "not a broker"],
)
def test_what_cannot_be_asked_is_one_line(
    damaged: Damaged, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, text: str
) -> None:
    given = [damaged.namesrv if word == "NAMESRV" else word for word in arguments]
    capsys.readouterr()
    assert main(["damagedRecords", "-n", damaged.namesrv, *given, "--timeout", "3000"]) == status
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert line.startswith("error: ") and text in line and captured.out == ""


def test_the_process_itself_says_it(damaged: Damaged) -> None:
    command = [sys.executable, "-m", "engine.admin", "damagedRecords", "-n", damaged.namesrv]
    done = subprocess.run(
        [*command, "-b", damaged.broker.address, "-g", "billing", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [row["commit_log_offset"] for row in json.loads(done.stdout)] == [damaged.offsets[0]]


def test_names_are_shown_as_people_say_them() -> None:
    assert [shown_name(name) for name in ("billing", "%DELIVERY%Later", "%DELIVERY%")] == [
        "billing",
        "delivery to Later",
        "delivery (topic unreadable)",
    ]


def test_what_was_restored_is_shown_as_redelivered(tmp_path: Path, ask: Ask) -> None:
    with damaged_broker(tmp_path) as damaged:
        skipped = {"billing", "delivery to Later"}
        eventually(lambda: {row["skipped_by"] for row in rows(ask, damaged)} == skipped)
        damaged.restart()
        eventually(lambda: all(row["redelivered"] != "-" for row in rows(ask, damaged)))
        found = rows(ask, damaged)
        assert len(found) == 2 and all(row["repaired"].startswith("20") for row in found)
        assert asyncio.run(consumed(damaged.namesrv, 1)) == {b"m-%d" % VICTIM}

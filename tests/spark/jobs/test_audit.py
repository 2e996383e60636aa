"""The audit of a real store: whole, and with one byte changed here and there."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from engine.protocol.layouts.store_files import CQ_UNIT_SIZE
from engine.protocol.records import decode_record
from spark.jobs import store_audit
from spark.sources.logs import survey
from tests.spark.jobs.conftest import Done, Run
from tests.spark.shop import LOG_COUNT, LOGS, ORDERS, Shop

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def store(shop: Shop, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(shop.store, tmp_path / "copy"))


def findings(done: Done) -> Counter[str]:
    assert done.exit_code == 0, done.said
    return Counter(row["check"] for row in done.rows("findings"))


def change(path: Path, at: int, to: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(to)


def log_of(store: Path) -> Path:
    (file,) = (store / "commitlog").iterdir()
    return file


def place_of(store: Path, body: bytes) -> int:
    """Where the first record with this body begins."""
    data = log_of(store).read_bytes()
    at = 0
    while True:
        record = decode_record(data, at)
        if record.body == body:
            return at
        at += record.size


def test_a_whole_store_has_no_findings(run: Run, shop: Shop) -> None:
    done = run(store_audit.JOB, shop.store)
    assert (findings(done), done.said) == (Counter(), [])
    figures = done.summary["figures"]
    assert figures["records"] == figures["entries"] == done.summary["stores"][0]["records"]
    assert (figures["repeated_keys"], figures["repeated_copies"]) == ("1", "2")
    (twice,) = done.rows("duplicates")
    assert (twice["topic"], twice["unique_key"]) == (LOGS, shop.sent["twice"].msg_id)
    queues = Counter[str]()
    for row in done.rows("queues"):
        queues[row["topic"]] += row["entries"]
    assert queues[LOGS] == LOG_COUNT


@pytest.mark.nightly
def test_a_broken_record_is_a_hole_and_leaves_its_entry_behind(run: Run, store: Path) -> None:
    at = place_of(store, b"order-3")
    change(log_of(store), at + 4, b"\0\0\0\1")
    done = run(store_audit.JOB, store)
    found = findings(done)
    assert (found["log_gap"], found["entry_without_record"], found["queue_gap"]) == (1, 1, 1)
    (hole,) = [row for row in done.rows("findings") if row["check"] == "log_gap"]
    assert hole["expected"] == str(at)
    assert any("log_gap" in warning for warning in done.summary["warnings"])


def test_a_log_that_was_cut_misses_its_end(run: Run, store: Path) -> None:
    (log,) = survey({"stores": str(store)})
    os.truncate(log_of(store), 6_000)
    done = run(store_audit.JOB, store)
    found = findings(done)
    (hole,) = [row for row in done.rows("findings") if row["check"] == "log_gap"]
    assert int(hole["expected"]) <= 6_000 and hole["found"] == str(log.end_offset)
    assert found["entry_without_record"] > 0


@pytest.mark.nightly
def test_every_changed_byte_is_one_finding_at_its_place(run: Run, store: Path) -> None:
    """One of each kind in one store: an audit takes Spark some seconds, however much it finds."""
    queue = store / "consumequeue" / ORDERS / "0" / "00000000000000000000"
    units = [queue.read_bytes()[at : at + CQ_UNIT_SIZE] for at in range(0, 4 * CQ_UNIT_SIZE, CQ_UNIT_SIZE)]
    change(queue, CQ_UNIT_SIZE, b"\0" * CQ_UNIT_SIZE)
    change(queue, 2 * CQ_UNIT_SIZE, units[2][:12] + b"\0\0\0\0\0\0\0\1")
    change(queue, 3 * CQ_UNIT_SIZE, units[3][:8] + b"\0\0\0\1" + units[3][12:])
    shutil.rmtree(store / "consumequeue" / LOGS / "0")
    at = place_of(store, b"log-3")
    change(log_of(store), log_of(store).read_bytes().index(b"log-3", at), b"LOG-3")
    done = run(store_audit.JOB, store)
    places = {
        row["check"]: (row["topic"], row["queue_id"], row["queue_offset"], row["commit_log_offset"])
        for row in done.rows("findings")
    }
    entries = [int.from_bytes(unit[:8], "big") for unit in units]
    assert findings(done).total() == len(places), "one of each"
    assert places.keys() == {"record_without_entry", "entry_tags", "entry_size", "queue_missing", "crc"}
    assert places["record_without_entry"] == (ORDERS, 0, 1, entries[1])
    assert places["entry_tags"] == (ORDERS, 0, 2, entries[2])
    assert places["entry_size"] == (ORDERS, 0, 3, entries[3])
    assert places["queue_missing"][:2] == (LOGS, 0)
    assert (places["crc"][0], places["crc"][3]) == (LOGS, at)

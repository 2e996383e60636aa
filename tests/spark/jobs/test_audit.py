"""The audit of a real store: whole, and with one byte changed here and there."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.protocol.layouts import CQ_UNIT_SIZE
from engine.protocol.records import decode_record
from spark.jobs import store_audit
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


def test_a_changed_body_is_found_by_its_crc(run: Run, store: Path) -> None:
    at = place_of(store, b"order-3")
    body_at = log_of(store).read_bytes().index(b"order-3", at)
    change(log_of(store), body_at, b"ORDER-3")
    done = run(store_audit.JOB, store)
    assert findings(done) == {"crc": 1}
    (row,) = done.rows("findings")
    assert (row["topic"], row["commit_log_offset"]) == (ORDERS, at)


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
    whole = run(store_audit.JOB, store).summary["stores"][0]["to_offset"]
    os.truncate(log_of(store), 6_000)
    done = run(store_audit.JOB, store)
    found = findings(done)
    (hole,) = [row for row in done.rows("findings") if row["check"] == "log_gap"]
    assert int(hole["expected"]) <= 6_000 and hole["found"] == whole
    assert found["entry_without_record"] > 0


@pytest.mark.parametrize(
    ("harm", "check"),
    [
        (lambda unit: b"\0" * CQ_UNIT_SIZE, "record_without_entry"),
        (lambda unit: unit[:12] + b"\0\0\0\0\0\0\0\1", "entry_tags"),
        (lambda unit: unit[:8] + b"\0\0\0\1" + unit[12:], "entry_size"),
    ],
)
def test_a_changed_queue_entry_is_found(
    run: Run, store: Path, harm: Callable[[bytes], bytes], check: str
) -> None:
    queue = store / "consumequeue" / ORDERS / "0" / "00000000000000000000"
    unit = queue.read_bytes()[CQ_UNIT_SIZE : 2 * CQ_UNIT_SIZE]
    change(queue, CQ_UNIT_SIZE, harm(unit))
    assert findings(run(store_audit.JOB, store)) == {check: 1}


def test_a_queue_that_is_gone_is_one_finding(run: Run, store: Path) -> None:
    shutil.rmtree(store / "consumequeue" / ORDERS / "0")
    done = run(store_audit.JOB, store)
    assert findings(done) == {"queue_missing": 1}
    (row,) = done.rows("findings")
    assert (row["topic"], row["queue_id"]) == (ORDERS, 0)

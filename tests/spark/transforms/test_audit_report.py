"""The audit on a small store with one of each fault, and beside it what only looks like one."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from engine.protocol.hashes import body_crc, tags_code
from engine.protocol.sys_flags import INNER_BATCH, TRANSACTION_COMMIT, TRANSACTION_PREPARED
from spark.transforms.audit_report import audit_report
from spark.transforms.checksums import AUDIT_COLUMNS
from spark.transforms.gaps import BLANKS
from spark.transforms.queue_entries import ENTRIES
from spark.transforms.volumes import SEGMENTS
from tests.spark.worlds import cached, frame, log_of, message, ms, rows_of

pytestmark = pytest.mark.timeout(600)
SCHEDULE = "SCHEDULE_TOPIC_XXXX"
HALF = "RMQ_SYS_TRANS_HALF_TOPIC"
B2 = {"broker": "b2", "store": "/s/b2"}


def record(offset: int, topic: str, queue_id: int, queue_offset: int, **fields: Any) -> dict[str, Any]:
    body = fields.pop("body", b"teapots")
    crc = fields.pop("body_crc", body_crc(body))
    size = fields.pop("size", 100)
    place = {"commit_log_offset": offset, "queue_id": queue_id, "queue_offset": queue_offset, "size": size}
    return message(topic, body=body, body_crc=crc, stored=offset, **place, **fields)


def entry(offset: int, topic: str, queue_id: int, queue_offset: int, **fields: Any) -> dict[str, Any]:
    row = {"cluster": "c1", "broker": "b1", "store": "/s/b1", "topic": topic, "queue_id": queue_id}
    row |= {"queue_offset": queue_offset, "commit_log_offset": offset, "size": 100, "tags_code": 0}
    return {**row, **fields}


LOG = [
    record(0, "orders", 0, 0, size=300, tags="a", id="k1"),
    record(300, "orders", 0, 1, size=300, body_crc=7),
    # A hundred bytes are missing, and queue offset 2.
    record(700, "orders", 0, 3, size=200, body=b""),
    # The file ends here without a blank.
    record(1000, "orders", 0, 4, id="k1", tags="ü"),
    record(1100, "orders", 0, 4, id="k2"),
    record(1200, "logs", 2, 0, id="k2"),
    record(1300, HALF, 0, 0, sys_flag=TRANSACTION_PREPARED),
    record(1400, SCHEDULE, 3, 0),
    record(1500, "orders", 1, 0, sys_flag=TRANSACTION_COMMIT, id="k3"),
    record(1600, "orders", 1, 1, tags="b"),
    record(1700, "orders", 1, 2),
    record(1800, "orders", 1, 3),
    record(1900, "orders", 1, 4, tags="filtered"),
    record(2000, "orders", 0, 5, **B2, size=1000, id="k1"),
    record(3000, "orders", 0, 6, **B2, size=900, id=None),
    record(4000, "%RETRY%g", 0, 0, **B2, id="k3"),
    record(4100, "batches", 0, 0, **B2, sys_flag=INNER_BATCH),
]
QUEUES = [
    entry(0, "orders", 0, 0, size=300, tags_code=tags_code("a")),
    entry(300, "orders", 0, 1, size=300),
    entry(650, "orders", 0, 2),
    entry(700, "orders", 0, 3, size=200),
    entry(1000, "orders", 0, 4, tags_code=tags_code("ü")),
    entry(1100, "orders", 0, 5),
    entry(1400, SCHEDULE, 3, 0, tags_code=1_800_000_000_000),
    entry(1500, "orders", 1, 0, size=99),
    entry(1600, "orders", 1, 1, tags_code=5),
    entry(1700, "orders", 1, 2),
    # An entry with an extension holds its address.
    entry(1900, "orders", 1, 4, tags_code=-(1 << 63) + 40),
    # Came after the log was looked at.
    entry(2000, "orders", 1, 5),
    # Points to what retention deleted.
    entry(900, "orders", 0, 4, **B2),
    entry(2000, "orders", 0, 5, **B2, size=1000),
    entry(3000, "orders", 0, 6, **B2, size=900),
    entry(4000, "%RETRY%g", 0, 0, **B2),
]
FILES = [
    {"cluster": "c1", "broker": "b1", "store": "/s/b1", "segment": 0, "file_bytes": 1000, "is_last": False},
    {"cluster": "c1", "broker": "b1", "store": "/s/b1", "segment": 1000, "file_bytes": 1000, "is_last": True},
    {"cluster": "c1", **B2, "segment": 2000, "file_bytes": 1000, "is_last": False},
    {"cluster": "c1", **B2, "segment": 3000, "file_bytes": 1000, "is_last": False},
    {"cluster": "c1", **B2, "segment": 4000, "file_bytes": 1000, "is_last": True},
]
Tables = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def asked() -> list[dict[str, Any]]:
    """What was asked about the ends of files."""
    return []


@pytest.fixture(scope="module")
def tables(session: SparkSession, asked: list[dict[str, Any]]) -> Tables:
    def blanks(ends: DataFrame) -> DataFrame:
        asked.extend(rows_of(ends))
        found = [{"store": "/s/b1", "segment": 0, "blank_offset": None}]
        found.append({"store": "/s/b2", "segment": 3000, "blank_offset": 3900})
        return frame(session, found, BLANKS)

    extents = session.createDataFrame(
        [("/s/b1", 0, 2000), ("/s/b2", 2000, 4250)], "store string, from_offset bigint, to_offset bigint"
    )
    log = log_of(session, LOG, AUDIT_COLUMNS)
    entries = frame(session, QUEUES, ENTRIES)
    report = audit_report(log, frame(session, FILES, SEGMENTS), entries, extents, blanks=blanks, keep=cached)
    return {name: rows_of(table) for name, table in report.items()}


def test_each_fault_is_one_finding(tables: Tables) -> None:
    said = ("store", "check", "topic", "queue_id", "queue_offset", "commit_log_offset", "expected", "found")
    b1 = "/s/b1"
    assert sorted((tuple(row[name] for name in said) for row in tables["findings"]), key=str) == sorted(
        [
            (b1, "crc", "orders", 0, 1, 300, "7", str(body_crc(b"teapots"))),
            (b1, "log_gap", "orders", 0, 3, 700, "600", "700"),
            (b1, "log_tail", None, None, None, 900, "a blank", "none"),
            (b1, "queue_gap", "orders", 0, 3, 700, "2", "3"),
            (b1, "queue_repeat", "orders", 0, 4, 1100, "5", "4"),
            (b1, "entry_without_record", "orders", 0, 2, 650, "a record", "none"),
            (b1, "entry_place", "orders", 0, 4, 1100, "orders 0 4", "orders 0 5"),
            (b1, "queue_missing", "logs", 2, None, None, "0", "1"),
            (b1, "entry_size", "orders", 1, 0, 1500, "100", "99"),
            (b1, "entry_tags", "orders", 1, 1, 1600, str(tags_code("b")), "5"),
            (b1, "record_without_entry", "orders", 1, 3, 1800, "an entry", "none"),
            # The log is said to go on for 50 bytes behind its last record.
            ("/s/b2", "log_gap", None, None, None, 4200, "4200", "4250"),
        ],
        key=str,
    )


def test_only_the_ends_of_files_that_are_not_the_last_are_looked_up(
    tables: Tables, asked: list[dict[str, Any]]
) -> None:
    assert {(row["store"], row["segment"]): row["end_offset"] for row in asked} == {
        ("/s/b1", 0): 900,
        ("/s/b2", 2000): 3000,
        ("/s/b2", 3000): 3900,
    }


def test_keys_with_several_messages_are_listed(tables: Tables) -> None:
    rows = {(row["topic"], row["unique_key"]): row for row in tables["duplicates"]}
    # k2 is in two topics, k3 is a message and its retry: neither is stored twice.
    assert set(rows) == {("orders", "k1")}
    row = rows["orders", "k1"]
    assert (row["copies"], row["brokers"]) == (3, 2)
    assert (ms(row["first_stored"]), ms(row["last_stored"])) == (0, 2000)
    assert [place["commit_log_offset"] for place in row["places"]] == [0, 1000, 2000]


def test_files_are_summed_up(tables: Tables) -> None:
    said = ("records", "bytes", "end_offset", "bad_crc")
    rows = {(row["store"], row["segment"]): tuple(row[name] for name in said) for row in tables["segments"]}
    assert rows == {
        ("/s/b1", 0): (3, 800, 900, 1),
        ("/s/b1", 1000): (10, 1000, 2000, 0),
        ("/s/b2", 2000): (1, 1000, 3000, 0),
        ("/s/b2", 3000): (1, 900, 3900, 0),
        ("/s/b2", 4000): (2, 200, 4200, 0),
    }


def test_queues_are_summed_up(tables: Tables) -> None:
    said = ("records", "entries", "first_queue_offset", "last_queue_offset")
    rows = {
        (row["broker"], row["topic"], row["queue_id"]): tuple(row[name] for name in said)
        for row in tables["queues"]
    }
    assert rows == {
        ("b1", "orders", 0): (5, 6, 0, 4),
        ("b1", "orders", 1): (5, 4, 0, 4),
        ("b1", "logs", 2): (1, 0, 0, 0),
        ("b1", SCHEDULE, 3): (1, 1, 0, 0),
        ("b2", "orders", 0): (2, 2, 5, 6),
        ("b2", "%RETRY%g", 0): (1, 1, 0, 0),
    }

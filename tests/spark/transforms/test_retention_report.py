"""The retention report on two small stores whose every figure is worked out by hand.

Store b1: files of 1,000 bytes, one a day for three days, and today's. Store b2 is on a disk of which nothing
is known, and younger than an hour. Now is T0 + 72 h: T0 is ten in the morning.
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark.transforms.disks import DISKS, disks, stores
from spark.transforms.retention_report import retention_report
from spark.transforms.volumes import SEGMENTS, VOLUME_COLUMNS
from tests.spark.worlds import DAY_MS, HOUR_MS, at, cached, committed_of, frame, log_of, message, ms, rows_of

NOW = at(72 * HOUR_MS)


def stored(
    topic: str, offset: int, queue_offset: int, hours: float, size: int, **fields: Any
) -> dict[str, Any]:
    return message(
        topic,
        commit_log_offset=offset,
        queue_offset=queue_offset,
        stored=hours * HOUR_MS,
        size=size,
        **fields,
    )


B2 = {"broker": "b2", "store": "/s/b2"}
LOG = [
    # Segment 0: the first day.
    stored("orders", 0, 10, 0, 100),
    stored("orders", 100, 11, 0.5, 100),
    stored("orders", 200, 12, 1, 200),
    stored("logs", 400, 0, 2, 600),
    # Segment 1000: the second day.
    stored("orders", 1000, 13, 24, 100),
    stored("orders", 1100, 14, 24, 100),
    stored("logs", 1200, 1, 25, 500),
    stored("%RETRY%billing", 1700, 0, 26, 100),
    # Segment 2000: the third.
    stored("orders", 2000, 15, 48, 300),
    stored("orders", 2300, 16, 49, 300, queue_id=1),
    # Segment 3000: today.
    stored("orders", 3000, 16, 71, 100),
    stored("orders", 0, 0, 71.5, 50, **B2),
]
SEGMENT_ROWS = [
    {
        "cluster": "c1",
        "broker": "b1",
        "store": "/s/b1",
        "segment": start,
        "file_bytes": 1000,
        "is_last": start == 3000,
    }
    for start in (0, 1000, 2000, 3000)
] + [{"cluster": "c1", **B2, "segment": 0, "file_bytes": 1000, "is_last": True}]
DISK_ROWS = [
    {"store": "/s/b1", "disk": "/dev/a", "total_bytes": 10_000, "free_bytes": 5_000},
    {"store": "/s/b2", "disk": None, "total_bytes": None, "free_bytes": None},
]
OFFSETS = {
    # Has lost offsets 8 and 9 already.
    "orders@lost": {0: 8},
    "orders@behind": {0: 12, 1: 16},
    "orders@nearly": {0: 15},
    "orders@done": {0: 17, 1: 17},
    "logs@behind": {0: 1},
    "%RETRY%billing@billing": {0: 0},
    "orders@TOOLS_CONSUMER": {0: 0},
    "orders@unsure": {0: -1},
}
Tables = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def tables(session: SparkSession) -> Tables:
    report = retention_report(
        log_of(session, LOG, VOLUME_COLUMNS),
        frame(session, SEGMENT_ROWS, SEGMENTS),
        frame(session, DISK_ROWS, DISKS),
        committed_of(session, OFFSETS),
        begin=at(24 * HOUR_MS),
        end=None,
        now=NOW,
        hours=24,
        choices=[24, 48, 72, 1],
        full_ratio=0.9,
        keep=cached,
    )
    return {name: rows_of(table) for name, table in report.items()}


def test_volume_is_per_topic_and_hour_of_the_range(tables: Tables) -> None:
    rows = {
        (row["broker"], row["topic"], ms(row["hour"]) / HOUR_MS): (row["messages"], row["bytes"])
        for row in tables["volume"]
    }
    assert rows == {
        ("b1", "orders", 24): (2, 200),
        ("b1", "logs", 25): (1, 500),
        ("b1", "%RETRY%billing", 26): (1, 100),
        ("b1", "orders", 48): (1, 300),
        ("b1", "orders", 49): (1, 300),
        ("b1", "orders", 71): (1, 100),
        ("b2", "orders", 71): (1, 50),
    }
    assert {row["kind"] for row in tables["volume"] if row["topic"] == "%RETRY%billing"} == {"retry"}


def test_topics_say_what_is_kept_and_since_when(tables: Tables) -> None:
    rows = {row["topic"]: row for row in tables["topics"]}
    orders = rows["orders"]
    # 400 + 200 + 600 + 100 on b1, 50 on b2, of 2,550 in all.
    assert (orders["messages"], orders["bytes"], orders["bytes_share"]) == (
        9,
        1350,
        pytest.approx(1350 / 2550),
    )
    assert (ms(orders["oldest"]), ms(orders["newest"])) == (0, 71.5 * HOUR_MS)
    assert (rows["logs"]["messages"], rows["logs"]["bytes"], ms(rows["logs"]["oldest"])) == (
        2,
        1100,
        2 * HOUR_MS,
    )


def test_groups_that_would_lose_unread_messages_are_named(tables: Tables) -> None:
    rows = {(row["topic"], row["group"]): row for row in tables["groups"]}
    said = ("unread_messages", "unread_bytes", "lost_messages", "lost_bytes", "already_lost")
    # At 24 hours the files of the first two days go.
    assert {key: tuple(row[name] for name in said) for key, row in rows.items()} == {
        ("orders", "lost"): (7, 1000, 5, 600, 2),
        ("orders", "behind"): (6, 1100, 3, 400, 0),
        ("orders", "nearly"): (2, 400, 0, 0, 0),
        ("orders", "done"): (0, 0, 0, 0, 0),
        ("logs", "behind"): (1, 500, 1, 500, 0),
        ("%RETRY%billing", "billing"): (1, 100, 1, 100, 0),
    }
    assert ms(rows["orders", "behind"]["oldest_unread"]) == HOUR_MS
    assert rows["orders", "behind"]["oldest_unread_hours"] == 71
    assert rows["orders", "done"]["oldest_unread"] is None


def test_each_setting_says_what_it_would_free_and_whom_it_would_hurt(tables: Tables) -> None:
    said = ("files_freed", "bytes_freed", "bytes_kept", "messages_freed", "messages_kept")
    rows = {row["hours"]: row for row in tables["settings"] if row["broker"] == "b1"}
    assert {hours: tuple(row[name] for name in said) for hours, row in rows.items()} == {
        1: (3, 3000, 1000, 10, 1),
        24: (2, 2000, 2000, 8, 3),
        48: (1, 1000, 3000, 4, 7),
        72: (0, 0, 4000, 0, 11),
    }
    assert {hours: ms(row["oldest_kept"]) / HOUR_MS for hours, row in rows.items()} == {
        1: 71,
        24: 48,
        48: 24,
        72: 0,
    }
    lost = {hours: (row["groups_losing"], row["messages_lost"]) for hours, row in rows.items()}
    # 1 h: also the third day's: lost 5+1, behind 3+2 and 1, nearly 1, billing 1.
    assert lost == {1: (4, 6 + 5 + 1 + 1 + 1), 24: (3, 5 + 3 + 1 + 1), 48: (2, 3 + 1), 72: (0, 0)}
    other = {row["hours"]: row["files_freed"] for row in tables["settings"] if row["broker"] == "b2"}
    assert set(other.values()) == {0}, "the last file never goes"


def test_settings_say_which_topics_shrink(tables: Tables) -> None:
    rows = {
        (row["hours"], row["topic"]): (row["messages_freed"], row["bytes_freed"])
        for row in tables["settings_by_topic"]
    }
    assert rows[48, "orders"] == (3, 400)
    assert rows[48, "logs"] == (1, 600)
    assert rows[24, "orders"] == (5, 600)
    assert rows[24, "%RETRY%billing"] == (1, 100)
    assert (72, "orders") not in rows


def test_disks_say_when_they_are_full(tables: Tables) -> None:
    (row,) = tables["disks"]
    assert (row["disk"], row["stores"], row["bytes"]) == ("/dev/a", 1, 2500)
    # 1,500 bytes in two days, 800 of them on the first calendar day of the range.
    assert row["bytes_per_day"] == pytest.approx(750)
    assert row["busiest_bytes_per_day"] == pytest.approx(800)
    # Nine tenths of 10,000 bytes, of which 5,000 are in use.
    assert row["room_bytes"] == 4000
    assert ms(row["fills_without_deletion_at"]) == pytest.approx(72 * HOUR_MS + 4000 / 750 * DAY_MS, abs=1)
    # A day of 750 bytes is less than what is kept already: at 24 hours it never fills.
    assert (row["fills_at"], row["fills_at_busiest"]) == (None, None)
    assert row["allowed_hours"] == 195


def test_stores_say_how_long_to_keep_messages(tables: Tables) -> None:
    rows = {row["broker"]: row for row in tables["stores"]}
    first = rows["b1"]
    assert (first["files"], first["file_bytes"], first["messages"], first["bytes"]) == (4, 4000, 11, 2500)
    assert (ms(first["oldest"]), ms(first["newest"])) == (0, 71 * HOUR_MS)
    # `behind` has not read what was stored 71 hours ago; `lost` has lost messages whatever is done.
    assert (first["needed_hours"], first["allowed_hours"], first["hours"]) == (71, 195, 24)
    assert (first["reason"], first["recommended_hours"]) == ("unread_lost", 72)
    second = rows["b2"]
    assert (second["bytes_per_day"], second["allowed_hours"], second["needed_hours"]) == (None, None, 0)
    assert (second["reason"], second["recommended_hours"]) == ("keep", 24)


GROWTH = [
    # per day 1,000, on the busiest 2,000; 3,000 are kept
    {"store": store, "bytes": 3000, "bytes_per_day": 1000.0, "busiest_bytes_per_day": 2000.0}
    for store in ("fills", "full", "fits", "tight")
] + [{"store": "new", "bytes": 3000, "bytes_per_day": None, "busiest_bytes_per_day": None}]
PLACES = [
    {"store": "fills", "disk": "fills", "total_bytes": 10_000, "free_bytes": 3_000},
    {"store": "full", "disk": "full", "total_bytes": 10_000, "free_bytes": 900},
    {"store": "fits", "disk": "fits", "total_bytes": 100_000, "free_bytes": 90_000},
    {"store": "tight", "disk": "tight", "total_bytes": 10_000, "free_bytes": 2_000},
    {"store": "new", "disk": "new", "total_bytes": 10_000, "free_bytes": 9_000},
]
UNREAD = {"fills": 30.2, "full": None, "fits": 100.0, "tight": 70.0, "new": None}


@pytest.fixture(scope="module")
def judged(session: SparkSession) -> dict[str, dict[str, Any]]:
    """Per store: its disk's row and its own in one."""
    where = "cluster string, broker string, store string, "
    growing = [(*("c", "b"), *row.values()) for row in GROWTH]
    growth = session.createDataFrame(
        growing, where + "bytes bigint, bytes_per_day double, busiest_bytes_per_day double"
    )
    places = frame(session, PLACES, DISKS)
    files = [("c", "b", row["store"], 0, 1000, True) for row in GROWTH]
    waiting = [(store, 0, at(0) if hours else None, hours) for store, hours in UNREAD.items()]
    # A group that has lost messages already needs no setting.
    waiting.append(("fills", 7, at(0), 1000.0))
    groups = session.createDataFrame(
        waiting, "store string, already_lost bigint, oldest_unread timestamp, oldest_unread_hours double"
    )
    full = disks(growth, places, hours=168, full_ratio=0.9, now=NOW)
    segments = session.createDataFrame(files, SEGMENTS)
    table = stores(growth, places, full, segments, groups, hours=168, choices=[24, 48, 72, 168])
    on_disk = {row["disk"]: row for row in rows_of(full)}
    return {row["store"]: {**on_disk[row["store"]], **row} for row in rows_of(table)}


def test_a_disk_that_a_setting_outgrows_has_a_day(judged: dict[str, dict[str, Any]]) -> None:
    # Seven days at 1,000 are 7,000: 4,000 more than now, and there is room for 2,000.
    row = judged["fills"]
    assert row["room_bytes"] == 2000
    assert ms(row["fills_at"]) == 72 * HOUR_MS + 2 * DAY_MS
    assert ms(row["fills_at_busiest"]) == 72 * HOUR_MS + DAY_MS
    # A day of 2,000: 5,000 bytes fit, which is 60 hours; 48 is the largest choice below.
    assert (row["allowed_hours"], row["needed_hours"]) == (60, 31)
    assert (row["reason"], row["recommended_hours"]) == ("disk_fills", 48)


def test_a_full_disk_is_full_now(judged: dict[str, dict[str, Any]]) -> None:
    row = judged["full"]
    assert row["room_bytes"] == -100
    assert row["fills_at"] == row["fills_at_busiest"] == row["fills_without_deletion_at"] == NOW
    # 2,900 bytes at 2,000 a day.
    assert (row["allowed_hours"], row["reason"], row["recommended_hours"]) == (34, "disk_fills", 24)


def test_a_setting_that_fits_is_kept(judged: dict[str, dict[str, Any]]) -> None:
    row = judged["fits"]
    assert (row["fills_at"], row["fills_at_busiest"]) == (None, None)
    assert ms(row["fills_without_deletion_at"]) == 72 * HOUR_MS + 80 * DAY_MS
    assert (row["needed_hours"], row["reason"], row["recommended_hours"]) == (100, "keep", 168)


def test_unread_messages_older_than_what_fits_are_a_conflict(judged: dict[str, dict[str, Any]]) -> None:
    row = judged["tight"]
    # 4,000 bytes at 2,000 a day are 48 hours; the oldest unread message is 70 hours old.
    assert (row["allowed_hours"], row["needed_hours"]) == (48, 70)
    assert (row["reason"], row["recommended_hours"]) == ("unread_over_disk", 48)


def test_what_is_not_known_stays_open(judged: dict[str, dict[str, Any]]) -> None:
    row = judged["new"]
    assert row["room_bytes"] == 8000
    assert row["fills_at"] is row["fills_without_deletion_at"] is row["allowed_hours"] is None
    assert (row["reason"], row["recommended_hours"]) == ("keep", 168)

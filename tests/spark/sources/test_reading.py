"""What tasks read of a log, without Spark: every record once, wherever it is split, and what of damage."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import CorruptRecord, NotFound
from engine.protocol.records import Record, encode_record
from spark.schemas import COLUMNS, kind_of
from spark.sources.wanted import Span, Wanted
from tests.spark.sources.written import START_MS, Sent, Written, look, offsets_in, parts_of, rows_of

TOPICS = ("orders", "logs", "%RETRY%billing")
messages = st.builds(
    Sent,
    topic=st.sampled_from(TOPICS),
    body=st.binary(max_size=700),
    queue_id=st.integers(0, 2),
    properties=st.dictionaries(
        st.sampled_from(["TAGS", "KEYS", "UNIQ_KEY", "color"]), st.text("abä ", min_size=1)
    ),
)
logs = st.lists(messages, min_size=1, max_size=60)


def dated(sent: list[Sent], step_ms: int = 1) -> list[Sent]:
    return [replace(message, store_ms=START_MS + number * step_ms) for number, message in enumerate(sent)]


def moment(ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


def row_of(record: Record, store: Written) -> dict[str, Any]:
    """What `decode_record` says, in the words of the columns."""
    return {
        "cluster": "east",
        "broker": "broker-a",
        "store": str(store.root),
        "kind": kind_of(record.topic),
        "topic": record.topic,
        "queue_id": record.queue_id,
        "queue_offset": record.queue_offset,
        "commit_log_offset": record.commit_log_offset,
        "size": record.size,
        "flag": record.flag,
        "tags": record.properties.get("TAGS"),
        "keys": record.properties.get("KEYS"),
        "unique_key": record.properties.get("UNIQ_KEY"),
        "born_time": moment(record.born_timestamp),
        "born_host": "10.0.0.1:54321",
        "store_time": moment(record.store_timestamp),
        "store_host": "127.0.0.1:1",
        "sys_flag": record.sys_flag,
        "reconsume_times": record.reconsume_times,
        "prepared_transaction_offset": record.prepared_transaction_offset,
        "body_size": len(record.body),
        "body_crc": record.body_crc,
        "properties": list(record.properties.items()),
        "body": record.body,
    }


@given(logs)
def test_every_column_says_what_the_record_says(sent: list[Sent]) -> None:
    with TemporaryDirectory() as folder:
        store = Written(Path(folder)).write(dated(sent)).close()
        (log,) = look(f"east/broker-a={folder}")
        assert list(rows_of(log, COLUMNS)) == [row_of(record, store) for record in store.records]


@given(logs, st.integers(4096, 9000), st.booleans())
def test_every_record_is_read_once_however_the_log_is_split(
    sent: list[Sent], part_bytes: int, has_queues: bool
) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        store = Written(root, segment_bytes=16384).write(dated(sent)).close()
        if not has_queues:
            (root / "consumequeue").rename(root / "elsewhere")
        (log,) = look(root)
        assert offsets_in(log, part_bytes=part_bytes) == [
            record.commit_log_offset for record in store.records
        ]


def test_a_log_is_split_about_as_told(tmp_path: Path) -> None:
    Written(tmp_path, segment_bytes=1 << 20).write(dated([Sent(body=b"x" * 200)] * 3000)).close()
    (log,) = look(tmp_path)
    parts = parts_of(log, part_bytes=1 << 16)
    assert 12 <= len(parts) <= 17
    assert max(piece.end - piece.start for part in parts for piece in part.ranges) < 1.3 * (1 << 16)


def test_small_segments_are_read_together(tmp_path: Path) -> None:
    Written(tmp_path).write(dated([Sent(body=b"x" * 900)] * 40)).close()
    (log,) = look(tmp_path)
    assert len(log.segments) == 10
    assert len(parts_of(log, part_bytes=1 << 16)) == 1


def test_a_record_inside_a_body_is_no_boundary(tmp_path: Path) -> None:
    """Records end to end, as a pull answer that somebody stored: they say where they lay before."""
    inner = encode_record(topic="orders", body=b"x" * 50, commit_log_offset=0) * 40
    Written(tmp_path, segment_bytes=1 << 20).write(dated([Sent(body=inner)] * 60)).close()
    (log,) = look(tmp_path)
    for has_queues in (True, False):
        if not has_queues:
            (tmp_path / "consumequeue").rename(tmp_path / "elsewhere")
        assert len(parts_of(log, part_bytes=1 << 15)) > 5
        assert len(offsets_in(log, part_bytes=1 << 15)) == 60


def test_a_message_larger_than_a_chunk_is_one_row(tmp_path: Path) -> None:
    large = [Sent(body=b"x" * (9 << 20)), Sent(body=b"small"), Sent(body=b"y" * (5 << 20))]
    Written(tmp_path, segment_bytes=32 << 20).write(large).close()
    (log,) = look(tmp_path)
    assert [row["body_size"] for row in rows_of(log, ("body_size",))] == [9 << 20, 5, 5 << 20]


# What is wanted


@given(
    logs, st.sets(st.sampled_from([*TOPICS, "nobody"]), min_size=1), st.integers(0, 20), st.integers(1, 60)
)
def test_topics_and_times_find_what_a_whole_read_would(
    sent: list[Sent], topics: set[str], first: int, count: int
) -> None:
    minute = 60_000
    with TemporaryDirectory() as folder:
        store = Written(Path(folder)).write(dated(sent, minute)).close()
        (log,) = look(folder)
        times = Span(START_MS + first * minute, START_MS + (first + count) * minute)
        for wanted in (
            Wanted(topics=frozenset(topics)),
            Wanted(times_ms=times),
            Wanted(topics=frozenset(topics), times_ms=times),
            Wanted(kinds=frozenset(["retry"]), times_ms=times),
        ):
            expected = [
                record.commit_log_offset
                for record in store.records
                if wanted.wants_topic(record.topic, "", "")
                and wanted.times_ms.start <= record.store_timestamp < wanted.times_ms.end
            ]
            assert offsets_in(log, wanted, part_bytes=4096) == expected


def test_one_topic_is_looked_up_along_its_queues(tmp_path: Path) -> None:
    rare = [Sent(topic="rare" if number % 50 == 7 else "orders", body=b"x" * 300) for number in range(500)]
    store = Written(tmp_path).write(dated(rare)).close()
    (log,) = look(tmp_path)
    wanted = Wanted(topics=frozenset(["rare"]))
    first = next(record.commit_log_offset for record in store.records if record.topic == "rare")
    for part in parts_of(log, wanted):
        for piece in part.ranges:
            assert part.queues or piece.end <= first, "walked only before the topic's first message"
    assert len(offsets_in(log, wanted)) == 10


def test_messages_of_a_deleted_topic_are_found_without_its_queues(tmp_path: Path) -> None:
    """Deleted and made again: its queues begin anew, the log still has what was before."""
    store = Written(tmp_path).write(dated([Sent(body=b"old")] * 20))
    old = [record.commit_log_offset for record in store.records]
    shutil.rmtree(tmp_path / "consumequeue" / "orders")
    store.records.clear()
    store.next_offsets.clear()
    store.write(dated([Sent(topic="logs")] * 5 + [Sent(body=b"new")] * 5)).close()
    (log,) = look(tmp_path)
    new = [record.commit_log_offset for record in store.records if record.topic == "orders"]
    assert offsets_in(log, Wanted(topics=frozenset(["orders"]))) == old + new


def test_what_is_not_dispatched_yet_is_found_by_walking(tmp_path: Path) -> None:
    store = Written(tmp_path).write(dated([Sent(topic=topic) for topic in ("orders", "logs") * 30]))
    dispatched = store.records[30].commit_log_offset
    kept, store.records = store.records, store.records[:30]
    store.save()
    store.records = kept
    store.crash(store.end_offset, dispatched)
    (log,) = look(tmp_path, end="log")
    orders = [record.commit_log_offset for record in kept if record.topic == "orders"]
    assert offsets_in(log, Wanted(topics=frozenset(["orders"]))) == orders


@given(st.integers(0, 29), st.integers(1, 30))
def test_a_time_range_leaves_whole_ranges_out(first: int, count: int) -> None:
    hour = 3_600_000
    with TemporaryDirectory() as folder:
        Written(Path(folder)).write(dated([Sent(body=b"x" * 900)] * 30, hour)).close()
        (log,) = look(folder)
        wanted = Wanted(times_ms=Span(START_MS + first * hour, START_MS + (first + count) * hour))
        planned = sum(p.end - p.start for part in parts_of(log, wanted) for p in part.ranges)
        rows = len(offsets_in(log, wanted))
        assert rows == min(count, 30 - first)
        assert planned <= (rows // 3 + 3) * 4096


def test_a_store_that_is_not_wanted_is_not_opened(tmp_path: Path) -> None:
    Written(tmp_path).write([Sent()]).close()
    (log,) = look(f"east/broker-a={tmp_path}")
    for wanted in (
        Wanted(clusters=frozenset(["west"])),
        Wanted(brokers=frozenset(["b"])),
        Wanted(stores=frozenset()),
    ):
        assert parts_of(log, wanted) == []


# Damage


def test_damage_inside_the_log_is_named_or_stepped_over(tmp_path: Path) -> None:
    store = Written(tmp_path).write(dated([Sent(body=b"x" * 300)] * 40)).close()
    victim = store.records[5]
    store.patch(victim.commit_log_offset + 4, b"\xde\xad\xbe\xef")
    (log,) = look(tmp_path)
    path = store.path_at(victim.commit_log_offset)
    told = (
        f"{path} is damaged: no whole record lies at offset {victim.commit_log_offset}, where the log goes on"
    )
    with pytest.raises(CorruptRecord) as caught:
        offsets_in(log)
    assert str(caught.value) == told
    rest = [record.commit_log_offset for record in store.records if record is not victim]
    assert offsets_in(log, is_strict=False) == rest
    assert offsets_in(log, Wanted(topics=frozenset(["orders"])), is_strict=False) == rest
    with pytest.raises(
        CorruptRecord, match=f"no whole record at offset {victim.commit_log_offset}, as a queue says"
    ):
        offsets_in(log, Wanted(topics=frozenset(["orders"])))


def test_zeros_inside_the_log_are_damage_too(tmp_path: Path) -> None:
    store = Written(tmp_path).write(dated([Sent(body=b"x" * 300)] * 40)).close()
    victim = store.records[7]
    store.patch(victim.commit_log_offset, bytes(victim.size))
    (log,) = look(tmp_path)
    with pytest.raises(CorruptRecord, match=f"nothing is written at offset {victim.commit_log_offset}"):
        offsets_in(log)
    assert len(offsets_in(log, is_strict=False)) == 39


def test_a_topic_that_cannot_be_one_is_damage(tmp_path: Path) -> None:
    store = Written(tmp_path).write(dated([Sent(topic="orders")] * 3)).close()
    victim = store.records[1]
    raw = bytes(store.log[victim.commit_log_offset : victim.commit_log_offset + victim.size])
    store.patch(victim.commit_log_offset, raw.replace(b"orders", b"\xff\xfe\xff\xfe\xff\xfe"))
    (log,) = look(tmp_path)
    with pytest.raises(CorruptRecord, match=f"the record at offset {victim.commit_log_offset} cannot be one"):
        offsets_in(log)
    assert len(offsets_in(log, is_strict=False)) == 2


def test_a_segment_that_expired_meanwhile_is_no_error(tmp_path: Path) -> None:
    store = Written(tmp_path).write(dated([Sent(body=b"x" * 900)] * 12)).close()
    (log,) = look(tmp_path)
    store.path_at(0).unlink()
    assert offsets_in(log) == [r.commit_log_offset for r in store.records if r.commit_log_offset >= 4096]
    store.path_at(8192).unlink()
    with pytest.raises(NotFound, match="no such file"):
        offsets_in(log)

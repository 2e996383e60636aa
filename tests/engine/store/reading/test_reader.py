"""What a pull answers."""

from __future__ import annotations

from pathlib import Path

from engine.protocol.hashes import tags_code
from engine.protocol.records import decode_records
from engine.store.options import ReadLimits
from engine.store.results import GetStatus
from tests.engine.store.samples import (
    body_of,
    consume,
    dispatch_all,
    draft,
    drain,
    fill,
    flush_all,
    open_store,
    overwrite,
    put,
    rebuild_queue,
)


def test_an_unknown_queue(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    result = store.queues.get("Orders", 0, 5, 32)
    assert (result.status, result.next_begin_offset) == (GetStatus.NO_MATCHED_LOGIC_QUEUE, 0)
    store.close()


def test_offsets_outside_the_queue(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 10, queues=1)
    at_end, beyond, before = (store.queues.get("Orders", 0, offset, 32) for offset in (10, 11, -1))
    assert (at_end.status, at_end.next_begin_offset) == (GetStatus.OFFSET_OVERFLOW_ONE, 10)
    assert (beyond.status, beyond.next_begin_offset) == (GetStatus.OFFSET_OVERFLOW_BADLY, 10)
    assert (before.status, before.next_begin_offset) == (GetStatus.OFFSET_TOO_SMALL, 0)
    assert (beyond.min_offset, beyond.max_offset) == (0, 10)
    store.close()


def test_a_body_is_the_stored_records(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    results = fill(store, 40)
    found = store.queues.get("Orders", 1, 2, 5)
    wanted = results[9:29:4]
    log = (tmp_path / "commitlog" / "00000000000000000000").read_bytes()
    expected = b"".join(log[r.commit_log_offset : r.commit_log_offset + r.size] for r in wanted)
    assert found.body == expected
    assert (found.status, found.count, found.next_begin_offset) == (GetStatus.FOUND, 5, 7)
    assert (found.first_commit_log_offset, found.size) == (wanted[0].commit_log_offset, len(expected))
    store.close()


def test_bodies_cross_segments_and_queue_files(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 700, queues=1)
    assert len(list((tmp_path / "commitlog").iterdir())) > 2
    assert len(list((tmp_path / "consumequeue" / "Orders" / "0").iterdir())) == 7
    assert drain(store) == list(range(700))
    store.close()


def test_at_most_32_messages_or_256_kib_from_the_hot_window(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 100, queues=1)
    assert store.queues.get("Orders", 0, 0, 1000).count == 32
    for n in range(40):
        put(store, draft(n, topic="Big", body_size=16_000))
    dispatch_all(store)
    found = store.queues.get("Big", 0, 0, 32)
    assert found.count == 16 and found.size <= 262_144
    assert store.queues.get("Big", 0, 0, 32, max_bytes=40_000).count == 2
    assert store.queues.get("Big", 0, 0, 32, max_bytes=1).count == 1
    store.close()


def test_at_most_8_messages_or_64_kib_from_older_parts_of_the_log(tmp_path: Path) -> None:
    store = open_store(tmp_path, reads=ReadLimits(hot_window_bytes=1000))
    fill(store, 100, queues=1)
    found = store.queues.get("Orders", 0, 0, 32)
    assert found.count == 8 and found.cold is not None and found.body == b""
    assert [record.queue_offset for record in decode_records(body_of(store, found))] == list(range(8))
    assert store.queues.get("Orders", 0, 98, 32).cold is None
    for n in range(10):
        put(store, draft(n, topic="Big", body_size=16_000))
    dispatch_all(store)
    assert store.queues.get("Big", 0, 0, 32).count == 4
    store.close()


def test_a_filter_passes_over_what_does_not_match(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 90, queues=1)
    wanted = tags_code("tag1")
    found = store.queues.get("Orders", 0, 0, 4, matches=lambda code: code == wanted)
    assert [record.tags for record in decode_records(found.body)] == ["tag1"] * 4
    assert found.next_begin_offset == 11  # behind the last one found
    none = store.queues.get("Orders", 0, 0, 4, matches=lambda code: False)
    assert (none.status, none.next_begin_offset) == (GetStatus.NO_MATCHED_MESSAGE, 90)
    store.close()


def test_a_filter_scans_800_units_at_most(tmp_path: Path) -> None:
    store = open_store(tmp_path, mapped_file_size_consume_queue=20_000 * 20)
    fill(store, 1000, queues=1)
    assert store.queues.get("Orders", 0, 0, 32, matches=lambda code: False).next_begin_offset == 800
    store.close()


def test_a_cold_range_of_a_deleted_segment_yields_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path, reads=ReadLimits(hot_window_bytes=1000))
    fill(store, 100, queues=1)
    cold = store.queues.get("Orders", 0, 0, 32).cold
    assert cold is not None
    (tmp_path / "commitlog" / "00000000000000000000").unlink()
    assert store.queues.read_cold(cold) == (b"", None)
    store.close()


def test_a_filtered_cold_pull_reads_only_what_matched(tmp_path: Path) -> None:
    store = open_store(tmp_path, reads=ReadLimits(hot_window_bytes=1000))
    fill(store, 100, queues=1)
    wanted = tags_code("tag2")
    found = store.queues.get("Orders", 0, 0, 5, matches=lambda code: code == wanted)
    records = decode_records(body_of(store, found))
    assert [record.queue_offset for record in records] == [2, 5, 8, 11, 14]
    store.close()


def test_old_bytes_are_checked_before_they_are_served(tmp_path: Path) -> None:
    store = open_store(tmp_path, verify_on_open_bytes=1)
    results = fill(store, 100, queues=1)
    flush_all(store)
    store.close()
    overwrite(tmp_path / "commitlog" / "00000000000000000000", results[3].commit_log_offset + 90, b"X")
    store = open_store(tmp_path, verify_on_open_bytes=1)
    found = store.queues.get("Orders", 0, 0, 32)
    assert found.cold is not None
    body, damage = store.queues.read_cold(found.cold)
    assert [record.queue_offset for record in decode_records(body)] == [0, 1, 2]
    where = results[3].commit_log_offset, results[3].size, "00000000000000000000"
    assert damage == ("Orders", 0, 3, *where)
    assert consume(store)[0] == [number for number in range(100) if number != 3]
    store.close()


def test_a_damaged_unit_is_noticed_and_mended(tmp_path: Path) -> None:
    store = open_store(tmp_path, verify_on_open_bytes=1)
    fill(store, 100, queues=1)
    store.close()
    path = tmp_path / "consumequeue" / "Orders" / "0" / "00000000000000000000"
    before = path.read_bytes()
    overwrite(path, 20 * 4 + 7, b"\xff")
    store = open_store(tmp_path, verify_on_open_bytes=1)
    found = store.queues.get("Orders", 0, 0, 32)
    assert found.cold is not None and store.queues.read_cold(found.cold).damage is not None
    assert drain(store) == list(range(100))
    assert path.read_bytes() == before
    store.close()


def test_zeros_inside_a_queue_are_mended_before_anybody_skips_them(tmp_path: Path) -> None:
    store = open_store(tmp_path, verify_on_open_bytes=1)
    fill(store, 100, queues=1)
    store.close()
    overwrite(tmp_path / "consumequeue" / "Orders" / "0" / "00000000000000000000", 20 * 7, bytes(20 * 5))
    store = open_store(tmp_path, verify_on_open_bytes=1)
    assert drain(store) == list(range(100))
    store.close()


def test_a_whole_queue_can_be_rebuilt(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 300, queues=2)
    rebuild_queue(store, "Orders", 1)
    assert drain(store, queue_id=1) == list(range(1, 300, 2))
    store.close()


def test_units_are_shown_as_they_lie(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    results = fill(store, 3, queues=1)
    units = store.queues.units("Orders", 0, 1, 5)
    assert [(unit.queue_offset, unit.commit_log_offset, unit.size) for unit in units] == [
        (n, results[n].commit_log_offset, results[n].size) for n in (1, 2)
    ]
    assert units[0].tags_code == tags_code("tag1")
    assert store.queues.units("Orders", 9, 0, 5) == []
    store.close()

"""The front of the log: what has expired, what a copy must have, what is deleted and counted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.store.message_store import MessageStore
from tests.engine.store.samples import NOW_MS, SEGMENT_SIZE, crash, draft, fill, flush_all, open_store, put

HOUR_MS = 3_600_000
LATER_MS = NOW_MS + 100 * HOUR_MS


@pytest.fixture
def store(tmp_path: Path) -> MessageStore:
    """Five segments or more, stored at NOW_MS, in files that were written then."""
    store = open_store(tmp_path)
    fill(store, 1500)
    flush_all(store)
    segments = _paths(tmp_path)
    assert len(segments) >= 5
    for path in segments:
        os.utime(path, (0, NOW_MS / 1000))
    return store


def _paths(root: Path) -> list[Path]:
    return sorted((root / "commitlog").iterdir())


def test_what_is_young_is_needed(store: MessageStore) -> None:
    assert store.front.needed_from(NOW_MS) == store.front.unexpired_from(NOW_MS) == 0
    assert not store.front.lacks_only_expired(NOW_MS)
    store.close()


def test_what_has_expired_is_not_but_for_the_active_segment(store: MessageStore) -> None:
    last = store.log.max_offset // SEGMENT_SIZE * SEGMENT_SIZE
    assert store.front.needed_from(LATER_MS) == last
    assert store.front.unexpired_from(LATER_MS) == store.log.max_offset
    assert store.front.lacks_only_expired(LATER_MS)
    store.close()


def test_a_copy_is_as_old_as_its_messages(store: MessageStore, tmp_path: Path) -> None:
    """Its files are as young as the copy; they are deleted later, and nobody needs them."""
    for path in _paths(tmp_path):
        os.utime(path, (0, LATER_MS / 1000))
    last = store.log.max_offset // SEGMENT_SIZE * SEGMENT_SIZE
    assert store.front.needed_from(LATER_MS) == last
    assert store.front.plan(LATER_MS, hour=4, disk_usage_ratio=0.5) == 0
    deleted = store.front.delete_to(2 * SEGMENT_SIZE, LATER_MS)
    assert deleted.paths and not deleted.unexpired_segments
    store.close()


def test_an_old_file_has_expired_whatever_its_messages_say(store: MessageStore, tmp_path: Path) -> None:
    os.utime(_paths(tmp_path)[0], (0, 0))
    assert store.front.needed_from(NOW_MS) == SEGMENT_SIZE
    assert store.front.plan(NOW_MS, hour=4, disk_usage_ratio=0.5) == SEGMENT_SIZE
    store.close()


def test_deleting_ends_at_the_offset_and_counts_what_had_not_expired(store: MessageStore) -> None:
    done = store.front.delete_to(2 * SEGMENT_SIZE + 100, NOW_MS)
    assert store.log.min_offset == 2 * SEGMENT_SIZE
    assert (done.unexpired_segments, done.unexpired_from, done.unexpired_to) == (2, 0, 2 * SEGMENT_SIZE)
    assert store.front.delete_to(3 * SEGMENT_SIZE, NOW_MS + 7).unexpired_segments == 1
    total = store.front.deleted_unexpired
    assert (total.segments, total.size_bytes, total.at_ms) == (3, 3 * SEGMENT_SIZE, NOW_MS + 7)
    assert (total.from_offset, total.to_offset) == (2 * SEGMENT_SIZE, 3 * SEGMENT_SIZE)
    store.close()


def test_the_active_segment_and_what_is_not_on_disk_stay(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 1500)
    assert not store.front.delete_to(1 << 40, NOW_MS).paths
    flush_all(store)
    store.front.delete_to(1 << 40, NOW_MS)
    assert store.log.min_offset == store.log.max_offset // SEGMENT_SIZE * SEGMENT_SIZE
    store.close()


def test_an_empty_log_needs_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert store.front.unexpired_from(NOW_MS) == store.front.needed_from(NOW_MS) == 0
    assert store.front.plan(NOW_MS, hour=4, disk_usage_ratio=0.99) == 0
    assert not store.front.lacks_only_expired(NOW_MS)
    store.replica.append(b"", 3 * SEGMENT_SIZE)  # where a copy will begin
    assert store.front.unexpired_from(NOW_MS) == 3 * SEGMENT_SIZE
    store.close()


def test_messages_are_counted_between_offsets(store: MessageStore) -> None:
    units = [unit for queue in range(4) for unit in store.queues.units("Orders", queue, 0, 10_000)]
    units += [unit for queue in range(4) for unit in store.queues.units("Orders", queue, 100, 10_000)]
    offsets = {unit.commit_log_offset for unit in units}
    expected = sum(SEGMENT_SIZE <= offset < 2 * SEGMENT_SIZE for offset in offsets)
    assert sum(store.front.count_messages(SEGMENT_SIZE, 2 * SEGMENT_SIZE)) == expected > 0
    assert sum(store.front.count_messages(0, 1 << 40)) == 1500
    store.close()


def test_a_file_removed_by_hand_is_no_reason_to_delete(store: MessageStore, tmp_path: Path) -> None:
    _paths(tmp_path)[0].unlink()
    assert store.front.plan(LATER_MS, hour=4, disk_usage_ratio=0.5) == 0
    assert store.front.unexpired_from(NOW_MS) == 0
    store.close()


def test_a_kill_between_two_deletions_leaves_a_whole_log(store: MessageStore, tmp_path: Path) -> None:
    store.front.delete_to(SEGMENT_SIZE, NOW_MS)
    crash(store)
    _paths(tmp_path)[0].unlink()
    store = open_store(tmp_path)
    assert store.log.min_offset == 2 * SEGMENT_SIZE
    assert store.queues.min_offset("Orders", 0) > 0
    put(store, draft(1, topic="More"))
    store.close()

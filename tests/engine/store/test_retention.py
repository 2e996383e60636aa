"""Which segments go, and what goes with them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.store.message_store import MessageStore
from engine.store.options import RetentionRules
from engine.store.results import GetStatus
from engine.store.retention import SegmentAge, is_delete_hour, is_disk_writable, plan_expiry
from tests.engine.store.samples import (
    NOW_MS,
    SEGMENT_SIZE,
    draft,
    drain,
    expire,
    fill,
    flush_all,
    open_store,
    put,
    rebuild_queue,
)

HOUR_MS = 3_600_000
RULES = RetentionRules()


def _segments(*ages_hours: float) -> list[SegmentAge]:
    return [
        SegmentAge(n * 100, n * 100 + 100, NOW_MS - int(age * HOUR_MS)) for n, age in enumerate(ages_hours)
    ]


def _plan(segments: list[SegmentAge], **changes: object) -> int:
    arguments: dict[str, object] = {
        "now_ms": NOW_MS,
        "hour": 4,
        "disk_usage_ratio": 0.5,
        "settled_offset": 10_000,
    }
    rules = changes.pop("rules", RULES)
    return plan_expiry(segments, rules, **(arguments | changes))  # type: ignore[arg-type]


def test_expired_segments_go_at_the_hour_given() -> None:
    segments = _segments(100, 72, 71, 1)
    assert _plan(segments) == 2
    assert _plan(segments, hour=5) == 0
    assert _plan(segments, hour=5, manual=True) == 2


def test_expired_segments_go_at_any_hour_above_75_percent() -> None:
    segments = _segments(100, 72, 71, 1)
    assert _plan(segments, hour=5, disk_usage_ratio=0.75) == 0
    assert _plan(segments, hour=5, disk_usage_ratio=0.76) == 2


def test_young_segments_go_above_85_percent_only_if_forced() -> None:
    segments = _segments(2, 1, 0)
    assert _plan(segments, hour=5, disk_usage_ratio=0.85) == 0
    assert _plan(segments, hour=5, disk_usage_ratio=0.86) == 2
    assert _plan(segments, disk_usage_ratio=0.99, rules=RetentionRules(clean_file_forcibly_enable=False)) == 0


def test_the_active_segment_never_goes() -> None:
    assert _plan(_segments(1000)) == 0
    assert _plan(_segments(1000, 1000), disk_usage_ratio=1.0) == 1
    assert _plan([]) == 0


def test_at_most_ten_go_at_once() -> None:
    assert _plan(_segments(*[100.0] * 20)) == 10


def test_what_is_not_settled_stays() -> None:
    assert _plan(_segments(100, 100, 100), settled_offset=150) == 1


def test_ratios_are_clamped() -> None:
    assert _plan(
        _segments(100, 0), hour=5, disk_usage_ratio=0.5, rules=RetentionRules(disk_max_used_space_ratio=0)
    )
    assert is_disk_writable(RULES, 0.90) and not is_disk_writable(RULES, 0.91)
    assert not is_disk_writable(RetentionRules(disk_space_warning_level_ratio=100), 0.91)


def test_hours_are_a_list() -> None:
    assert is_delete_hour("04;16", 16) and is_delete_hour("04", 4)
    assert not is_delete_hour("04;16", 5) and not is_delete_hour("", 0)


@pytest.fixture
def old_store(tmp_path: Path) -> MessageStore:
    """2,000 messages in 4 queues, all segments but the last two long expired."""
    store = open_store(tmp_path)
    fill(store, 2000)
    flush_all(store)
    segments = sorted((tmp_path / "commitlog").iterdir())
    assert len(segments) > 4
    for path in segments:
        old = path in segments[:-2]
        os.utime(path, (0, (NOW_MS - (100 * HOUR_MS if old else 0)) / 1000))
    return store


def test_queues_and_index_follow_the_log(old_store: MessageStore, tmp_path: Path) -> None:
    dropped = expire(old_store, NOW_MS, 4, 0.5)
    log_min = old_store.log.min_offset
    assert log_min >= 3 * SEGMENT_SIZE
    assert f"{0:020d}" in {Path(path).name for path in dropped if "commitlog" in path}
    first = old_store.queues.min_offset("Orders", 0)
    assert first > 100 and not (tmp_path / "consumequeue" / "Orders" / "0" / f"{0:020d}").exists()
    unit = old_store.queues.units("Orders", 0, first, 1)[0]
    assert unit.commit_log_offset >= log_min
    too_small = old_store.queues.get("Orders", 0, first - 1, 32)
    assert (too_small.status, too_small.next_begin_offset) == (GetStatus.OFFSET_TOO_SMALL, first)
    assert drain(old_store) == list(range(first * 4, 2000, 4))
    assert any("index" in path for path in dropped)
    assert not old_store.search.query("Orders", "K0000001", 5, 0, NOW_MS * 2).offsets
    old_store.close()


def test_a_shortened_store_opens_again(old_store: MessageStore, tmp_path: Path) -> None:
    expire(old_store, NOW_MS, 4, 0.5)
    first = old_store.queues.min_offset("Orders", 1)
    old_store.close()
    store = open_store(tmp_path)
    assert store.queues.min_offset("Orders", 1) == first
    assert drain(store, queue_id=1) == list(range(first * 4 + 1, 2000, 4))
    store.close()


def test_a_queue_rebuilt_from_a_shortened_log_keeps_its_offsets(
    old_store: MessageStore, tmp_path: Path
) -> None:
    expire(old_store, NOW_MS, 4, 0.5)
    first = old_store.queues.min_offset("Orders", 1)
    rebuild_queue(old_store, "Orders", 1)
    assert old_store.queues.min_offset("Orders", 1) == first
    assert drain(old_store, queue_id=1) == list(range(first * 4 + 1, 2000, 4))
    old_store.close()


def test_a_queue_whose_messages_are_all_gone_can_be_cleaned_and_goes_on(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, draft(0, topic="Rare"))
    fill(store, 1500)
    flush_all(store)
    assert store.queues.delete_expired() == []
    assert expire(store, NOW_MS, 0, 0.99)
    assert store.queues.delete_expired() == [("Rare", 0)]
    assert not (tmp_path / "consumequeue" / "Rare").exists() and "Rare" not in store.queues.ids_by_topic()
    assert put(store, draft(7, topic="Rare")).queue_offset == 1
    store.close()
    store = open_store(tmp_path)
    assert store.queues.min_offset("Rare", 0) == 1 and drain(store, "Rare") == [7]
    store.close()


def test_nothing_goes_that_is_not_flushed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 1000)
    assert expire(store, NOW_MS, 4, 0.99) == []
    store.close()

"""Wheel and timer log: what is put under a second is found under it, also after a crash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.protocol.layouts.checkpoints import decode_timer_check, encode_timer_check
from engine.protocol.layouts.timer_files import (
    TIMER_DEFAULT,
    TIMER_LOG_UNIT_SIZE,
    WHEEL_FILE_SIZE,
    WHEEL_SLOTS,
)
from engine.store.timers.timer_store import TimerStore

NOW = 1_700_000_000_000
SMALL_FILE = TIMER_LOG_UNIT_SIZE * 4 + 20


def open_store(root: Path, *, was_closed: bool = True, now_ms: int = NOW) -> TimerStore:
    store = TimerStore(root, SMALL_FILE)
    store.open(now_ms, was_closed=was_closed)
    return store


def add(store: TimerStore, time_ms: int, *offsets: int) -> None:
    for offset in offsets:
        store.add(time_ms, TIMER_DEFAULT, offset, 100, 7, NOW)
        store.queue_offset += 1


def offsets(store: TimerStore, time_ms: int) -> list[int]:
    return [unit.commit_log_offset for unit in store.chain(time_ms)]


def sync(store: TimerStore) -> None:
    planned = store.plan_sync(0, 0)
    assert planned is not None
    planned.run()
    store.finish_sync(planned)


def test_nothing_is_on_disk_before_the_first_message(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert offsets(store, NOW) == []
    assert store.read_time_ms == NOW
    assert list(tmp_path.iterdir()) == []


def test_a_second_gives_its_messages_newest_first(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    add(store, NOW + 5000, 1, 2, 3)
    add(store, NOW + 6000, 4)
    assert offsets(store, NOW + 5000) == [3, 2, 1]
    assert offsets(store, NOW + 6000) == [4]
    assert offsets(store, NOW + 7000) == []
    assert (tmp_path / "timerwheel").stat().st_size == WHEEL_FILE_SIZE


def test_a_chain_goes_through_many_files(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    add(store, NOW + 5000, *range(23))
    assert offsets(store, NOW + 5000) == list(range(22, -1, -1))
    assert len(list((tmp_path / "timerlog").iterdir())) == 6


def test_another_round_of_the_wheel_finds_its_slot_empty(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    round_ms = WHEEL_SLOTS * 2 * 1000
    add(store, NOW, 1)
    assert offsets(store, NOW + round_ms) == []
    store.add(NOW + round_ms, TIMER_DEFAULT, 2, 100, 7, NOW + round_ms - 1000)
    assert offsets(store, NOW + round_ms) == [2]
    assert offsets(store, NOW) == []


def test_a_closed_store_goes_on_where_it_was(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    add(store, NOW + 5000, *range(9))
    store.read_time_ms = NOW + 2000
    sync(store)
    store.close()

    store = open_store(tmp_path, now_ms=NOW + 99_000)
    assert (store.read_time_ms, store.queue_offset) == (NOW + 2000, 9)
    add(store, NOW + 5000, 9)
    assert offsets(store, NOW + 5000) == list(range(9, -1, -1))


@pytest.mark.parametrize("was_closed", [True, False])
def test_what_a_crash_left_behind_the_check_is_forgotten(tmp_path: Path, was_closed: bool) -> None:
    store = open_store(tmp_path)
    add(store, NOW + 5000, *range(6))
    add(store, NOW + 1000, 6)
    store.read_time_ms = NOW + 2000
    sync(store)
    add(store, NOW + 5000, *range(7, 30))
    add(store, NOW + 8000, 30)
    store.close()

    store = open_store(tmp_path, was_closed=was_closed)
    assert store.queue_offset == 7
    assert offsets(store, NOW + 5000) == [5, 4, 3, 2, 1, 0]
    assert offsets(store, NOW + 8000) == []
    add(store, NOW + 5000, 7)
    assert offsets(store, NOW + 5000) == [7, 5, 4, 3, 2, 1, 0]


def test_a_torn_wheel_is_filled_from_the_log(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    add(store, NOW + 5000, 1, 2)
    sync(store)
    store.close()
    (tmp_path / "timerwheel").write_bytes(bytes(range(256)) * 1000)

    store = open_store(tmp_path, was_closed=False)
    assert offsets(store, NOW + 5000) == [2, 1]


def test_of_another_engines_check_only_the_time_counts(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    add(store, NOW + 5000, 1, 2)
    sync(store)
    store.close()
    path = tmp_path / "config" / "timercheck"
    theirs = replace(
        decode_timer_check(path.read_bytes()), last_read_time_ms=NOW + 3000, timer_queue_offset=2
    )
    path.write_bytes(encode_timer_check(theirs))

    store = open_store(tmp_path)
    assert (store.read_time_ms, store.delivered_before_ms) == (NOW + 3000, NOW + 3000)
    assert store.queue_offset == 0
    assert offsets(store, NOW + 5000) == []
    assert store.check.timer_log_flush_pos == 0


def test_nothing_is_noted_before_the_commit_log_is_on_disk(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    add(store, NOW + 5000, 1)
    assert store.plan_sync(log_end=500, kept_end=400) is None
    add(store, NOW + 5000, 2)
    planned = store.plan_sync(log_end=900, kept_end=500)
    assert planned is not None
    assert planned.check.timer_queue_offset == 1


def test_passing_time_alone_is_noted_now_and_then_only(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.read_time_ms += 10_000
    assert store.plan_sync(0, 0, slack_ms=10_000) is None
    store.read_time_ms += 1000
    assert store.plan_sync(0, 0, slack_ms=10_000) is not None


def test_files_of_long_ago_are_deleted(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    add(store, NOW + 5000, *range(10))
    store.add(NOW + 9000, TIMER_DEFAULT, 10, 100, 7, NOW + 4000)
    assert store.drop_before(NOW) == []
    assert len(store.drop_before(NOW + 1)) == 2
    assert offsets(store, NOW + 9000) == [10]

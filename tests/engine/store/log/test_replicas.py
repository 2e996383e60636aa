"""Taking a master's bytes, dropping a tail, becoming master."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.store.samples import (
    NOW_MS,
    SEGMENT_SIZE,
    crash,
    dispatch_all,
    draft,
    drain,
    drain_all,
    fill,
    flush,
    flush_all,
    open_store,
    put,
    tree_of,
)


def _log_bytes(root: Path, end: int) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((root / "commitlog").iterdir()))[:end]


@pytest.mark.parametrize("has_pool", [False, True])
def test_a_slave_has_its_masters_files(tmp_path: Path, has_pool: bool) -> None:
    master = open_store(tmp_path / "m")
    slave = open_store(tmp_path / "s", transient_store_pool_enable=has_pool)
    fill(master, 800)
    data = _log_bytes(tmp_path / "m", master.log.max_offset)
    for start in range(0, len(data), 1000):  # cut anywhere, as the wire does
        assert slave.replica.append(data[start : start + 1000], start)
        slave.flush.commit_transient()
        dispatch_all(slave)
    assert _log_bytes(tmp_path / "s", len(data)) == data
    assert not slave.replica.append(b"x", 5)
    assert tree_of(tmp_path / "m" / "consumequeue") == tree_of(tmp_path / "s" / "consumequeue")
    slave.replica.adopt_queue_offsets()
    assert put(slave, draft(800)).queue_offset == 200
    for store in (master, slave):
        store.close()


def test_a_slave_has_no_pages_read_ahead_that_it_overwrites(tmp_path: Path) -> None:
    master, slave = open_store(tmp_path / "m"), open_store(tmp_path / "s")
    slave.log.close_writes("a slave")
    fill(master, 1_600)
    data = _log_bytes(tmp_path / "m", master.log.max_offset)
    assert slave.replica.append(data, 0) and len(data) > 256 << 10
    assert slave.growth.plan_read_ahead() is None
    slave.log.open_writes()
    assert slave.growth.plan_read_ahead() is not None
    for store in (master, slave):
        store.close()


def test_a_new_slave_may_start_at_a_later_segment(tmp_path: Path) -> None:
    master, slave = open_store(tmp_path / "m"), open_store(tmp_path / "s")
    fill(master, 800, queues=1)
    data = _log_bytes(tmp_path / "m", master.log.max_offset)
    assert slave.replica.append(data[SEGMENT_SIZE:], SEGMENT_SIZE)
    dispatch_all(slave)
    assert slave.log.min_offset == SEGMENT_SIZE
    first = slave.queues.min_offset("Orders", 0)
    assert first > 0 and drain(slave) == list(range(first, 800))
    slave.close()
    slave = open_store(tmp_path / "s")
    assert slave.queues.min_offset("Orders", 0) == first and drain(slave) == list(range(first, 800))
    for store in (master, slave):
        store.close()


def test_a_truncated_tail_is_gone_everywhere_and_for_good(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    results = fill(store, 1000)
    flush_all(store)
    store.replica.truncate(results[300].commit_log_offset)
    assert drain_all(store) == list(range(300))
    assert not store.search.query("Orders", "K0000300", 5, 0, NOW_MS * 2).offsets
    assert store.search.query("Orders", "K0000299", 5, 0, NOW_MS * 2).offsets
    assert store.log.flushed_offset == store.log.max_offset == results[300].commit_log_offset
    crash(store)
    store = open_store(tmp_path)
    assert drain_all(store) == list(range(300))
    assert put(store, draft(300)).queue_offset == 75
    store.close()


def test_what_nothing_takes_back_is_on_disk_and_confirmed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    ends = [(result := put(store, draft(number))).commit_log_offset + result.size for number in range(3)]
    assert store.replica.kept_end == 0
    flush(store)
    assert store.replica.kept_end == ends[2]
    store.replica.confirmed_offset = ends[0]
    assert store.replica.kept_end == ends[0]
    store.replica.confirmed_offset = ends[2] + 1
    assert store.replica.kept_end == ends[2]
    store.close()

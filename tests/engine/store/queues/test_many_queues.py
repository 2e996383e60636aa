"""Descriptors are bounded, whatever the number of queues and segments."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.store.queues.descriptors import Descriptors
from tests.engine.store.samples import (
    crash,
    dispatch_all,
    draft,
    drain,
    fill,
    flush_all,
    open_store,
    put,
)


def _descriptor_count() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_many_queues_share_few_descriptors(tmp_path: Path) -> None:
    before = _descriptor_count()
    store = open_store(tmp_path, max_open_queue_files=20, max_mapped_segments=3)
    for n in range(1500):
        put(store, draft(n, topic=f"T{n % 10}", queue_id=n % 500))
    dispatch_all(store, max_records=1000)
    flush_all(store)
    assert _descriptor_count() - before <= 20 + 2 * 3 + 10
    assert sum(len(ids) for ids in store.queues.ids_by_topic().values()) == 500
    assert drain(store, "T7", 7) == [7, 507, 1007]
    crash(store)
    assert _descriptor_count() == before
    store = open_store(tmp_path, max_open_queue_files=20, max_mapped_segments=3)
    assert _descriptor_count() - before <= 20 + 2 * 3 + 10
    assert drain(store, "T9", 499) == [499, 999, 1499]
    store.close()


def test_unmapped_segments_are_still_read(tmp_path: Path) -> None:
    store = open_store(tmp_path, max_mapped_segments=2)
    results = fill(store, 1500, queues=1)
    flush_all(store)
    assert sum(file.map is not None for file in store._commit_log.files.files) <= 2
    assert drain(store) == list(range(1500))
    record = store.log.record_at(results[3].commit_log_offset)
    assert record is not None and record.queue_offset == 3
    store.close()


def test_the_least_recently_used_file_is_closed(tmp_path: Path) -> None:
    files = Descriptors(2)
    first = files.create(str(tmp_path / "a"), 100)
    second = files.create(str(tmp_path / "b"), 100)
    assert files.get(str(tmp_path / "a")) == first
    files.create(str(tmp_path / "c"), 100)
    assert len(files) == 2 and os.fstat(first).st_size == 100
    with pytest.raises(OSError):
        os.fstat(second)
    assert (tmp_path / "b").stat().st_size == 100
    files.close()
    assert len(files) == 0

"""Group commit, its order, and what happens when a sync fails."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from engine.protocol.batches import BatchItem
from engine.store.recovery.checkpoint import read_checkpoint
from engine.store.results import PutStatus
from tests.engine.store.samples import (
    NOW_MS,
    SEGMENT_SIZE,
    batch_of,
    crash,
    dispatch_all,
    draft,
    drain,
    fill,
    flush,
    flush_all,
    open_store,
    put,
)


def test_one_sync_serves_all_that_wait(tmp_path: Path) -> None:
    store = open_store(tmp_path, sync=True)
    put(store, draft(0))
    last = put(store, draft(1))
    plan = store.flush.plan_log(NOW_MS)
    assert plan is not None and plan.target_offset == last.commit_log_offset + last.size
    put(store, draft(2))
    plan.run()
    assert store.log.flushed_offset == 0
    store.flush.finish(plan, None)
    assert store.log.flushed_offset == plan.target_offset < store.log.max_offset
    store.close()


def test_one_flush_runs_at_a_time(tmp_path: Path) -> None:
    store = open_store(tmp_path, sync=True)
    put(store, draft(0))
    plan = store.flush.plan_log(NOW_MS)
    assert plan is not None and store.flush.plan_log(NOW_MS) is None
    plan.run()
    store.flush.finish(plan, None)
    assert store.flush.plan_log(NOW_MS, force=True) is None
    store.close()


def test_async_flush_waits_for_four_pages_or_ten_seconds(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, draft(0))
    flush(store)
    put(store, draft(1))
    assert store.flush.plan_log(NOW_MS + 500) is None
    assert store.flush.plan_log(NOW_MS + 10_000) is not None
    crash(store)


def test_async_flush_takes_four_pages_at_once(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, draft(0))
    flush(store)
    for n in range(4):
        put(store, draft(n, body_size=4096))
    assert store.flush.plan_log(NOW_MS + 1) is not None
    crash(store)


def test_a_flush_covers_every_segment_since_the_last(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 1000)
    plan = store.flush.plan_log(NOW_MS, force=True)
    assert plan is not None
    assert [file.base_offset for file in plan.files] == list(range(0, store.log.max_offset, SEGMENT_SIZE))
    assert plan.directory_fd >= 0
    plan.run()
    store.flush.finish(plan, None)
    assert [file.fd >= 0 for file in plan.files] == [False] * (len(plan.files) - 1) + [True]
    store.close()


def test_a_failed_sync_fences_the_store_for_good(tmp_path: Path) -> None:
    store = open_store(tmp_path, sync=True)
    put(store, draft(0))
    flush(store)
    dispatch_all(store)
    put(store, draft(1))
    plan = store.flush.plan_log(NOW_MS)
    assert plan is not None
    flushed = store.log.flushed_offset
    store.flush.finish(plan, OSError(errno.EIO, "Input/output error"))
    assert store.log.is_fenced and store.log.flushed_offset == flushed
    assert store.log.put(draft(2), NOW_MS).status is PutStatus.FENCED
    assert store.log.put_batch(draft(2), batch_of(BatchItem(0, b"", b"")), NOW_MS).status is PutStatus.FENCED
    assert store.flush.plan_log(NOW_MS, force=True) is None and store.flush.plan_queues() is None
    assert not store.replica.append(b"", store.log.max_offset)
    assert drain(store) == [0]
    store.close()
    assert (tmp_path / "abort").exists()


def test_a_sync_really_reaches_the_descriptor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(tmp_path, sync=True)
    put(store, draft(0))
    plan = store.flush.plan_log(NOW_MS)
    assert plan is not None
    synced: list[str] = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    plan.run()
    assert synced == [str(tmp_path / "commitlog" / "00000000000000000000")]
    store.flush.finish(plan, None)
    monkeypatch.undo()
    store.close()


def test_the_checkpoint_is_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(tmp_path)
    fill(store, 10)
    flush(store)
    plan = store.flush.plan_queues()
    assert plan is not None
    synced: list[str] = []
    for name in ("fdatasync", "fsync"):
        monkeypatch.setattr(os, name, lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    plan.run()
    monkeypatch.undo()
    store.flush.finish(plan, None)
    assert synced[-1] == str(tmp_path / "checkpoint")
    queue_files = {str(path) for path in (tmp_path / "consumequeue").rglob("*")}
    index_files = {str(path) for path in (tmp_path / "index").iterdir()}
    assert queue_files | index_files | {str(tmp_path / "consumequeue"), str(tmp_path / "index")} <= set(
        synced
    )
    store.close()


def test_the_checkpoint_tells_what_is_on_disk(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 10)
    flush_all(store)
    put(store, draft(10), NOW_MS + 10)
    dispatch_all(store)
    plan = store.flush.plan_queues()
    assert plan is not None
    plan.run()
    store.flush.finish(plan, None)
    page = read_checkpoint(tmp_path / "checkpoint", NOW_MS)
    assert page.offsets is not None and page.times is not None
    assert page.offsets.flushed_offset == store.log.flushed_offset < page.offsets.dispatched_offset
    assert page.offsets.dispatched_offset == store.queues.dispatched_offset
    assert page.times.physic_msg_timestamp == NOW_MS + 9
    assert page.times.logics_msg_timestamp == NOW_MS + 10
    assert store.flush.plan_queues() is None
    store.close()


def test_running_out_of_descriptors_does_not_fence(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 10)
    plan = store.flush.plan_queues()
    assert plan is not None
    store.flush.finish(plan, OSError(errno.EMFILE, "Too many open files"))
    assert not store.log.is_fenced
    again = store.flush.plan_queues()
    assert again is not None and again.paths >= plan.paths
    store.flush.finish(again, OSError(errno.EIO, "Input/output error"))
    assert store.log.is_fenced
    store.close()

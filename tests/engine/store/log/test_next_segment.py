"""Segments made ready ahead of need."""

from __future__ import annotations

import threading
from pathlib import Path

from engine.store.log.next_segment import NextSegment
from tests.engine.store.samples import SEGMENT_SIZE, crash, draft, fill, open_store, put


def test_a_roll_takes_the_prepared_segment(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert not store.growth.needs_segment()
    for n in range(5):
        put(store, draft(n, body_size=8000))
    assert store.growth.needs_segment()
    thread = threading.Thread(target=store.growth.prepare_segment)
    thread.start()
    thread.join()
    assert not store.growth.needs_segment()
    prepared = next(tmp_path.glob("prepared-*.tmp"))
    inode = prepared.stat().st_ino
    for n in range(5):
        put(store, draft(n, body_size=8000))
    assert (tmp_path / "commitlog" / f"{SEGMENT_SIZE:020d}").stat().st_ino == inode
    store.close()


def test_a_prepared_segment_leaves_no_trace(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 3)
    store.growth.prepare_segment()
    store.close()
    assert not list(tmp_path.glob("prepared-*"))
    store = open_store(tmp_path)
    store.growth.prepare_segment()
    store._commit_log.next_segment._ready = None  # killed: nobody tidies up
    crash(store)
    assert list(tmp_path.glob("prepared-*"))
    open_store(tmp_path).close()
    assert not list(tmp_path.glob("prepared-*"))
    assert [path.name for path in (tmp_path / "commitlog").iterdir()] == [f"{0:020d}"]


def test_two_preparations_leave_one(tmp_path: Path) -> None:
    folder = tmp_path / "commitlog"
    folder.mkdir()
    segment = NextSegment(folder, SEGMENT_SIZE, SEGMENT_SIZE)
    assert segment.prepare() and not segment.prepare()
    file = segment.take()
    assert file.path.stat().st_size == SEGMENT_SIZE and file.path.stat().st_blocks * 512 >= SEGMENT_SIZE
    file.close()
    segment.close()
    assert not segment.prepare()

"""Pages ahead of a growing log."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

from engine.store.log.log_growth import LogGrowth
from engine.store.message_store import MessageStore
from tests.engine.store.samples import draft, open_store, put

SEGMENT_SIZE = 4 << 20


def grow(store: MessageStore, size_bytes: int) -> None:
    end = store.log.max_offset + size_bytes
    while store.log.max_offset < end:
        put(store, draft(body_size=16_000))


def resident_bytes(path: Path) -> int:
    """How much of the file is in memory, as the kernel tells it for a fresh map."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        pages = (ctypes.c_ubyte * (len(mapped) // 4096))()
        address = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
        assert ctypes.CDLL(None).mincore(ctypes.c_void_p(address), ctypes.c_size_t(len(mapped)), pages) == 0
        return 4096 * sum(page & 1 for page in pages)


def test_it_looks_ahead_as_far_as_the_log_has_grown(tmp_path: Path) -> None:
    store = open_store(tmp_path, mapped_file_size_commit_log=SEGMENT_SIZE, pretouch_bytes=2 << 20)
    growth = LogGrowth(store._commit_log, store.log, 2 << 20)
    assert growth.plan_read_ahead() is None
    grow(store, 300 << 10)
    plan = growth.plan_read_ahead()
    assert plan is not None and growth._reached - store.log.max_offset >= 1200 << 10
    plan()
    assert growth.plan_read_ahead() is None, "it has not grown since"
    grow(store, 300 << 10)
    assert growth.plan_read_ahead() is not None, "what is new only"
    store.close()


def test_it_ends_with_the_segment_and_begins_with_the_next(tmp_path: Path) -> None:
    store = open_store(tmp_path, mapped_file_size_commit_log=SEGMENT_SIZE, pretouch_bytes=64 << 20)
    growth = LogGrowth(store._commit_log, store.log, 64 << 20)
    grow(store, 3 << 20)
    plan = growth.plan_read_ahead()
    assert plan is not None and growth._reached == SEGMENT_SIZE
    plan()
    grow(store, 1 << 20)
    assert growth.plan_read_ahead() is not None and growth._reached == 2 * SEGMENT_SIZE
    store.close()


def test_pages_are_there_afterwards_and_hold_what_they_held(tmp_path: Path) -> None:
    store = open_store(tmp_path, mapped_file_size_commit_log=64 << 20)
    grow(store, 1 << 20)
    file = store._commit_log.files.last
    assert file is not None
    before = file.read(0, 1 << 20)
    file.read_ahead(0, 64 << 20)
    assert resident_bytes(file.path) > 32 << 20
    assert file.read(0, 1 << 20) == before
    assert not any(file.read(store.log.max_offset, 1 << 20))
    store.close()


def test_advice_on_a_file_that_is_gone_is_no_error(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, draft())
    file = store._commit_log.files.last
    assert file is not None
    file.path.rename(tmp_path / "elsewhere")
    file.read_ahead(0, 4096)
    (tmp_path / "elsewhere").rename(file.path)
    store.close()


def test_nothing_is_done_for_a_transient_pool(tmp_path: Path) -> None:
    store = open_store(tmp_path, mapped_file_size_commit_log=SEGMENT_SIZE, transient_store_pool_enable=True)
    grow(store, 1 << 20)
    assert store.growth.plan_read_ahead() is None
    store.close()

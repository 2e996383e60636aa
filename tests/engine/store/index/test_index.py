"""The hash index: its bytes, its search, its recovery."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from engine.protocol.hashes import index_key_hash
from engine.protocol.layouts.store_files import INDEX_KEY, index_file_name
from engine.store.index.index import Index
from engine.store.index.index_file import IndexFile
from tests.engine.store.samples import (
    NOW_MS,
    crash,
    dispatch_all,
    draft,
    fill,
    flush_all,
    open_store,
    overwrite,
    put,
)

ALWAYS = (0, (1 << 63) - 1)


def packed(keys: list[tuple[int, int, int]]) -> bytes:
    """Key hash, commit log offset, store time."""
    return b"".join(INDEX_KEY.pack(*key) for key in keys)


def _file(tmp_path: Path, slots: int = 10, entries: int = 20) -> IndexFile:
    return IndexFile(tmp_path / "20240101000000000", slots, entries)


def test_the_bytes_of_two_entries_in_one_slot(tmp_path: Path) -> None:
    file = _file(tmp_path)
    assert file.put(packed([(13, 1000, NOW_MS), (23, 2000, NOW_MS + 2500)])) == 2
    file.close()
    data = (tmp_path / "20240101000000000").read_bytes()
    assert len(data) == 40 + 10 * 4 + 20 * 20
    assert data[:40] == struct.pack(">qqqqii", NOW_MS, NOW_MS + 2500, 1000, 2000, 1, 3)
    assert data[40:80] == struct.pack(">10i", 0, 0, 0, 2, 0, 0, 0, 0, 0, 0)
    assert data[80:100] == bytes(20)  # entry 0 is never used
    assert data[100:140] == struct.pack(">iqii", 13, 1000, 0, 0) + struct.pack(">iqii", 23, 2000, 2, 1)
    assert not any(data[140:])


def test_a_chain_is_walked_newest_first_and_compares_hashes(tmp_path: Path) -> None:
    file = _file(tmp_path)
    file.put(packed([(3, 100, NOW_MS), (13, 200, NOW_MS)]))
    file.put(packed([(3, 300, NOW_MS + 9000)]))
    assert file.find(3, 10, *ALWAYS) == [300, 100]
    assert file.find(3, 1, *ALWAYS) == [300]
    assert file.find(3, 10, NOW_MS + 5000, NOW_MS + 9000) == [300]
    assert file.find(4, 10, *ALWAYS) == []
    file.close()


def test_a_full_file_takes_no_more(tmp_path: Path) -> None:
    file = _file(tmp_path, entries=4)
    assert file.put(packed([(n, n, NOW_MS) for n in range(9)])) == 3
    assert file.is_full and file.put(packed([(1, 99, NOW_MS)])) == 0
    file.close()


def test_a_chain_that_does_not_go_back_ends(tmp_path: Path) -> None:
    file = _file(tmp_path)
    file.put(packed([(3, 100, NOW_MS)]))
    overwrite(tmp_path / "20240101000000000", 100 + 16, struct.pack(">i", 1))
    assert file.find(3, 10, *ALWAYS) == [100]
    file.close()


def test_a_cut_rebuilds_the_slots(tmp_path: Path) -> None:
    file = _file(tmp_path)
    file.put(
        packed([(3, 100, NOW_MS), (13, 200, NOW_MS + 1000), (4, 250, NOW_MS + 2000), (3, 300, NOW_MS + 3000)])
    )
    overwrite(tmp_path / "20240101000000000", 40 + 3 * 4, struct.pack(">i", 19))
    file.cut(250)
    assert file.find(3, 10, *ALWAYS) == [100] and file.find(13, 10, *ALWAYS) == [200]
    assert file.find(4, 10, *ALWAYS) == []
    assert (file.header.index_count, file.header.slot_count, file.header.end_commit_log_offset) == (3, 1, 200)
    file.put(packed([(4, 260, NOW_MS + 4000)]))
    assert file.find(4, 10, *ALWAYS) == [260]
    file.close()


def test_a_new_file_follows_a_full_one(tmp_path: Path) -> None:
    index = Index(tmp_path, 10, 5)
    index.load()
    index.put(packed([(n, n * 10, NOW_MS + n) for n in range(10)]))
    assert [file.path.name for file in index.files] == [index_file_name(NOW_MS + n) for n in (0, 4, 8)]
    assert index.find(3, 10, *ALWAYS) == [30] and index.find(9, 10, *ALWAYS) == [90]
    assert index.last_update == (NOW_MS + 9, 90)
    assert len(index.drop_expired(35)) == 1
    index.close()


def test_file_names_stay_in_order_when_times_do_not_move(tmp_path: Path) -> None:
    index = Index(tmp_path, 10, 3)
    index.load()
    index.put(packed([(n, n, NOW_MS) for n in range(8)]))
    names = [file.path.name for file in index.files]
    assert len(names) == 4 and names == sorted(set(names))
    index.close()


def test_messages_are_found_by_unique_key_and_by_each_key(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    wanted = put(store, draft(1, KEYS="alpha beta"))
    put(store, draft(2, KEYS="beta"))
    put(store, draft(3, topic="Other", KEYS="alpha"))
    dispatch_all(store)
    for key in ("alpha", "K0000001"):
        assert store.search.query("Orders", key, 32, *ALWAYS).offsets == (wanted.commit_log_offset,)
    both = store.search.query("Orders", "beta", 32, *ALWAYS)
    assert len(both.offsets) == 2
    assert both.records[1] == store.log.raw_record_at(wanted.commit_log_offset, wanted.size)
    assert both.index_last_update_timestamp == NOW_MS
    assert store.search.query("Orders", "beta", 1, *ALWAYS).offsets == both.offsets[:1]
    assert store.search.query("Orders", "gamma", 32, *ALWAYS).offsets == ()
    store.close()


def test_another_key_of_the_same_hash_is_not_returned(tmp_path: Path) -> None:
    assert index_key_hash("Orders", "Aa") == index_key_hash("Orders", "BB")
    store = open_store(tmp_path)
    put(store, draft(1, KEYS="Aa"))
    dispatch_all(store)
    assert store.search.query("Orders", "Aa", 32, *ALWAYS).offsets
    assert not store.search.query("Orders", "BB", 32, *ALWAYS).offsets
    store.close()


def test_a_query_is_bounded_in_time_and_number(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for n in range(100):
        put(store, draft(n, KEYS="k"), NOW_MS + n * 1000)
    dispatch_all(store)
    assert len(store.search.query("Orders", "k", 1000, *ALWAYS).offsets) == 64
    assert len(store.search.query("Orders", "k", 1000, NOW_MS + 10_000, NOW_MS + 12_000).offsets) == 3
    store.close()


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("kind", ["header", "length", "slots"])
def test_a_damaged_index_is_rebuilt(tmp_path: Path, kind: str, closed: bool) -> None:
    store = open_store(tmp_path)
    fill(store, 300)
    flush_all(store)
    store.close() if closed else crash(store)
    path = next((tmp_path / "index").iterdir())
    if kind == "header":
        overwrite(path, 36, b"\x7f")
    elif kind == "length":
        path.write_bytes(path.read_bytes()[:500])
    elif not closed:
        overwrite(path, 40, b"\x00\x00\x00\x05" * 100)
    store = open_store(tmp_path)
    for number in (0, 150, 299):
        assert len(store.search.query("Orders", f"K{number:07d}", 5, *ALWAYS).offsets) == 1
    store.close()


def test_a_crash_before_the_checkpoint_leaves_every_key_found_once(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 100)
    flush_all(store)
    fill(store, 100, start=100)
    crash(store)
    store = open_store(tmp_path)
    fill(store, 10, start=200)
    index = store._index
    assert index is not None
    for number in range(210):
        key_hash = index_key_hash("Orders", f"K{number:07d}")
        assert len(set(index.find(key_hash, 64, *ALWAYS))) == len(index.find(key_hash, 64, *ALWAYS)) == 1
    store.close()


def test_without_an_index_nothing_is_found(tmp_path: Path) -> None:
    store = open_store(tmp_path, message_index_enable=False)
    fill(store, 5)
    assert store.search.query("Orders", "K0000001", 5, *ALWAYS).offsets == ()
    assert not (tmp_path / "index").exists()
    store.close()

"""Reads by place and by time."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.protocol.hashes import index_key_hash
from engine.protocol.records import decode_record
from engine.store.message_store import MessageStore
from tests.engine.store.samples import NOW_MS, dispatch_all, draft, open_store, put


@pytest.fixture
def store(tmp_path: Path) -> MessageStore:
    """Store times 100, 200, 200, 300, 400."""
    store = open_store(tmp_path)
    for n, moment in enumerate((100, 200, 200, 300, 400)):
        put(store, draft(n), moment)
    dispatch_all(store)
    return store


@pytest.mark.parametrize(
    ("moment", "lower", "upper"),
    [(0, 0, 0), (99, 0, 0), (100, 0, 0), (150, 1, 0), (200, 1, 2), (250, 3, 2), (400, 4, 4), (401, 5, 4)],
)
def test_search_by_time(store: MessageStore, moment: int, lower: int, upper: int) -> None:
    assert store.search.offset_by_time("Orders", 0, moment) == lower
    assert store.search.offset_by_time("Orders", 0, moment, upper=True) == upper
    store.close()


def test_store_times(store: MessageStore) -> None:
    assert store.search.earliest_store_time("Orders", 0) == 100
    assert store.search.store_time_at("Orders", 0, 3) == 300
    assert store.search.store_time_at("Orders", 0, 5) == -1
    assert store.search.store_time_at("Nothing", 0, 0) == -1
    assert store.search.offset_by_time("Nothing", 0, 5) == 0
    store.close()


def test_a_born_host_of_16_bytes_moves_the_store_time(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, draft(0)._replace(born_host=bytes(15) + b"\x01\x00\x00\x10\x00"), NOW_MS + 7)
    dispatch_all(store)
    assert store.search.store_time_at("Orders", 0, 0) == NOW_MS + 7
    record = store.log.record_at(0)
    assert record is not None and record.born_host == ("::1", 4096)
    store.close()


def test_only_the_start_of_a_record_is_a_record(store: MessageStore) -> None:
    first = store.log.raw_record_at(0)
    assert first is not None
    assert store.log.raw_record_at(0, len(first)) == first
    assert store.log.raw_record_at(0, len(first) - 1) is None
    for offset in (-1, 1, 84, len(first) - 1, store.log.max_offset, 1 << 62):
        assert store.log.raw_record_at(offset) is None
        assert store.log.plan_record(offset)() is None
    assert store.log.plan_record(0)() == first
    store.close()


def test_a_record_inside_a_body_is_not_a_record(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, draft(0))
    inner = store.log.raw_record_at(0)
    assert inner is not None
    outer = put(store, draft(1)._replace(body=inner))
    data = store.log.raw_record_at(outer.commit_log_offset)
    assert data is not None
    assert store.log.raw_record_at(outer.commit_log_offset + data.index(inner)) is None
    store.close()


FOREVER_MS = (1 << 63) - 1


def search_all(store: MessageStore, key: str, page: int = 64) -> list[int]:
    """The queue offsets of all messages with the key, page by page."""
    found: list[int] = []
    continuation: str | None = None
    while True:
        result = store.search.plan("Orders", key, page, 0, FOREVER_MS, continuation).run()
        assert len(result.records) <= min(page, 64)
        found += [decode_record(record).queue_offset for record in result.records]
        continuation = result.continuation
        if continuation is None:
            return found


def test_equal_hashes_never_mix_and_never_crowd_each_other_out(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for n in range(200):
        put(store, draft(n, KEYS="BB" if n % 4 else "Aa"))
    dispatch_all(store)
    assert index_key_hash("Orders", "Aa") == index_key_hash("Orders", "BB")
    first = store.search.query("Orders", "Aa", 50, 0, FOREVER_MS)
    assert {decode_record(record).keys[0] for record in first.records} == {"Aa"}
    assert len(first.records) == 50
    assert search_all(store, "BB") == [n for n in range(199, -1, -1) if n % 4]
    store.close()


@pytest.mark.parametrize("page", [1, 7, 64, 1000])
def test_a_search_goes_on_where_it_stopped_across_files(tmp_path: Path, page: int) -> None:
    store = open_store(tmp_path, max_index_num=100)
    for n in range(150):
        put(store, draft(n, KEYS="order" if n % 2 else "order other"))
    dispatch_all(store)
    assert search_all(store, "order", page) == list(range(149, -1, -1))
    store.close()


def test_what_comes_during_a_search_does_not_disturb_it(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for n in range(10):
        put(store, draft(n, KEYS="order"))
    dispatch_all(store)
    first = store.search.query("Orders", "order", 4, 0, FOREVER_MS)
    put(store, draft(10, KEYS="order"))
    dispatch_all(store)
    rest = store.search.plan("Orders", "order", 64, 0, FOREVER_MS, first.continuation).run()
    assert [decode_record(record).queue_offset for record in rest.records] == [5, 4, 3, 2, 1, 0]
    store.close()


@pytest.mark.parametrize(
    "forged", ["x", "-", "zzz-5", "0-99999", "20240101000000000--1", "a-b-c", "5-" + "9" * 30]
)
def test_a_forged_continuation_finds_nothing_wrong(tmp_path: Path, forged: str) -> None:
    store = open_store(tmp_path)
    put(store, draft(0, KEYS="order"))
    put(store, draft(1, KEYS="other"))
    dispatch_all(store)
    found = store.search.plan("Orders", "order", 64, 0, FOREVER_MS, forged).run()
    assert {decode_record(record).queue_offset for record in found.records} <= {0}
    store.close()


def test_a_planned_search_finds_what_was_there_whatever_comes_before_it_runs(tmp_path: Path) -> None:
    store = open_store(tmp_path, max_index_num=40)
    for n in range(30):
        put(store, draft(n, KEYS="order"))
    dispatch_all(store)
    search = store.search.plan("Orders", "order", 64, 0, FOREVER_MS)
    for n in range(30, 60):
        put(store, draft(n, KEYS="order"))
    dispatch_all(store)
    found = [decode_record(record).queue_offset for record in search.run().records]
    assert found == list(range(29, -1, -1))
    store.close()


def test_a_planned_search_passes_over_files_that_are_gone(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, draft(0, KEYS="order"))
    dispatch_all(store)
    search, read = store.search.plan("Orders", "order", 64, 0, FOREVER_MS), store.log.plan_record(0)
    for file in (tmp_path / "commitlog").iterdir():
        file.unlink()
    assert search.run().records == ()
    assert read() is None
    for file in (tmp_path / "index").iterdir():
        file.unlink()
    assert search.run().records == ()
    store.close()

"""Where a log ends: closed stores, torn tails, cut files."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import CorruptRecord
from spark.sources.files import listed
from spark.sources.log_end import find_log_end, last_boundary
from spark.sources.segments import Segment, find_segments
from tests.spark.sources.written import START_MS, Sent, Written, look, offsets_in

sizes = st.lists(st.integers(0, 900), min_size=1, max_size=40)


def written(folder: str | Path, body_sizes: list[int]) -> Written:
    messages = [
        Sent(body=b"x" * size, store_ms=START_MS + number, properties={"KEYS": f"k{number}"})
        for number, size in enumerate(body_sizes)
    ]
    return Written(Path(folder)).write(messages)


def segments_of(store: Written) -> tuple[Segment, ...]:
    folder = str(store.root / "commitlog")
    return find_segments(folder, listed(folder) or {})


@given(sizes)
def test_a_closed_log_ends_behind_its_last_record(body_sizes: list[int]) -> None:
    with TemporaryDirectory() as folder:
        store = written(folder, body_sizes)
        assert find_log_end(segments_of(store), was_closed=True) == store.end_offset


@given(sizes, st.data())
def test_the_last_boundary_before_any_place_is_where_a_record_ends(
    body_sizes: list[int], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        store = written(folder, body_sizes)
        limit = data.draw(st.integers(1, store.end_offset))
        found = last_boundary(segments_of(store), limit)
        ends = {0, limit} | {record.commit_log_offset + record.size for record in store.records}
        starts = {record.commit_log_offset for record in store.records}
        assert found in ends | starts
        inside = [r for r in store.records if r.commit_log_offset < limit < r.commit_log_offset + r.size]
        if inside:
            assert found == inside[0].commit_log_offset


@given(sizes, st.integers(0, 40))
def test_a_log_known_by_time_ends_behind_what_was_stored_by_then(body_sizes: list[int], after: int) -> None:
    with TemporaryDirectory() as folder:
        store = written(folder, body_sizes)
        last_ms = START_MS + after
        found = find_log_end(segments_of(store), was_closed=False, last_ms=last_ms)
        young = [record.commit_log_offset for record in store.records if record.store_timestamp > last_ms]
        kept = [r.commit_log_offset + r.size for r in store.records if r.store_timestamp <= last_ms]
        assert found in {young[0] if young else store.end_offset, kept[-1], find_blank_end(store, kept[-1])}


def find_blank_end(store: Written, offset: int) -> int:
    """The end of the segment, when only its blank follows."""
    return -(-offset // store.segment_bytes) * store.segment_bytes


@given(sizes, st.data())
def test_whatever_a_torn_page_leaves_is_never_a_row(body_sizes: list[int], data: st.DataObject) -> None:
    """Zeros from any byte of the unflushed tail up to the end of a page, as a lost page leaves them."""
    with TemporaryDirectory() as folder:
        store = written(folder, body_sizes)
        last = store.records[-1]
        torn_at = data.draw(st.integers(last.commit_log_offset, last.commit_log_offset + last.size - 1))
        store.patch(torn_at, bytes(store.end_offset - torn_at))
        store.crash(0, 0)
        (log,) = look(store.root, end="log")
        whole = [record.commit_log_offset for record in store.records[:-1]]
        assert offsets_in(log) == whole


@given(sizes, st.data())
def test_a_hole_in_the_unflushed_tail_ends_the_log(body_sizes: list[int], data: st.DataObject) -> None:
    """After a power loss later pages may have survived: a log is a prefix or nothing."""
    with TemporaryDirectory() as folder:
        store = written(folder, body_sizes)
        victim = data.draw(st.sampled_from(store.records))
        store.patch(victim.commit_log_offset, bytes(min(victim.size, 64)))
        store.crash(0, 0)
        (log,) = look(store.root, end="log")
        in_front = [
            r.commit_log_offset for r in store.records if r.commit_log_offset < victim.commit_log_offset
        ]
        found = offsets_in(log, is_strict=False)
        segment = victim.commit_log_offset // store.segment_bytes
        if segment == (len(store.log) - 1) // store.segment_bytes:
            assert found == in_front


def test_a_file_cut_inside_a_record_is_named(tmp_path: Path) -> None:
    store = written(tmp_path, [100] * 10)
    last = store.records[-1].commit_log_offset
    path = store.path_at(last)
    path.write_bytes(path.read_bytes()[: last + 150])
    for was_closed in (True, False):
        with pytest.raises(CorruptRecord, match=f"{path} is cut: the record at {last} ends behind it"):
            find_log_end(segments_of(store), was_closed=was_closed)
    assert find_log_end(segments_of(store), was_closed=True, is_strict=False) == last


def test_an_empty_log_ends_where_it_begins(tmp_path: Path) -> None:
    assert find_log_end((), was_closed=True) == 0
    store = Written(tmp_path, start=8192).write([])
    assert find_log_end(segments_of(store), was_closed=True) == 8192

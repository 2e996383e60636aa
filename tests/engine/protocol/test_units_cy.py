"""Spans of everyday pulls: one suite for the Python source and for what the compiler made of it."""

from __future__ import annotations

import struct
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol import _units_cy as installed
from engine.protocol.layouts.store_files import CQ_BLANK
from tests.engine.protocol.ways import ways_of

READERS = ways_of(installed)
each_reader = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)


def units(*places: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">qiq", offset, size, -1) for offset, size in places)


def test_the_pure_reader_is_not_compiled() -> None:
    assert not READERS["pure"].is_compiled() and not READERS["without_cython"].is_compiled()


@each_reader
def test_neighbours_are_one_span(reader: ModuleType) -> None:
    found = units((1 << 40, 10), ((1 << 40) + 10, 5), ((1 << 40) + 99, 1), ((1 << 40) + 100, 2))
    first = 1 << 40
    assert reader.plain_spans(found, 0, 1000) == ([first, first + 15, first + 99, first + 102], 18)
    assert reader.plain_spans(units((0, 7)), 0, 7) == ([0, 7], 7)


@each_reader
@pytest.mark.parametrize(
    ("found", "hot_from", "max_bytes"),
    [
        (b"", 0, 100),
        (units((9, 5)), 10, 100),
        (units((10, 50), (60, 51)), 0, 100),
        (units((10, 5), (15, 0)), 0, 100),
        (units((10, 5), (15, -5)), 0, 100),
        (units((-1, 5)), -9, 100),
        (units((2**63 - 1, 5)), 0, 100),
        (units((10, 5)) + CQ_BLANK, 0, 1 << 30),
    ],
)
def test_what_is_not_everyday_is_left_to_others(
    reader: ModuleType, found: bytes, hot_from: int, max_bytes: int
) -> None:
    assert reader.plain_spans(found, hot_from, max_bytes) is None


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 40)), max_size=40),
    st.integers(0, 60),
    st.integers(0, 900),
)
def test_all_ways_agree_with_the_plainest(steps: list[tuple[int, int]], hot_from: int, most: int) -> None:
    places, end = [], 50
    for gap, size in steps:
        places.append((end + gap, size))
        end += gap + max(size, 0)
    sizes = [size for _, size in places]
    is_plain = places and places[0][0] >= hot_from and min(sizes) > 0 and sum(sizes) <= most
    bytes_of = [at for offset, size in places for at in range(offset, offset + size)]
    for reader in READERS.values():
        found = reader.plain_spans(units(*places), hot_from, most)
        assert (found is not None) == bool(is_plain)
        if found is not None:
            spans, total = found
            edges = list(zip(spans[::2], spans[1::2], strict=True))
            assert [at for start, stop in edges for at in range(start, stop)] == bytes_of
            assert total == sum(sizes) and spans == sorted(set(spans))

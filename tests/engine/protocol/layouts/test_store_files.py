"""Golden bytes of the files around the commit log."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadInput, CorruptRecord
from engine.protocol.layouts.store_files import (
    CQ_BLANK,
    CQ_UNIT,
    CQ_UNIT_SIZE,
    INDEX_ENTRY,
    IndexHeader,
    decode_index_header,
    encode_index_header,
    index_file_name,
    index_file_size,
    is_ext_address,
    parse_index_file_name,
    parse_segment_name,
    segment_name,
)


@pytest.mark.parametrize(
    ("offset", "name"),
    [
        (0, "00000000000000000000"),
        (1073741824, "00000000001073741824"),
        (2**63 - 1, "09223372036854775807"),
    ],
)
def test_a_segment_is_named_by_its_first_offset(offset: int, name: str) -> None:
    assert segment_name(offset) == name
    assert parse_segment_name(name) == offset


@pytest.mark.parametrize(
    "name",
    ["", "0", "0" * 19, "0" * 21, "0" * 16 + ".tmp", "-" + "0" * 19, "٣" * 20, "09223372036854775808"],
)
def test_other_files_are_no_segments(name: str) -> None:
    assert parse_segment_name(name) is None


@pytest.mark.parametrize("offset", [-1, 1 << 63])
def test_no_segment_starts_at_an_impossible_offset(offset: int) -> None:
    with pytest.raises(BadInput):
        segment_name(offset)


def test_an_index_file_is_named_by_its_local_time() -> None:
    created_ms = int(datetime(2024, 1, 31, 23, 59, 58).timestamp()) * 1000 + 7
    assert index_file_name(created_ms) == "20240131235958007"
    assert parse_index_file_name("20240131235958007") == created_ms


@pytest.mark.parametrize("name", ["", "2024013123595800", "20241331235958007", "2024013123595800x", "٣" * 17])
def test_other_files_are_no_index(name: str) -> None:
    assert parse_index_file_name(name) is None


UNIT = bytes.fromhex("0000000000001000 0000007c ffffffff80000000")


def test_a_unit_is_20_bytes_with_a_signed_tags_code() -> None:
    assert CQ_UNIT_SIZE == 20
    assert CQ_UNIT.pack(4096, 124, -(2**31)) == UNIT
    assert CQ_UNIT.unpack(UNIT) == (4096, 124, -(2**31))


def test_a_blank_is_a_unit_that_points_nowhere() -> None:
    assert bytes.fromhex("0000000000000000 7fffffff 0000000000000000") == CQ_BLANK


@given(st.integers(0, 2**48))
def test_an_address_of_an_extension_is_never_a_hash(offset: int) -> None:
    assert is_ext_address(-(1 << 63) + offset)


@given(st.integers(-(2**31), 2**31 - 1))
def test_a_hash_is_never_an_address(tags_code: int) -> None:
    assert not is_ext_address(tags_code)


HEADER = bytes.fromhex(
    "0000018bcfe56800 0000018bcfe56be8 0000000000001000 0000000000002000 00000003 00000004"
)
ENTRY = bytes.fromhex("0000002a 0000000000001000 00000007 00000002")


def test_a_header_is_40_bytes() -> None:
    header = IndexHeader(1700000000000, 1700000001000, 4096, 8192, 3, 4)
    assert encode_index_header(header) == HEADER
    assert decode_index_header(HEADER) == header
    with pytest.raises(CorruptRecord):
        decode_index_header(HEADER[:-1])


def test_a_file_that_was_never_written_begins_at_entry_1() -> None:
    assert decode_index_header(bytes(40)) == IndexHeader()
    assert IndexHeader().index_count == 1


def test_an_entry_is_20_bytes() -> None:
    assert INDEX_ENTRY.pack(42, 4096, 7, 2) == ENTRY
    assert INDEX_ENTRY.unpack(ENTRY) == (42, 4096, 7, 2)


def test_slots_and_entries_lie_behind_the_header() -> None:
    assert index_file_size() == 420_000_040
    assert index_file_size(10, 20) == 480

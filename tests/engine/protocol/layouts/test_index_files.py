from __future__ import annotations

import pytest

from engine.errors import CorruptRecord
from engine.protocol.layouts import (
    IndexHeader,
    decode_index_entry,
    decode_index_header,
    encode_index_entry,
    encode_index_header,
    index_entry_position,
    index_file_size,
    index_seconds,
    index_slot_position,
)

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
    assert encode_index_entry(42, 4096, 7, 2) == ENTRY
    assert decode_index_entry(b"x" + ENTRY, 1) == (42, 4096, 7, 2)


@pytest.mark.parametrize("pos", [-20, -1, 1])
def test_an_entry_outside_of_the_buffer_is_corrupt(pos: int) -> None:
    with pytest.raises(CorruptRecord):
        decode_index_entry(ENTRY, pos)


def test_slots_and_entries_lie_behind_the_header() -> None:
    assert index_file_size() == 420_000_040
    assert index_slot_position(5_000_001) == 44
    assert index_entry_position(1) == 20_000_060
    assert index_entry_position(3, slots=10) == 140
    assert index_file_size(10, 20) == 480


@pytest.mark.parametrize(
    ("store_timestamp", "begin_timestamp", "expected"),
    [(5_999, 1_000, 4), (500, 1_000, 0), (5_000, 0, 0), (1 << 62, 1, 0x7FFFFFFF)],
)
def test_the_seconds_of_an_entry_fit_their_field(
    store_timestamp: int, begin_timestamp: int, expected: int
) -> None:
    assert index_seconds(store_timestamp, begin_timestamp) == expected

from __future__ import annotations

import pytest

from engine.errors import CorruptRecord
from engine.protocol.layouts.index_files import (
    INDEX_ENTRY,
    IndexHeader,
    decode_index_header,
    encode_index_header,
    index_file_size,
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
    assert INDEX_ENTRY.pack(42, 4096, 7, 2) == ENTRY
    assert INDEX_ENTRY.unpack(ENTRY) == (42, 4096, 7, 2)


def test_slots_and_entries_lie_behind_the_header() -> None:
    assert index_file_size() == 420_000_040
    assert index_file_size(10, 20) == 480

"""The byte layer: one suite for the Python source and for what the compiler made of its C side."""

from __future__ import annotations

from types import ModuleType

import pytest

from engine.protocol import _bytes_cy as installed
from engine.protocol import record_layout
from tests.engine.protocol.test_records_cy import compiler
from tests.engine.protocol.ways import ways_of

WAYS = ways_of(installed)
each_way = pytest.mark.parametrize("layer", WAYS.values(), ids=WAYS)
DATA = bytes((0x12, 0x80, 0x00, 0x00, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F))


def test_the_installed_layer_is_compiled_where_a_compiler_exists() -> None:
    assert installed.is_compiled() or compiler() is None, "run make setup"
    assert not WAYS["pure"].is_compiled()


@each_way
@pytest.mark.parametrize("at", range(6))
def test_numbers_are_big_endian_and_signed(layer: ModuleType, at: int) -> None:
    for size, read in ((2, layer.int16_at), (4, layer.int32_at), (8, layer.int64_at)):
        if at + size <= len(DATA):
            assert read(DATA, at) == int.from_bytes(DATA[at : at + size], "big", signed=True)
            assert read(memoryview(DATA), at) == read(bytearray(DATA), at)


@pytest.mark.skipif(not installed.is_compiled(), reason="uncompiled callers never ask for more")
def test_nothing_is_read_behind_the_buffer() -> None:
    for read, size in ((installed.int16_at, 2), (installed.int32_at, 4), (installed.int64_at, 8)):
        for at in (len(DATA) - size + 1, len(DATA), -1):
            with pytest.raises(IndexError):
                read(DATA, at)
    for call in (installed.copy, lambda *place: installed.is_equal(*place, bytes(len(DATA) + 1))):
        with pytest.raises(IndexError):
            call(DATA, 0, len(DATA) + 1)
    with pytest.raises(IndexError):
        installed.put_int32(bytearray(3), 0, 1)


@each_way
def test_a_copy_is_empty_if_its_end_is_not_behind_its_start(layer: ModuleType) -> None:
    assert layer.copy(DATA, 1, 4) == DATA[1:4]
    assert layer.copy(DATA, 0, len(DATA)) == DATA
    assert layer.copy(DATA, 4, 4) == layer.copy(DATA, 4, 3) == b""


@each_way
def test_a_stretch_equals_the_very_bytes(layer: ModuleType) -> None:
    view = memoryview(DATA)
    assert layer.is_equal(view, 1, 4, DATA[1:4])
    assert layer.is_equal(view, 3, 3, b"")
    assert not layer.is_equal(view, 1, 4, DATA[1:3])
    assert not layer.is_equal(view, 1, 4, b"\x80\x00\x01")
    assert not layer.is_equal(view, 1, 1, b"a")


@each_way
def test_a_byte_is_found_between_start_and_end(layer: ModuleType) -> None:
    assert layer.find(DATA, 0xFF, 0, len(DATA)) == 5
    assert layer.find(DATA, 0xFF, 6, len(DATA)) == 6
    assert layer.find(DATA, 0xFF, 0, 5) == 5
    assert layer.find(DATA, 0x33, 2, 9) == 9
    assert layer.find(DATA, 0x12, 4, 4) == 4
    assert layer.find(b"", 0x12, 0, 0) == 0


@each_way
def test_a_number_is_put_over_four_bytes(layer: ModuleType) -> None:
    data = bytearray(b"\xaa" * 6)
    layer.put_int32(data, 1, 0x01020304)
    assert data == b"\xaa\x01\x02\x03\x04\xaa"


def test_the_constants_agree_with_the_structs() -> None:
    head = record_layout.RECORD_HEAD.pack(1, 2, 3, 4, 5, 6, 7, 8)
    places = {
        2: record_layout.MAGIC_AT,
        3: record_layout.BODY_CRC_AT,
        4: record_layout.QUEUE_ID_AT,
        5: record_layout.FLAG_AT,
        6: record_layout.QUEUE_OFFSET_AT + 4,
        7: record_layout.COMMIT_LOG_OFFSET_AT + 4,
        8: record_layout.SYS_FLAG_AT,
    }
    assert {number: installed.int32_at(head, at) for number, at in places.items()} == {
        number: number for number in places
    }
    assert record_layout.RECORD_HEAD.size == record_layout.BORN_TIMESTAMP_AT
    assert record_layout.FIXED_PARTS[0].size == record_layout.BODY_AT
    for bits, part in record_layout.FIXED_PARTS.items():
        assert part.size == record_layout.BODY_AT + record_layout.V6_EXTRA * bits.bit_count()

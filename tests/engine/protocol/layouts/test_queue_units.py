from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadInput, CorruptRecord
from engine.protocol.layouts import (
    CQ_BLANK,
    CQ_UNIT_SIZE,
    EXT_END,
    BatchUnit,
    ExtUnit,
    decode_batch_unit,
    decode_cq_unit,
    decode_ext_unit,
    encode_batch_unit,
    encode_cq_unit,
    encode_ext_unit,
    ext_address,
    ext_offset,
    is_blank_cq_unit,
    is_ext_address,
    is_valid_cq_unit,
)

UNIT = bytes.fromhex("0000000000001000 0000007c ffffffff80000000")
BATCH_UNIT = bytes.fromhex(
    "0000000000001000 0000007c 0000000000000001 0000018bcfe56800 0000000000000009 0003 00000004 00000005"
)
EXT_UNIT = bytes.fromhex("0016 0000000000000001 0000018bcfe56800 0002 abcd")


def test_a_unit_is_20_bytes_with_a_signed_tags_code() -> None:
    assert CQ_UNIT_SIZE == 20
    assert encode_cq_unit(4096, 124, -(2**31)) == UNIT
    assert decode_cq_unit(b"xx" + UNIT, 2) == (4096, 124, -(2**31))


@pytest.mark.parametrize("pos", [-20, -1, 1, 20])
def test_a_unit_outside_of_the_buffer_is_corrupt(pos: int) -> None:
    with pytest.raises(CorruptRecord):
        decode_cq_unit(UNIT, pos)


def test_a_blank_is_a_valid_unit_that_points_nowhere() -> None:
    assert bytes.fromhex("0000000000000000 7fffffff 0000000000000000") == CQ_BLANK
    offset, size, _ = decode_cq_unit(CQ_BLANK)
    assert is_blank_cq_unit(offset, size)
    assert is_valid_cq_unit(offset, size)
    assert not is_blank_cq_unit(0, 124)


@pytest.mark.parametrize(("offset", "size"), [(0, 0), (-1, 124), (4096, -1)])
def test_an_unwritten_unit_is_not_valid(offset: int, size: int) -> None:
    assert not is_valid_cq_unit(offset, size)


def test_a_batch_unit_is_46_bytes() -> None:
    unit = BatchUnit(4096, 124, 1, 1700000000000, 9, 3, 4, 5)
    assert encode_batch_unit(unit) == BATCH_UNIT
    assert len(BATCH_UNIT) == 46
    assert decode_batch_unit(BATCH_UNIT) == unit
    with pytest.raises(CorruptRecord):
        decode_batch_unit(BATCH_UNIT[:-1])


def test_an_extension_carries_its_bitmap() -> None:
    unit = ExtUnit(1, 1700000000000, b"\xab\xcd")
    assert encode_ext_unit(unit) == EXT_UNIT
    assert decode_ext_unit(b"x" + EXT_UNIT + b"x", 1) == unit


@pytest.mark.parametrize("tail", [EXT_END, b"\0\0"])
def test_an_extension_file_ends_at_its_mark_or_where_nothing_was_written(tail: bytes) -> None:
    assert decode_ext_unit(tail) is None


@pytest.mark.parametrize("damaged", [EXT_UNIT[:1], EXT_UNIT[:-1], b"\0\x13" + EXT_UNIT[2:], b"\xff\xfe"])
def test_an_extension_whose_lengths_disagree_is_corrupt(damaged: bytes) -> None:
    with pytest.raises(CorruptRecord):
        decode_ext_unit(damaged)


@pytest.mark.parametrize("length", [b"\0\1", b"\0\3", b"\xff\xff"])
def test_an_extension_whose_bitmap_length_disagrees_is_corrupt(length: bytes) -> None:
    with pytest.raises(CorruptRecord):
        decode_ext_unit(EXT_UNIT[:18] + length + EXT_UNIT[20:])


def test_an_extension_larger_than_its_size_field_is_refused() -> None:
    with pytest.raises(BadInput):
        encode_ext_unit(ExtUnit(0, 0, bytes(32748)))


@given(st.integers(0, 2**48))
def test_an_address_of_an_extension_is_never_a_hash(offset: int) -> None:
    assert is_ext_address(ext_address(offset))
    assert ext_offset(ext_address(offset)) == offset


@given(st.integers(-(2**31), 2**31 - 1))
def test_a_hash_is_never_an_address(tags_code: int) -> None:
    assert not is_ext_address(tags_code)

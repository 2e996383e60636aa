from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.layouts.queue_units import CQ_BLANK, CQ_UNIT, CQ_UNIT_SIZE, is_ext_address

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

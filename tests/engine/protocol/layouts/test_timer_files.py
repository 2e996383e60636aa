from __future__ import annotations

import pytest

from engine.errors import CorruptRecord
from engine.protocol.layouts.timer_files import (
    TIMER_DELETE,
    TIMER_ROLL,
    WHEEL_FILE_SIZE,
    TimerLogUnit,
    WheelSlot,
    decode_timer_log_unit,
    decode_wheel_slot,
    encode_timer_log_blank,
    encode_timer_log_unit,
    encode_wheel_slot,
    wheel_position,
)

UNIT = bytes.fromhex(
    "00000034 ffffffffffffffff 00000006 0000018bcfe56800 000003e8 0000000000001000 0000007c ffffffff"
    "0000000000000000"
)
SLOT = bytes.fromhex("000000006553f100 0000000000000034 0000000000000068 00000002 00000000")


def test_a_timer_log_unit_is_52_bytes() -> None:
    unit = TimerLogUnit(-1, TIMER_ROLL | TIMER_DELETE, 1700000000000, 1000, 4096, 124, -1)
    assert len(UNIT) == 52
    assert encode_timer_log_unit(unit) == UNIT
    assert decode_timer_log_unit(b"x" + UNIT, 1) == unit


def test_a_timer_log_file_ends_at_its_blank_or_where_nothing_was_written() -> None:
    blank = encode_timer_log_blank(100)
    assert blank == bytes.fromhex("00000064 0000000000000000 cbd43194")
    assert decode_timer_log_unit(blank) is None
    assert decode_timer_log_unit(bytes(16)) is None


@pytest.mark.parametrize("damaged", [UNIT[:15], UNIT[:-1], b"\0\0\0\x33" + UNIT[4:], b"\xff" + UNIT[1:]])
def test_a_damaged_timer_log_unit_is_corrupt(damaged: bytes) -> None:
    with pytest.raises(CorruptRecord):
        decode_timer_log_unit(damaged)


def test_a_wheel_slot_is_32_bytes() -> None:
    slot = WheelSlot(1700000000, 52, 104, 2)
    assert encode_wheel_slot(slot) == SLOT
    assert decode_wheel_slot(SLOT) == slot
    with pytest.raises(CorruptRecord):
        decode_wheel_slot(SLOT, 1)


def test_the_wheel_goes_round_after_two_weeks() -> None:
    assert WHEEL_FILE_SIZE == 7 * 86400 * 2 * 32
    assert wheel_position(3_999) == 3 * 32
    assert wheel_position(14 * 86_400_000 + 3_000) == 3 * 32
    assert wheel_position(500, precision_ms=100, slots=2) == 32

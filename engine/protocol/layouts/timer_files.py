"""The timer store: a wheel of seconds whose slots head chains through a log.

    timer log unit, 52    SIZE 4 (52) · PREVPOS 8 · MAGIC 4 · WRITETIME 8 · DELAY 4 ms after WRITETIME
                          · COMMITLOGOFFSET 8 · RECORDSIZE 4 · REALTOPICHASH 4 · RESERVED 8
    timer log blank, 16   SIZE 4 · 0 8 · MAGIC_BLANK 4        the rest of the file is unused
    wheel slot, 32        TIME 8 (ms / precision) · FIRSTPOS 8 · LASTPOS 8 · NUM 4 · MAGIC 4

A slot's chain goes backwards: LASTPOS is its newest unit, each unit's PREVPOS the one before. The wheel has
two slots for each second of a week, so that a slot is not reused while its messages may still be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from engine.errors import CorruptRecord
from engine.protocol.record_layout import MAGIC_BLANK

Buffer = bytes | bytearray | memoryview

TIMER_LOG_UNIT = Struct(">iqiqiqiiq")
TIMER_LOG_UNIT_SIZE = TIMER_LOG_UNIT.size
_TIMER_LOG_BLANK = Struct(">iqi")
TIMER_LOG_BLANK_SIZE = _TIMER_LOG_BLANK.size

TIMER_DEFAULT = 0x1
TIMER_ROLL = 0x2
TIMER_DELETE = 0x4

WHEEL_SLOT = Struct(">qqqii")
WHEEL_SLOT_SIZE = WHEEL_SLOT.size
WHEEL_SLOTS = 7 * 86_400
WHEEL_FILE_SIZE = WHEEL_SLOTS * 2 * WHEEL_SLOT_SIZE


@dataclass(frozen=True, slots=True)
class TimerLogUnit:
    prev_pos: int
    magic: int
    write_time_ms: int
    delay_ms: int
    commit_log_offset: int
    record_size: int
    real_topic_hash: int
    reserved: int = 0


def encode_timer_log_unit(unit: TimerLogUnit) -> bytes:
    return TIMER_LOG_UNIT.pack(
        TIMER_LOG_UNIT_SIZE,
        unit.prev_pos,
        unit.magic,
        unit.write_time_ms,
        unit.delay_ms,
        unit.commit_log_offset,
        unit.record_size,
        unit.real_topic_hash,
        unit.reserved,
    )


def decode_timer_log_unit(buffer: Buffer, pos: int = 0) -> TimerLogUnit | None:
    """The unit at `pos`; None where the file holds no more (a blank, or nothing written)."""
    room = len(buffer) - pos
    if pos < 0 or room < TIMER_LOG_BLANK_SIZE:
        raise CorruptRecord("timer log unit ends early", pos=pos)
    size, _, magic = _TIMER_LOG_BLANK.unpack_from(buffer, pos)
    if size == 0 or magic == MAGIC_BLANK:
        return None
    if size != TIMER_LOG_UNIT_SIZE or room < size:
        raise CorruptRecord("timer log unit size", pos=pos)
    return TimerLogUnit(*TIMER_LOG_UNIT.unpack_from(buffer, pos)[1:])


def encode_timer_log_blank(remaining: int) -> bytes:
    return _TIMER_LOG_BLANK.pack(remaining, 0, MAGIC_BLANK)


@dataclass(frozen=True, slots=True)
class WheelSlot:
    time: int
    first_pos: int
    last_pos: int
    num: int
    magic: int = 0


def encode_wheel_slot(slot: WheelSlot) -> bytes:
    return WHEEL_SLOT.pack(slot.time, slot.first_pos, slot.last_pos, slot.num, slot.magic)


def decode_wheel_slot(buffer: Buffer, pos: int = 0) -> WheelSlot:
    if pos < 0 or pos + WHEEL_SLOT_SIZE > len(buffer):
        raise CorruptRecord("wheel slot ends early", pos=pos)
    return WheelSlot(*WHEEL_SLOT.unpack_from(buffer, pos))


def wheel_position(time_ms: int, precision_ms: int = 1000, slots: int = WHEEL_SLOTS) -> int:
    """Byte position of the slot for this time; its TIME says whether it is for this round."""
    return time_ms // precision_ms % (slots * 2) * WHEEL_SLOT_SIZE

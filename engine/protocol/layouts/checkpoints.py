"""The two checkpoint files: how far the store was known to be on disk, and how far the timers had come.

    checkpoint, one page of 4096   PHYSICMSGTIMESTAMP 8 · LOGICSMSGTIMESTAMP 8 · INDEXMSGTIMESTAMP 8
                                   · MASTERFLUSHEDOFFSET 8 · CONFIRMOFFSET 8 · zeros
    timercheck, 56                 LASTREADTIME 8 · TIMERLOGFLUSHPOS 8 · TIMERQUEUEOFFSET 8
                                   · MASTERTIMERQUEUEOFFSET 8 · STATEVERSION 8 · TIMESTAMP 8 · COUNTER 8
                                   (the last three are a DataVersion)

All timestamps are store times in ms. Both only spare work at start: a lost one means a longer scan.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from engine.errors import CorruptRecord

Buffer = bytes | bytearray | memoryview

CHECKPOINT_FILE_SIZE = 4096
_CHECKPOINT = Struct(">5q")
_TIMER_CHECK = Struct(">7q")
TIMER_CHECK_SIZE = _TIMER_CHECK.size


@dataclass(frozen=True, slots=True)
class Checkpoint:
    physic_msg_timestamp: int = 0
    logics_msg_timestamp: int = 0
    index_msg_timestamp: int = 0
    master_flushed_offset: int = 0
    confirm_offset: int = 0


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """The whole page."""
    return _CHECKPOINT.pack(
        checkpoint.physic_msg_timestamp,
        checkpoint.logics_msg_timestamp,
        checkpoint.index_msg_timestamp,
        checkpoint.master_flushed_offset,
        checkpoint.confirm_offset,
    ).ljust(CHECKPOINT_FILE_SIZE, b"\0")


def decode_checkpoint(buffer: Buffer) -> Checkpoint:
    if len(buffer) < _CHECKPOINT.size:
        raise CorruptRecord("checkpoint ends early", size_bytes=len(buffer))
    return Checkpoint(*_CHECKPOINT.unpack_from(buffer, 0))


@dataclass(frozen=True, slots=True)
class TimerCheck:
    last_read_time_ms: int = 0
    timer_log_flush_pos: int = 0
    timer_queue_offset: int = 0
    master_timer_queue_offset: int = 0
    state_version: int = 0
    version_timestamp: int = 0
    version_counter: int = 0


def encode_timer_check(check: TimerCheck) -> bytes:
    return _TIMER_CHECK.pack(
        check.last_read_time_ms,
        check.timer_log_flush_pos,
        check.timer_queue_offset,
        check.master_timer_queue_offset,
        check.state_version,
        check.version_timestamp,
        check.version_counter,
    )


def decode_timer_check(buffer: Buffer) -> TimerCheck:
    if len(buffer) < TIMER_CHECK_SIZE:
        raise CorruptRecord("timercheck ends early", size_bytes=len(buffer))
    return TimerCheck(*_TIMER_CHECK.unpack_from(buffer, 0))

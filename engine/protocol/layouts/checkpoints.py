"""The two checkpoint files: how far the store was known to be on disk, and how far the timers had come.

    checkpoint, one page of 4096   PHYSICMSGTIMESTAMP 8 · LOGICSMSGTIMESTAMP 8 · INDEXMSGTIMESTAMP 8
                                   · MASTERFLUSHEDOFFSET 8 · CONFIRMOFFSET 8 · zeros
      our own part, from byte 64   MAGIC 4 "SBX1" · CRC 4 · FLUSHED 8 · DISPATCHED 8 · VERIFYFROM 8 · QUEUES 8
    timercheck, 56                 LASTREADTIME 8 · TIMERLOGFLUSHPOS 8 · TIMERQUEUEOFFSET 8
                                   · MASTERTIMERQUEUEOFFSET 8 · STATEVERSION 8 · TIMESTAMP 8 · COUNTER 8
                                   (the last three are a DataVersion)

The first 40 bytes of a checkpoint are RocketMQ's. Our own exact offsets are in the same disk sector, where
other engines leave zeros, with a checksum over both parts. FLUSHED: the log is on disk up to here.
DISPATCHED: the queue units and index entries of all records before this offset are on disk too. VERIFYFROM: a
record boundary at which the next start begins to check. QUEUES: how many queues there were.

All timestamps are store times in ms. Both files only save work at a start: without a believable checkpoint
everything is scanned.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from zlib import crc32

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


_TRAILER_AT = 64
_TRAILER = Struct(">4sI4q")
_MAGIC = b"SBX1"
_SHARED_SIZE = 40


@dataclass(frozen=True, slots=True)
class DurableOffsets:
    flushed_offset: int
    dispatched_offset: int
    verify_from: int
    queue_count: int

    @property
    def scan_from(self) -> int:
        return min(self.flushed_offset, self.dispatched_offset, self.verify_from)

    @property
    def index_from(self) -> int:
        return min(self.flushed_offset, self.dispatched_offset)


@dataclass(frozen=True, slots=True)
class CheckpointPage:
    """What was found. `times` alone: another engine wrote it. Neither: nothing believable."""

    times: Checkpoint | None
    offsets: DurableOffsets | None


def encode_page(times: Checkpoint, offsets: DurableOffsets) -> bytes:
    page = bytearray(encode_checkpoint(times))
    numbers = (
        offsets.flushed_offset,
        offsets.dispatched_offset,
        offsets.verify_from,
        offsets.queue_count,
    )
    _TRAILER.pack_into(page, _TRAILER_AT, _MAGIC, _checksum(bytes(page), numbers), *numbers)
    return bytes(page)


def decode_page(page: bytes, now_ms: int) -> CheckpointPage:
    if len(page) != CHECKPOINT_FILE_SIZE:
        return CheckpointPage(None, None)
    times = decode_checkpoint(page)
    magic, checksum, *numbers = _TRAILER.unpack_from(page, _TRAILER_AT)
    if magic == _MAGIC:
        if checksum != _checksum(page, tuple(numbers)):
            return CheckpointPage(None, None)
        return CheckpointPage(times, DurableOffsets(*numbers))
    return CheckpointPage(times if _is_believable(times, now_ms) else None, None)


def _is_believable(times: Checkpoint, now_ms: int) -> bool:
    stamps = (times.physic_msg_timestamp, times.logics_msg_timestamp, times.index_msg_timestamp)
    return all(0 <= stamp <= now_ms for stamp in stamps)


def _checksum(page: bytes, numbers: tuple[int, ...]) -> int:
    return crc32(repr(numbers).encode(), crc32(page[:_SHARED_SIZE]))

"""The page of the checkpoint file as our own store writes it: RocketMQ's times, and exact offsets.

The first 40 bytes are RocketMQ's (`checkpoints`). Behind them, in what other engines leave as zeros and in
the same disk sector, lie our own exact offsets with a checksum over both:

    64   MAGIC 4 "SBX1" · CRC 4 · FLUSHED 8 · DISPATCHED 8 · VERIFYFROM 8 · QUEUES 8

FLUSHED: the log is on disk up to here. DISPATCHED: so are the queue units and index entries of all records
before this offset. VERIFYFROM: a record boundary at which the next open starts to check. QUEUES: how many
queues there were. Both engines' parts only spare work: without a believable checkpoint everything is scanned.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from zlib import crc32

from engine.protocol.layouts.checkpoints import (
    CHECKPOINT_FILE_SIZE,
    Checkpoint,
    decode_checkpoint,
    encode_checkpoint,
)

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

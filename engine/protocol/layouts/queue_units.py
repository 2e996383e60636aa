"""Units of the consume queues: where the messages of one topic-queue lie in the commit log.

    consume queue, 20 bytes     COMMITLOGOFFSET 8 · SIZE 4 · TAGSCODE 8
    batch queue, 46 bytes       COMMITLOGOFFSET 8 · SIZE 4 · TAGSCODE 8 · STORETIME 8 · BASEQUEUEOFFSET 8
                                · BATCHSIZE 2 · COMPACTEDOFFSET 4 · RESERVED 4
    extension, 20 + n bytes     SIZE 2 · TAGSCODE 8 · STORETIME 8 · BITMAP 2 + n

Unit n of a consume queue lies at byte 20 n of its logical file. A queue that does not begin at a file's first
unit has blanks before its first one. The TAGSCODE of a queue with extensions may be the address of one:
the smallest int64 plus the extension's offset. In an extension file an int16 -1 says that the rest is unused;
4 bytes are always kept for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from engine.errors import BadInput, CorruptRecord

Buffer = bytes | bytearray | memoryview

CQ_UNIT = Struct(">qiq")
CQ_UNIT_SIZE = CQ_UNIT.size
CQ_BLANK = CQ_UNIT.pack(0, 0x7FFF_FFFF, 0)

BATCH_CQ_UNIT = Struct(">qiqqqhii")
BATCH_CQ_UNIT_SIZE = BATCH_CQ_UNIT.size

_EXT_HEAD = Struct(">hqqh")
EXT_UNIT_SIZE = _EXT_HEAD.size
EXT_END = b"\xff\xff"
EXT_END_RESERVE = 4
_EXT_BASE = -(1 << 63)
_INT32_MIN = -0x8000_0000


def encode_cq_unit(commit_log_offset: int, size: int, tags_code: int) -> bytes:
    return CQ_UNIT.pack(commit_log_offset, size, tags_code)


def decode_cq_unit(buffer: Buffer, pos: int = 0) -> tuple[int, int, int]:
    """Commit log offset, record size, tags code; zeros where nothing was written."""
    if pos < 0 or pos + CQ_UNIT_SIZE > len(buffer):
        raise CorruptRecord("consume queue unit ends early", pos=pos)
    commit_log_offset, size, tags_code = CQ_UNIT.unpack_from(buffer, pos)
    return commit_log_offset, size, tags_code


def is_valid_cq_unit(commit_log_offset: int, size: int) -> bool:
    return commit_log_offset >= 0 and size > 0


def is_blank_cq_unit(commit_log_offset: int, size: int) -> bool:
    """Whether this unit only fills the place before a queue's first message. It is valid all the same."""
    return commit_log_offset == 0 and size == 0x7FFF_FFFF


@dataclass(frozen=True, slots=True)
class BatchUnit:
    """Where one inner batch lies, and which queue offsets it covers."""

    commit_log_offset: int
    size: int
    tags_code: int
    store_timestamp: int
    base_queue_offset: int
    batch_size: int
    compacted_offset: int = 0
    reserved: int = 0


def encode_batch_unit(unit: BatchUnit) -> bytes:
    return BATCH_CQ_UNIT.pack(
        unit.commit_log_offset,
        unit.size,
        unit.tags_code,
        unit.store_timestamp,
        unit.base_queue_offset,
        unit.batch_size,
        unit.compacted_offset,
        unit.reserved,
    )


def decode_batch_unit(buffer: Buffer, pos: int = 0) -> BatchUnit:
    if pos < 0 or pos + BATCH_CQ_UNIT_SIZE > len(buffer):
        raise CorruptRecord("batch queue unit ends early", pos=pos)
    return BatchUnit(*BATCH_CQ_UNIT.unpack_from(buffer, pos))


@dataclass(frozen=True, slots=True)
class ExtUnit:
    """What a consume queue unit has no room for: the bloom filter's bits of a message."""

    tags_code: int
    store_timestamp: int
    bitmap: bytes = b""

    @property
    def size(self) -> int:
        return EXT_UNIT_SIZE + len(self.bitmap)


def encode_ext_unit(unit: ExtUnit) -> bytes:
    if unit.size > 0x7FFF:
        raise BadInput(f"an extension of {unit.size} bytes does not fit its size field")
    return _EXT_HEAD.pack(unit.size, unit.tags_code, unit.store_timestamp, len(unit.bitmap)) + unit.bitmap


def decode_ext_unit(buffer: Buffer, pos: int = 0) -> ExtUnit | None:
    """The extension at `pos`; None where the file holds no more."""
    room = len(buffer) - pos
    if pos < 0 or room < 2:
        raise CorruptRecord("queue extension ends early", pos=pos)
    size = int.from_bytes(buffer[pos : pos + 2], "big", signed=True)
    if size in (-1, 0):
        return None
    if not EXT_UNIT_SIZE <= size <= room:
        raise CorruptRecord("queue extension size", pos=pos)
    _, tags_code, store_timestamp, bitmap_bytes = _EXT_HEAD.unpack_from(buffer, pos)
    if EXT_UNIT_SIZE + bitmap_bytes != size:
        raise CorruptRecord("queue extension bitmap length", pos=pos)
    return ExtUnit(tags_code, store_timestamp, bytes(buffer[pos + EXT_UNIT_SIZE : pos + size]))


def ext_address(ext_offset: int) -> int:
    """The tags code that points to the extension at this offset."""
    return _EXT_BASE + ext_offset


def is_ext_address(tags_code: int) -> bool:
    return tags_code < _INT32_MIN


def ext_offset(address: int) -> int:
    return address - _EXT_BASE

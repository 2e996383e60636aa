"""Frames between a master and its slaves on the HA port: no code, no opaque, only order.

    slave to master        MAXOFFSET 8
    master to slave        OFFSET 8 · BODYSIZE 4 · body              body 0 = heartbeat

Bodies are raw commit log bytes, cut anywhere. The peer may be anybody who reached the port, so a number that
no honest peer sends is ProtocolError, and whoever sent it never counts as a replica.
"""

from __future__ import annotations

from struct import Struct

from engine.errors import ProtocolError

Buffer = bytes | bytearray | memoryview

MAX_BODY_BYTES = 4 * 1024 * 1024
"""More than any master is set to send at once (haTransferBatchSize is 32 KiB)."""

_ACK = Struct(">q")
ACK_SIZE = _ACK.size
_PUSH = Struct(">qi")
PUSH_SIZE = _PUSH.size


def encode_ack(max_offset: int) -> bytes:
    return _ACK.pack(max_offset)


def decode_ack(buffer: Buffer) -> int:
    _require_size(buffer, ACK_SIZE)
    (max_offset,) = _ACK.unpack(buffer)
    _require(max_offset >= 0, "slave offset")
    return int(max_offset)


def encode_push(offset: int, body_size: int) -> bytes:
    return _PUSH.pack(offset, body_size)


def decode_push(buffer: Buffer) -> tuple[int, int]:
    """Commit log offset and size of the body that follows."""
    _require_size(buffer, PUSH_SIZE)
    offset, body_size = _PUSH.unpack(buffer)
    _require(offset >= 0, "offset")
    _require(0 <= body_size <= MAX_BODY_BYTES, "body size")
    return offset, body_size


def _require_size(buffer: Buffer, size: int) -> None:
    _require(len(buffer) == size, "frame size")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ProtocolError(f"HA peer sent an impossible {what}", what=what)

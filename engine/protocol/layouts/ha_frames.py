"""Frames between a master and its slaves on the HA port: no code, no opaque, only order.

RocketMQ's plain stream:

    slave              MAXOFFSET 8
    master             OFFSET 8 · BODYSIZE 4 · body           log bytes (none: heartbeat)

Our own stream, once the slave has introduced itself with MAGIC. A plain slave's first eight bytes are an
offset, which is never negative: MAGIC has the top bit set.

    slave, first       MAGIC 8 · packet
    packet             SIZE 4 · JSON                          both sides, until each has proved itself
    slave, then        KIND 4 · VALUE 8                       2 log end (commit-log offset)
                                                              5 in-sync set stored (version)
                                                              6 log start (commit-log offset)
    master, then       KIND 4 · BODYSIZE 4 · OFFSET 8 · EPOCH 4 · EPOCHSTARTOFFSET 8 · CONFIRMOFFSET 8 · body
                                                              2 log bytes (none: heartbeat)
                                                              5 in-sync set, JSON
                                                              6 start of the group's log, JSON

Kinds and headers are those of RocketMQ's auto-switch stream but for 5 and 6. Release 0.1.0 does not know 6: a
frame of this kind goes only to a peer whose introduction names a log start. Log bytes may be cut anywhere.
Anybody who reaches the port may be the peer, so a number that no correct peer sends is a ProtocolError.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, NamedTuple

import orjson

from engine.errors import ProtocolError

Buffer = bytes | bytearray | memoryview

MAX_BODY_BYTES = 4 * 1024 * 1024
"""More than any master sends at once (haTransferBatchSize is 32 KiB)."""
MAX_PACKET_BYTES = 64 * 1024
MAGIC = b"\xffSGBXHA1"
LOG = 2
SET = 5
START = 6

_ACK = Struct(">q")
ACK_SIZE = _ACK.size
_PUSH = Struct(">qi")
PUSH_SIZE = _PUSH.size
_PACKET_SIZE = Struct(">i")
PACKET_SIZE_BYTES = _PACKET_SIZE.size
_REPORT = Struct(">iq")
REPORT_SIZE = _REPORT.size
_HEAD = Struct(">iiqiqq")
HEAD_SIZE = _HEAD.size


# --- the plain stream ------------------------------------------------------------------------------


def encode_ack(max_offset: int) -> bytes:
    return _ACK.pack(max_offset)


def decode_ack(buffer: Buffer) -> int:
    (max_offset,) = _unpack(_ACK, buffer)
    _require(max_offset >= 0, "slave offset", max_offset)
    return int(max_offset)


def encode_push(offset: int, body_size: int) -> bytes:
    return _PUSH.pack(offset, body_size)


def decode_push(buffer: Buffer) -> tuple[int, int]:
    """Commit-log offset and size of the body that follows."""
    offset, body_size = _unpack(_PUSH, buffer)
    _require(offset >= 0, "offset", offset)
    _require(0 <= body_size <= MAX_BODY_BYTES, "body size", body_size)
    return offset, body_size


# --- our own stream --------------------------------------------------------------------------------


class Head(NamedTuple):
    """The fixed part of a master's frame, in the order of the layout."""

    kind: int
    body_size: int
    offset: int
    epoch: int
    epoch_start_offset: int
    confirm_offset: int


def encode_packet(content: Any) -> bytes:
    body = orjson.dumps(content)
    return _PACKET_SIZE.pack(len(body)) + body


def decode_packet_size(buffer: Buffer) -> int:
    (size,) = _unpack(_PACKET_SIZE, buffer)
    _require(0 < size <= MAX_PACKET_BYTES, "packet size", size)
    return int(size)


def decode_packet(body: bytes) -> dict[str, Any]:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        content = None
    _require(isinstance(content, dict), "packet", body[:40])
    return dict(content)


def encode_report(kind: int, value: int) -> bytes:
    return _REPORT.pack(kind, value)


def decode_report(buffer: Buffer) -> tuple[int, int]:
    """What a slave reports: kind and value."""
    kind, value = _unpack(_REPORT, buffer)
    _require(kind in (LOG, SET, START), "kind", kind)
    _require(value >= 0, "value", value)
    return kind, value


def encode_head(head: Head) -> bytes:
    return _HEAD.pack(*head)


def decode_head(buffer: Buffer) -> Head:
    head = Head(*_unpack(_HEAD, buffer))
    _require(head.kind in (LOG, SET, START), "kind", head.kind)
    _require(0 <= head.body_size <= MAX_BODY_BYTES, "body size", head.body_size)
    least = min(head.offset, head.epoch, head.epoch_start_offset, head.confirm_offset)
    _require(least >= 0, "offset", least)
    return head


def _unpack(layout: Struct, buffer: Buffer) -> tuple[Any, ...]:
    _require(len(buffer) == layout.size, "frame size", len(buffer))
    return layout.unpack(buffer)


def _require(holds: bool, what: str, value: object) -> None:
    if not holds:
        raise ProtocolError(f"the HA peer sent an impossible {what}: {value!r}", what=what)

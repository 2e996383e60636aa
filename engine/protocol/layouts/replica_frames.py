"""Frames between two brokers of ours on the HA port, once the slave has introduced itself.

    slave, first       MAGIC 8 · packet
    packet             SIZE 4 · JSON                          both sides, until each has proved itself
    slave, then        KIND 4 · VALUE 8                        2 log end (commit-log offset)
                                                               5 set stored (version)
                                                               6 log start (commit-log offset)
    master, then       KIND 4 · BODYSIZE 4 · OFFSET 8 · EPOCH 4 · EPOCHSTARTOFFSET 8 · CONFIRMOFFSET 8 · body
                                                               2 log bytes (none: heartbeat)
                                                               5 in-sync set, JSON
                                                               6 where the group's log starts, JSON

Kinds and headers are those of RocketMQ's auto-switch stream (`ha_frames`) but for 5 and 6. The first release
does not know 6: it is sent only to a peer whose introduction names a log start. A plain slave's first
eight bytes are an offset, which is never negative: MAGIC has the top bit set. Numbers that no honest peer
sends are ProtocolError.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Any

import orjson

from engine.errors import ProtocolError

MAGIC = b"\xffSGBXHA1"
MAX_PACKET_BYTES = 64 * 1024
MAX_BODY_BYTES = 4 * 1024 * 1024
LOG = 2
SET = 5
START = 6

_SIZE = Struct(">i")
SIZE_BYTES = _SIZE.size
_WORD = Struct(">iq")
WORD_SIZE = _WORD.size
_HEAD = Struct(">iiqiqq")
HEAD_SIZE = _HEAD.size


@dataclass(frozen=True, slots=True)
class Head:
    kind: int
    body_size: int
    offset: int
    epoch: int
    epoch_start_offset: int
    confirm_offset: int


def encode_packet(content: Any) -> bytes:
    body = orjson.dumps(content)
    return _SIZE.pack(len(body)) + body


def decode_packet_size(buffer: bytes) -> int:
    (size,) = _SIZE.unpack(buffer)
    _require(0 < size <= MAX_PACKET_BYTES, "packet size")
    return int(size)


def decode_packet(body: bytes) -> dict[str, Any]:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        content = None
    _require(isinstance(content, dict), "packet")
    return dict(content)


def encode_word(kind: int, value: int) -> bytes:
    return _WORD.pack(kind, value)


def decode_word(buffer: bytes) -> tuple[int, int]:
    kind, value = _WORD.unpack(buffer)
    _require(kind in (LOG, SET, START) and value >= 0, "word")
    return kind, value


def encode_head(head: Head) -> bytes:
    return _HEAD.pack(
        head.kind, head.body_size, head.offset, head.epoch, head.epoch_start_offset, head.confirm_offset
    )


def decode_head(buffer: bytes) -> Head:
    head = Head(*_HEAD.unpack(buffer))
    _require(head.kind in (LOG, SET, START), "kind")
    _require(0 <= head.body_size <= MAX_BODY_BYTES, "body size")
    _require(min(head.offset, head.epoch, head.epoch_start_offset, head.confirm_offset) >= 0, "offset")
    return head


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ProtocolError(f"a replica sent an impossible {what}", what=what)

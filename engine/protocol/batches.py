"""The body of a batch send: several messages for one queue, end to end.

    TOTALSIZE 4 · MAGIC 4 (0) · BODYCRC 4 (0) · FLAG 4 · BODY 4 + n · PROPERTIES 2 + n      per message

Topic, queue and born data are the request's. Magic and CRC are not looked at: clients write 0, and the broker
computes the CRC of what it stores. Properties stay bytes because the store keeps them exactly as sent.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct

from engine.errors import BadInput, BadRequest
from engine.protocol.codes import ResponseCode

_HEAD = Struct(">iiiii")
_PROPERTIES_LENGTH = Struct(">h")
_SMALLEST = _HEAD.size + _PROPERTIES_LENGTH.size


@dataclass(frozen=True, slots=True)
class BatchItem:
    flag: int
    body: bytes
    properties: bytes

    @property
    def properties_text(self) -> str:
        return self.properties.decode("utf-8", "replace")


def encode_batch(items: Iterable[BatchItem]) -> bytes:
    parts: list[bytes] = []
    try:
        for item in items:
            size = _SMALLEST + len(item.body) + len(item.properties)
            parts += (
                _HEAD.pack(size, 0, 0, item.flag, len(item.body)),
                item.body,
                _PROPERTIES_LENGTH.pack(len(item.properties)),
                item.properties,
            )
    except struct.error as error:
        raise BadInput(f"a message does not fit the batch: {error}") from None
    if not parts:
        raise BadInput("a batch holds at least one message")
    return b"".join(parts)


def decode_batch(body: bytes | bytearray | memoryview) -> list[BatchItem]:
    """The messages of a batch; a length that disagrees with another refuses all of it."""
    items: list[BatchItem] = []
    pos = 0
    end = len(body)
    while pos < end:
        if end - pos < _SMALLEST:
            raise _illegal(len(items), "it ends early")
        size, _, _, flag, body_bytes = _HEAD.unpack_from(body, pos)
        if not _SMALLEST <= size <= end - pos:
            raise _illegal(len(items), "its size is out of range")
        if not 0 <= body_bytes <= size - _SMALLEST:
            raise _illegal(len(items), "its body length is out of range")
        body_at = pos + _HEAD.size
        body_end = body_at + body_bytes
        properties_at = body_end + _PROPERTIES_LENGTH.size
        pos += size
        (properties_bytes,) = _PROPERTIES_LENGTH.unpack_from(body, body_end)
        if properties_bytes < 0 or properties_at + properties_bytes != pos:
            raise _illegal(len(items), "its properties length disagrees with its size")
        items.append(BatchItem(flag, bytes(body[body_at:body_end]), bytes(body[properties_at:pos])))
    if not items:
        raise _illegal(0, "the batch is empty")
    return items


def _illegal(index: int, why: str) -> BadRequest:
    return BadRequest(
        f"batch message {index} cannot be read: {why}", code=ResponseCode.MESSAGE_ILLEGAL, index=index
    )

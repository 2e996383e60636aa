"""The stored message record as values: encoding, decoding, and forms for many records of one topic.

`record_layout` draws it. Bytes only: no files, no clock. Python slices accept any bounds, so
every length is checked before it is used; the compiled scanner in `_records_cy` obeys the same rules.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Any
from zlib import crc32

from engine.errors import BadInput, CorruptRecord
from engine.protocol.hashes import body_crc
from engine.protocol.hosts import V4_SIZE, Host, pack_host, unpack_host
from engine.protocol.message_ids import offset_msg_id
from engine.protocol.properties import Property, decode_properties, encode_properties
from engine.protocol.record_layout import (
    BLANK_SIZE,
    BODY_SIZE_BEFORE_BODY,
    FIXED_PARTS,
    HOST_BITS,
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    MAX_TOPIC_V1_BYTES,
    PREFIX,
    SMALLEST_RECORD,
    SYS_FLAG_AT,
)
from engine.protocol.sys_flags import HOST_MASK

Buffer = bytes | bytearray | memoryview

_PROPERTIES_SIZE = Struct(">h")
_INT, _SHORT = Struct(">I"), Struct(">H")


@dataclass(slots=True)
class Record:
    """One stored message. `body` is as stored: `compression.decode_body` gives what the producer sent."""

    size: int
    magic: int
    body_crc: int
    queue_id: int
    flag: int
    queue_offset: int
    commit_log_offset: int
    sys_flag: int
    born_timestamp: int
    born_host: Host
    store_timestamp: int
    store_host: Host
    reconsume_times: int
    prepared_transaction_offset: int
    body: bytes
    topic: str
    properties: dict[str, str]

    @property
    def keys(self) -> list[str]:
        return self.properties.get(Property.KEYS, "").split()

    @property
    def tags(self) -> str | None:
        return self.properties.get(Property.TAGS)

    @property
    def uniq_key(self) -> str | None:
        return self.properties.get(Property.UNIQ_KEY)

    @property
    def offset_msg_id(self) -> str:
        return offset_msg_id(self.store_host, self.commit_log_offset)


def record_size(
    *,
    topic_bytes: int,
    body_bytes: int,
    properties_bytes: int,
    born_host_bytes: int = V4_SIZE,
    store_host_bytes: int = V4_SIZE,
) -> int:
    """Size of the record with parts of these lengths."""
    fixed = FIXED_PARTS[HOST_BITS[born_host_bytes, store_host_bytes]].size
    topic_prefix = 1 if topic_bytes <= MAX_TOPIC_V1_BYTES else 2
    return fixed + body_bytes + topic_prefix + topic_bytes + 2 + properties_bytes


class RecordForm:
    """What the records of one topic and one kind of hosts have in common, worked out once.

    `overhead` and the lengths of body and properties give a record's size before it is encoded: its place
    in the log must be known first. The arguments of `encode` are in the order of the layout.
    """

    __slots__ = (
        "_host_bits",
        "_magic",
        "_pack",
        "_store_host",
        "_topic",
        "born_host_bytes",
        "fixed_bytes",
        "overhead",
    )

    def __init__(self, topic: bytes, born_host_bytes: int, store_host: bytes) -> None:
        host_bits = HOST_BITS.get((born_host_bytes, len(store_host)))
        if host_bits is None or not 0 < len(topic) <= 0x7FFF:
            raise BadInput(
                "record parts out of range",
                topic_bytes=len(topic),
                host_bytes=(born_host_bytes, len(store_host)),
            )
        is_v1 = len(topic) <= MAX_TOPIC_V1_BYTES
        self._host_bits = host_bits
        self._magic = MAGIC_V1 if is_v1 else MAGIC_V2
        self._pack = FIXED_PARTS[host_bits].pack
        self._store_host = store_host
        self._topic = len(topic).to_bytes(1 if is_v1 else 2, "big") + topic
        self.born_host_bytes = born_host_bytes
        self.fixed_bytes = FIXED_PARTS[host_bits].size
        self.overhead = self.fixed_bytes + len(self._topic) + 2

    def encode(
        self,
        size: int,
        queue_id: int,
        flag: int,
        queue_offset: int,
        commit_log_offset: int,
        sys_flag: int,
        born_timestamp: int,
        born_host: bytes,
        store_timestamp: int,
        reconsume_times: int,
        prepared_transaction_offset: int,
        body: Buffer,
        properties: bytes,
    ) -> bytes:
        """One record. `size` is what its size field says: 0 for a log that completes it last. The host bits
        of sys_flag follow from the hosts, whatever the caller had in them."""
        try:
            fixed = self._pack(
                size,
                self._magic,
                crc32(body) & 0x7FFF_FFFF,
                queue_id,
                flag,
                queue_offset,
                commit_log_offset,
                sys_flag & ~HOST_MASK | self._host_bits,
                born_timestamp,
                born_host,
                store_timestamp,
                self._store_host,
                reconsume_times,
                prepared_transaction_offset,
                len(body),
            )
            # record_layout.MAX_PROPERTIES_BYTES is what fits the signed field.
            properties_size = _PROPERTIES_SIZE.pack(len(properties))
        except struct.error as error:
            raise BadInput(f"a value does not fit its field of the record: {error}") from None
        return b"".join((fixed, body, self._topic, properties_size, properties))


def encode_record(
    *,
    topic: str,
    body: Buffer,
    properties: Mapping[str, str | None] | None = None,
    queue_id: int = 0,
    flag: int = 0,
    queue_offset: int = 0,
    commit_log_offset: int = 0,
    sys_flag: int = 0,
    born_timestamp: int = 0,
    born_host: Host = ("127.0.0.1", 0),
    store_timestamp: int = 0,
    store_host: Host = ("127.0.0.1", 0),
    reconsume_times: int = 0,
    prepared_transaction_offset: int = 0,
) -> bytes:
    """A complete record from values."""
    packed_born_host = pack_host(born_host)
    try:
        form = RecordForm(topic.encode(), len(packed_born_host), pack_host(store_host))
        stored_properties = encode_properties(properties or {}).encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"a value does not fit the record: {error}") from None
    return form.encode(
        form.overhead + len(body) + len(stored_properties),
        queue_id,
        flag,
        queue_offset,
        commit_log_offset,
        sys_flag,
        born_timestamp,
        packed_born_host,
        store_timestamp,
        reconsume_times,
        prepared_transaction_offset,
        body,
        stored_properties,
    )


def encode_blank(remaining: int) -> bytes:
    """The 8 bytes that say: the last `remaining` bytes of this file, these included, hold nothing."""
    if not BLANK_SIZE <= remaining <= 0x7FFF_FFFF:
        raise BadInput(f"a blank cannot fill {remaining} bytes")
    return PREFIX.pack(remaining, MAGIC_BLANK)


def decode_record(buffer: Buffer, pos: int = 0, check_crc: bool = True) -> Record:
    """The record at `pos`; CorruptRecord if its bytes contradict themselves or end early."""
    fixed, end = _measure(buffer, pos)
    head = fixed.unpack_from(buffer, pos)
    body, topic, properties = _decode_tail(buffer, pos + fixed.size, end, head[14], head[1] == MAGIC_V2)
    if check_crc and head[2] != body_crc(body):
        raise _corrupt(pos, "body CRC")
    # The fixed part is in the order of Record's fields; only the hosts are not yet values.
    born_host, store_host = unpack_host(head[9]), unpack_host(head[11])
    values: list[Any] = [*head[:9], born_host, head[10], store_host, *head[12:14], body, topic, properties]
    return Record(*values)


def decode_records(buffer: Buffer, check_crc: bool = True) -> list[Record]:
    """All records of a pull answer's body, which is nothing but records end to end."""
    records = []
    pos = 0
    while pos < len(buffer):
        record = decode_record(buffer, pos, check_crc)
        records.append(record)
        pos += record.size
    return records


def raw_properties(buffer: Buffer, pos: int = 0) -> bytes:
    """The property text of the record at `pos`, which somebody has checked before."""
    at = pos + FIXED_PARTS[buffer[pos + SYS_FLAG_AT + 3] & HOST_MASK].size
    at += _INT.unpack_from(buffer, at - BODY_SIZE_BEFORE_BODY)[0]
    if buffer[pos + 7] == MAGIC_V1 & 0xFF:
        at += 1 + buffer[at]
    else:
        at += 2 + _SHORT.unpack_from(buffer, at)[0]
    return bytes(buffer[at + 2 : at + 2 + _SHORT.unpack_from(buffer, at)[0]])


def _measure(buffer: Buffer, pos: int) -> tuple[Struct, int]:
    """Shape of the fixed part, and the end of the record, once size and magic are believable."""
    room = len(buffer) - pos
    if pos < 0 or room < SMALLEST_RECORD:
        raise _corrupt(pos, "record ends early")
    size, magic = PREFIX.unpack_from(buffer, pos)
    if magic not in (MAGIC_V1, MAGIC_V2):
        raise _corrupt(pos, "magic")
    fixed = FIXED_PARTS[buffer[pos + SYS_FLAG_AT + 3] & HOST_MASK]
    if not fixed.size <= size <= room:
        raise _corrupt(pos, "size")
    return fixed, pos + size


def _decode_tail(
    buffer: Buffer, body_at: int, end: int, body_bytes: int, is_v2: bool
) -> tuple[bytes, str, dict[str, str]]:
    """The parts of varying length: each length is checked before anything behind it is read."""
    body_end = body_at + body_bytes
    topic_at = body_end + (2 if is_v2 else 1)
    if body_bytes < 0 or topic_at > end:
        raise _corrupt(body_at, "body length")
    topic_end = topic_at + int.from_bytes(buffer[body_end:topic_at], "big")
    properties_at = topic_end + 2
    topic_limit = 0x7FFF if is_v2 else MAX_TOPIC_V1_BYTES
    if not 0 < topic_end - topic_at <= topic_limit or properties_at > end:
        raise _corrupt(body_at, "topic length")
    properties_bytes = int.from_bytes(buffer[topic_end:properties_at], "big", signed=True)
    if properties_bytes < 0 or properties_at + properties_bytes != end:
        raise _corrupt(body_at, "properties length")
    try:
        topic = str(buffer[topic_at:topic_end], "utf-8")
    except UnicodeDecodeError:
        raise _corrupt(body_at, "topic") from None
    # Properties come from producers byte for byte; damage to a character is theirs and must not stop a log.
    properties = decode_properties(str(buffer[properties_at:end], "utf-8", "replace"))
    return bytes(buffer[body_at:body_end]), topic, properties


def _corrupt(pos: int, what: str) -> CorruptRecord:
    return CorruptRecord(f"corrupt record: {what}", pos=pos, what=what)

"""The body by which a broker registers its topics at a name server (103), in both forms.

Plain: the JSON object. Compressed: a zlib stream whose content is, all integers big-endian,

    int32 length · DataVersion JSON
    int32 count  · per topic: int32 length · `name readQueues writeQueues perm filterType[ attributesJSON]`
    int32 length · JSON array of filter servers
    int32 count  · per mapping: int32 length · TopicQueueMappingInfo JSON      (only senders since 5.0.0)

The compressed form loses `order` and `topicSysFlag`. Senders since 5.0 say compressed=false either way, so
the first byte tells the form. The stream is a stranger's: its inflated size and every length are bounded.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import Self

from msgspec import field

from engine.errors import BadRequest
from engine.protocol import fastjson
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.topics import (
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
    TopicFilterType,
    TopicQueueMappingInfo,
)
from engine.protocol.codes import MQ_VERSION
from engine.protocol.wire import Body

INFLATED_LIMIT_BYTES = 64 * 1024 * 1024
BODY_SINCE = 37
"""MQVersion V3_0_11: older brokers send a bare TopicConfigSerializeWrapper."""
MAPPINGS_SINCE = 413
"""MQVersion V5_0_0: from here on the compressed form ends with queue mappings."""

_INT32 = struct.Struct(">i")


def body_crc32(body: bytes) -> int:
    """The checksum of header field bodyCrc32."""
    return zlib.crc32(body) & 0x7FFFFFFF


class RegisterBrokerBody(Body, frozen=True):
    topic_config_serialize_wrapper: TopicConfigAndMappingSerializeWrapper = field(
        default_factory=TopicConfigAndMappingSerializeWrapper
    )
    filter_server_list: tuple[str, ...] = ()

    @classmethod
    def decode(cls, data: bytes | bytearray | memoryview, *, version: int = MQ_VERSION) -> Self:
        """Either form; `version` is the sender's MQVersion."""
        if bytes(data[:1]) == b"{":
            return cls.from_json(fastjson.loads(data))
        return cls(*_decode_inflated(_inflate(bytes(data)), version))

    def encode(self, compress: bool = False, *, version: int = MQ_VERSION) -> bytes:
        if not compress:
            return fastjson.dumps(self.to_json())
        return zlib.compress(_encode_inflated(self, version), zlib.Z_BEST_COMPRESSION)


def encode_topic_line(topic: TopicConfig) -> str:
    line = (
        f"{topic.topic_name} {topic.read_queue_nums} {topic.write_queue_nums} "
        f"{topic.perm} {topic.topic_filter_type.name}"
    )
    return f"{line} {fastjson.dumps(topic.attributes).decode()}" if topic.attributes else line


def decode_topic_line(line: str) -> TopicConfig:
    parts = line.split(" ", 5)
    if len(parts) < 5:
        raise BadRequest(f"a topic of a compressed registration has {len(parts)} parts, 5 are needed")
    try:
        read_queue_nums, write_queue_nums, perm = (int(part) for part in parts[1:4])
        filter_type = TopicFilterType[parts[4]]
    except (ValueError, KeyError):
        raise BadRequest(f"a topic of a compressed registration is malformed: {line!r:.80}") from None
    attributes = fastjson.loads(parts[5].encode()) if len(parts) > 5 and parts[5] else {}
    return TopicConfig.from_json(
        {
            "topicName": parts[0],
            "readQueueNums": read_queue_nums,
            "writeQueueNums": write_queue_nums,
            "perm": perm,
            "topicFilterType": filter_type.name,
            "attributes": attributes,
        }
    )


def _encode_inflated(body: RegisterBrokerBody, version: int) -> bytes:
    wrapper = body.topic_config_serialize_wrapper
    parts = [_sized(wrapper.data_version.encode())]
    parts += _counted(encode_topic_line(topic).encode() for topic in wrapper.topic_config_table.values())
    parts.append(_sized(fastjson.dumps(list(body.filter_server_list))))
    if version >= MAPPINGS_SINCE:
        parts += _counted(info.encode() for info in wrapper.topic_queue_mapping_info_map.values())
    return b"".join(parts)


def _sized(part: bytes) -> bytes:
    return _INT32.pack(len(part)) + part


def _counted(items: Iterable[bytes]) -> list[bytes]:
    parts = [_sized(item) for item in items]
    return [_INT32.pack(len(parts)), *parts]


def _inflate(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    try:
        inflated = stream.decompress(data, INFLATED_LIMIT_BYTES)
    except zlib.error as error:
        raise BadRequest(f"the registration body is neither JSON nor zlib: {error}") from None
    if not stream.eof:
        raise BadRequest(f"the registration body is cut short or inflates above {INFLATED_LIMIT_BYTES} bytes")
    return inflated


def _decode_inflated(
    data: bytes, version: int
) -> tuple[TopicConfigAndMappingSerializeWrapper, tuple[str, ...]]:
    cursor = _Cursor(data)
    data_version = DataVersion.decode(cursor.sized())
    topics = [decode_topic_line(_utf8(cursor.sized())) for _ in range(cursor.count())]
    filter_servers = fastjson.loads(cursor.sized())
    if not isinstance(filter_servers, list):
        raise BadRequest("the filter servers of a registration must be a JSON array")
    mappings: list[TopicQueueMappingInfo] = []
    if version >= MAPPINGS_SINCE and not cursor.at_end:
        mappings = [TopicQueueMappingInfo.decode(cursor.sized()) for _ in range(cursor.count())]
    wrapper = TopicConfigAndMappingSerializeWrapper(
        topic_config_table={topic.topic_name: topic for topic in topics},
        data_version=data_version,
        topic_queue_mapping_info_map={info.topic: info for info in mappings},
    )
    return wrapper, tuple(str(server) for server in filter_servers)


def _utf8(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadRequest("a topic of a compressed registration is not UTF-8") from None


class _Cursor:
    """Reads lengths and counts that cannot lead outside of the data."""

    __slots__ = ("data", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    @property
    def at_end(self) -> bool:
        return self.position >= len(self.data)

    def count(self) -> int:
        """A number of items; each takes at least its 4 bytes of length."""
        value = self._int32()
        if not 0 <= value <= (len(self.data) - self.position) // 4:
            raise BadRequest(f"the registration body announces {value} items that it cannot hold")
        return value

    def sized(self) -> bytes:
        size = self._int32()
        if not 0 <= size <= len(self.data) - self.position:
            raise BadRequest(f"the registration body announces {size} bytes that it does not hold")
        start = self.position
        self.position = start + size
        return self.data[start : self.position]

    def _int32(self) -> int:
        if len(self.data) - self.position < _INT32.size:
            raise BadRequest("the registration body ends inside a length")
        (value,) = _INT32.unpack_from(self.data, self.position)
        self.position += _INT32.size
        return int(value)

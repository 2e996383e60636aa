"""From an application's messages to what travels: unique keys, checks, properties, compression, batches.

Pure; ids and time are passed in. All that can be wrong with a message is reported here, before anything is
sent. Property names that mean something to clients or brokers cannot be set through `Message.properties`:
they would change how a message is treated.

The messages of a batch share one topic and one queue; none of them may be delayed. Each has its own unique
key and properties. Bodies of a batch are not compressed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import orjson

from engine.client.messages import Message
from engine.client.options import Compression, ProducerOptions
from engine.errors import BadInput
from engine.protocol.batches import BatchItem, encode_batch
from engine.protocol.codes import ResponseCode
from engine.protocol.compression import compress
from engine.protocol.message_ids import UniqueKeys
from engine.protocol.names import RETRY_PREFIX
from engine.protocol.properties import PROPERTY_NAMES, encode_properties
from engine.protocol.record_layout import MAX_PROPERTIES_BYTES
from engine.protocol.sys_flags import LZ4, ZLIB, ZSTD, with_compression

_COUNTER_DIGITS = 4


class MessageKeys:
    """`next(now_ms)`: a new unique key; `take(count, now_ms)`: many."""

    __slots__ = ("_counter", "_keys", "_now_ms", "_stem")

    def __init__(self, ip: str, pid: int, salt: int) -> None:
        self._keys = UniqueKeys(ip, pid, salt)
        self._now_ms = -1
        self._stem = ""
        self._counter = 0

    def next(self, now_ms: int) -> str:
        if now_ms != self._now_ms:
            self._begin(now_ms)
        self._counter = counter = (self._counter + 1) & 0xFFFF
        return f"{self._stem}{counter:04X}"

    def take(self, count: int, now_ms: int) -> list[str]:
        """At most 65,536, or they would repeat within the millisecond."""
        if now_ms != self._now_ms:
            self._begin(now_ms)
        stem, first = self._stem, self._counter + 1
        self._counter = (self._counter + count) & 0xFFFF
        return [f"{stem}{counter & 0xFFFF:04X}" for counter in range(first, first + count)]

    def _begin(self, now_ms: int) -> None:
        self._stem = self._keys.next(now_ms)[:-_COUNTER_DIGITS]
        self._now_ms = now_ms


_KINDS = {"zlib": ZLIB, "lz4": LZ4, "zstd": ZSTD}
_WAIT = {True: "WAIT\x01true\x02", False: "WAIT\x01false\x02"}


class Draft(NamedTuple):
    """A message ready to travel; the same through all tries. `properties` is a JSON string literal."""

    body: bytes
    properties: bytes
    sys_flag: int
    flag: int
    msg_id: str


def properties_text(message: Message, unique_key: str, waits: bool) -> str:
    """The properties that the message is stored with, as far as the client decides."""
    text = f"UNIQ_KEY\x01{unique_key}\x02{_WAIT[waits]}"
    is_for_later = message.is_for_later
    if not (message.tags or message.keys or message.properties or is_for_later):
        return text
    pairs = 2
    if message.tags:
        text += f"TAGS\x01{message.tags}\x02"
        pairs += 1
    if message.keys:
        text += f"KEYS\x01{_joined(message.keys)}\x02"
        pairs += 1
    if is_for_later:
        text += _later(message)
        pairs += 1
    if message.properties:
        text += _own_properties(message.properties)
        pairs += len(message.properties)
    if text.count("\x01") != pairs or text.count("\x02") != pairs:
        raise _illegal("a tag, key or property contains 0x01 or 0x02")
    if len(text) > MAX_PROPERTIES_BYTES // 4 and len(text.encode()) > MAX_PROPERTIES_BYTES:
        raise _illegal(f"the properties take more than {MAX_PROPERTIES_BYTES} bytes")
    return text


def _later(message: Message) -> str:
    delay_ms = message.delay_ms or math.ceil(message.delay_s * 1000)
    delays = {
        "DELAY": message.delay_level,
        "TIMER_DELAY_MS": delay_ms,
        "TIMER_DELIVER_MS": message.deliver_at_ms,
    }
    given = {name: value for name, value in delays.items() if value}
    if len(given) != 1 or (message.delay_ms and message.delay_s):
        raise _illegal("set one of delay_level, delay_ms, delay_s and deliver_at_ms, not several")
    ((name, value),) = given.items()
    if value < 0:
        raise _illegal(f"{name} is {value}: a delay or a time must not be negative")
    return f"{name}\x01{value}\x02"


def _joined(keys: str | Iterable[str]) -> str:
    return keys if isinstance(keys, str) else " ".join(keys)


def _own_properties(properties: dict[str, str]) -> str:
    for name, value in properties.items():
        if not name or not value:
            raise _illegal(f"the property {name!r} has an empty name or value, which readers drop")
        if name in PROPERTY_NAMES:
            raise _illegal(f"the property {name} is reserved; set the field of Message instead")
    return "".join([f"{name}\x01{value}\x02" for name, value in properties.items()])


def check_body(body: bytes, max_message_bytes: int) -> None:
    if not body:
        raise _illegal("the body is empty")
    if len(body) > max_message_bytes:
        raise _illegal(f"the body is {len(body)} bytes long, {max_message_bytes} are allowed")


def draft(message: Message, unique_key: str, waits: bool, packed: tuple[bytes, int]) -> Draft:
    """`packed` is the body as it travels with its flag bits: from `pack_body`, or as it is with 0."""
    properties = orjson.dumps(properties_text(message, unique_key, waits))
    return Draft(packed[0], properties, packed[1], message.flag, unique_key)


def marked_draft(
    message: Message, unique_key: str, packed: tuple[bytes, int], marks: Mapping[str, str], flag_bits: int
) -> Draft:
    """A message with properties of the system's own: half messages, requests, replies."""
    text = properties_text(message, unique_key, True) + encode_properties(marks)
    if len(text.encode()) > MAX_PROPERTIES_BYTES:
        raise _illegal(f"the properties take more than {MAX_PROPERTIES_BYTES} bytes")
    return Draft(packed[0], orjson.dumps(text), packed[1] | flag_bits, message.flag, unique_key)


def pack_body(body: bytes, kind: Compression, level: int) -> tuple[bytes, int]:
    """The compressed body with its sysFlag bits, or the body itself when compressing makes it no smaller."""
    if kind == "none":
        return body, 0
    smaller = compress(body, _KINDS[kind], level)
    return (smaller, with_compression(0, _KINDS[kind])) if len(smaller) < len(body) else (body, 0)


MAX_BATCH_MESSAGES = 65_536
"""As many unique keys as a millisecond has."""

_ITEM_OVERHEAD_BYTES = 22


def batch_drafts(
    messages: Sequence[Message], keys: MessageKeys, now_ms: int, waits: bool, options: ProducerOptions
) -> Iterator[Draft]:
    """The requests that these messages take, each at most `max_batch_bytes` long (or one message)."""
    check_batch(messages)
    limit = min(options.max_batch_bytes, options.max_message_bytes)
    items: list[BatchItem] = []
    first = size = 0
    msg_ids = keys.take(len(messages), now_ms)
    for index, message in enumerate(messages):
        body = message.body
        if not 0 < len(body) <= options.max_message_bytes:
            check_body(body, options.max_message_bytes)
        properties = properties_text(message, msg_ids[index], waits).encode()
        item_size = _ITEM_OVERHEAD_BYTES + len(body) + len(properties)
        if size + item_size > limit and items:
            yield _draft(items, msg_ids[first:index], waits)
            items, first, size = [], index, 0
        items.append(BatchItem(message.flag, body, properties))
        size += item_size
    yield _draft(items, msg_ids[first:], waits)


def check_batch(messages: Sequence[Message]) -> None:
    topic = messages[0].topic
    if len(messages) > MAX_BATCH_MESSAGES:
        raise _illegal(f"a batch of {len(messages)} messages, at most {MAX_BATCH_MESSAGES} are accepted")
    for message in messages:
        if message.topic != topic:
            raise _illegal(f"the messages of a batch must have one topic, not {topic} and {message.topic}")
        if message.is_for_later:
            raise _illegal("a delayed message cannot be part of a batch")
    if topic.startswith(RETRY_PREFIX):
        raise _illegal("a batch cannot go to a retry topic")


def _draft(items: list[BatchItem], msg_ids: list[str], waits: bool) -> Draft:
    # No unique key here: brokers up to 5.1 append these properties to those of each message, where the later
    # of two keys counts, and all messages would bear one id.
    wrapper = orjson.dumps(f"WAIT\x01{'true' if waits else 'false'}\x02")
    return Draft(encode_batch(items), wrapper, 0, 0, ",".join(msg_ids))


def _illegal(text: str) -> BadInput:
    return BadInput(text, code=ResponseCode.MESSAGE_ILLEGAL)

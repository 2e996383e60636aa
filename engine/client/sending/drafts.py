"""From an application's message to what travels: checks, properties, compression. Pure; ids and time passed
in.

All that can be wrong with a message is said here, before anything is sent. Property names that mean something
to clients or brokers cannot be set through `Message.properties`: they would change how a message is treated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import orjson

from engine.client.messages import Message
from engine.client.options import Compression
from engine.errors import BadInput
from engine.protocol.codes import ResponseCode
from engine.protocol.compression import compress
from engine.protocol.properties import PROPERTY_NAMES, encode_properties
from engine.protocol.records import MAX_PROPERTIES_BYTES
from engine.protocol.sys_flags import LZ4, ZLIB, ZSTD, with_compression

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
    asked = {
        "DELAY": message.delay_level,
        "TIMER_DELAY_MS": delay_ms,
        "TIMER_DELIVER_MS": message.deliver_at_ms,
    }
    given = {name: value for name, value in asked.items() if value}
    if len(given) != 1 or (message.delay_ms and message.delay_s):
        raise _illegal(
            "a message waits for one of delay_level, delay_ms, delay_s and deliver_at_ms, not several"
        )
    ((name, value),) = given.items()
    if value < 0:
        raise _illegal("a delay or a time is not negative")
    return f"{name}\x01{value}\x02"


def _joined(keys: str | Iterable[str]) -> str:
    return keys if isinstance(keys, str) else " ".join(keys)


def _own_properties(properties: dict[str, str]) -> str:
    for name, value in properties.items():
        if not name or not value:
            raise _illegal(f"the property {name!r} has no name or no value, which no reader would keep")
        if name in PROPERTY_NAMES:
            raise _illegal(f"the property {name} is the system's own; use the field that stands for it")
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
    """The body compressed, unless that gains nothing, and the sysFlag bits that say so."""
    if kind == "none":
        return body, 0
    smaller = compress(body, _KINDS[kind], level)
    return (smaller, with_compression(0, _KINDS[kind])) if len(smaller) < len(body) else (body, 0)


def _illegal(text: str) -> BadInput:
    return BadInput(text, code=ResponseCode.MESSAGE_ILLEGAL)

"""One remoting command: a request or its answer, and the two codecs of its header.

A frame on the wire (all integers big-endian):

    total length int32 | serialize type uint8 + header length uint24 | header | body
    total length counts everything behind itself: 4 + header + body

Header type 0 is JSON (`extFields` is a map of strings; some clients send numbers and booleans, which become
strings here), type 1 is RocketMQ's binary form. A reply uses the type of its request, because the C++ and
Node clients understand JSON alone. Pure functions over bytes; safe from any thread.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from typing import Protocol

import orjson

from engine.errors import ProtocolError
from engine.protocol.codes import MQ_VERSION, LanguageCode

JSON_HEADER = 0
BINARY_HEADER = 1
RESPONSE_FLAG = 1
ONEWAY_FLAG = 2
MAX_EXT_FIELDS = 256

_PREFIX = struct.Struct(">iI")
_BINARY_FIXED = struct.Struct(">hbhii")
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_FOUR_INT32 = struct.Struct(">iiii")

# A JSON header in the order of its keys: field by field is quicker than a dict of them.
_JSON = (
    b'{"code":%d,"extFields":%b,"flag":%d,"language":"%b","opaque":%d,%b'
    b'"serializeTypeCurrentRPC":"JSON","version":%d}'
)
_REMARK = b'"remark":%b,'
# The same with all filled in that replies have in common.
_PLAIN_REPLY = (
    _JSON.replace(b'"flag":%d,"language":"%b"', b'"flag":1,"language":"PYTHON"')
    .replace(b'%b"serialize', b'"serialize')
    .replace(b'"version":%d', b'"version":%d' % MQ_VERSION)
)
_REPLY = _PLAIN_REPLY.replace(b'"serialize', _REMARK + b'"serialize')

Buffer = bytes | bytearray | memoryview


@dataclass(slots=True)
class Command:
    """A decoded frame. `fields` are the extFields, always strings."""

    code: int
    opaque: int = 0
    flag: int = 0
    remark: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    body: Buffer = b""
    language: int = LanguageCode.PYTHON
    version: int = MQ_VERSION
    serialize_type: int = JSON_HEADER

    @property
    def is_response(self) -> bool:
        return bool(self.flag & RESPONSE_FLAG)

    @property
    def is_oneway(self) -> bool:
        return bool(self.flag & ONEWAY_FLAG)

    def answering(self, request: Command) -> Command:
        """This reply, addressed to `request`: same opaque, same header type, response flag."""
        return replace(
            self,
            opaque=request.opaque,
            flag=self.flag | RESPONSE_FLAG,
            serialize_type=request.serialize_type,
        )


def encode_command(command: Command) -> bytes:
    """The whole frame, length prefix included."""
    if command.serialize_type == BINARY_HEADER:
        return _frame(BINARY_HEADER, _encode_binary_header(command), command.body)
    language = _LANGUAGE_NAMES.get(command.language, b"OTHER")
    remark = b"" if command.remark is None else _REMARK % orjson.dumps(command.remark)
    fields = orjson.dumps(command.fields)
    header = _JSON % (command.code, fields, command.flag, language, command.opaque, remark, command.version)
    return _frame(JSON_HEADER, header, command.body)


class Answer(Protocol):
    """What a reply consists of."""

    @property
    def code(self) -> int: ...
    @property
    def remark(self) -> str | None: ...
    @property
    def fields(self) -> dict[str, str]: ...
    @property
    def body(self) -> Buffer: ...


def encode_reply(request: Command, reply: Answer) -> bytes:
    """The reply's frame in the header type of its request, every field a JSON string."""
    if request.serialize_type == BINARY_HEADER:
        answer = Command(reply.code, remark=reply.remark, fields=reply.fields, body=reply.body)
        return encode_command(answer.answering(request))
    fields = orjson.dumps(reply.fields)
    if reply.remark is None:
        header = _PLAIN_REPLY % (reply.code, fields, request.opaque)
    else:
        header = _REPLY % (reply.code, fields, request.opaque, orjson.dumps(reply.remark))
    size, body = len(header), reply.body
    return _PREFIX.pack(4 + size + len(body), JSON_HEADER << 24 | size) + header + body


def _frame(serialize_type: int, header: bytes, body: Buffer) -> bytes:
    size = len(header)
    return _PREFIX.pack(4 + size + len(body), serialize_type << 24 | size) + header + body


def decode_header(serialize_type: int, header: Buffer, body: Buffer) -> Command:
    """The command of one frame whose lengths were already checked."""
    if serialize_type == JSON_HEADER:
        return _decode_json_header(header, body)
    if serialize_type == BINARY_HEADER:
        return _decode_binary_header(header, body)
    raise ProtocolError(f"unknown header type {serialize_type}")


def _decode_json_header(header: Buffer, body: Buffer) -> Command:
    try:
        values = orjson.loads(header)
    except orjson.JSONDecodeError as error:
        raise ProtocolError(f"header is not JSON: {error}") from None
    return command_of(values, body)


def command_of(values: object, body: Buffer) -> Command:
    """The command of a parsed JSON header, with every tolerance. `_frames_cy` spares everyday ones this."""
    if type(values) is not dict:
        raise ProtocolError("header is not a JSON object")
    get = values.get
    code, opaque, flag, version = get("code"), get("opaque", 0), get("flag", 0), get("version", 0)
    if not (type(code) is int and type(opaque) is int and type(flag) is int and type(version) is int):
        raise ProtocolError("code, opaque, flag or version of the header is not a number")
    try:
        # One call that is only content with four numbers in range.
        _FOUR_INT32.pack(code, opaque, flag, version)
    except struct.error:
        raise ProtocolError("code, opaque, flag or version of the header is not an int32") from None
    remark = get("remark")
    language = get("language")
    return Command(
        code,
        opaque,
        flag,
        remark if type(remark) is str else None,
        _string_map(get("extFields")),
        body,
        LANGUAGE_CODES.get(language, _OTHER) if type(language) is str else _OTHER,
        version,
    )


def _string_map(values: object) -> dict[str, str]:
    """extFields with every value a string; null members are dropped, nested ones refused."""
    if values is None:
        return {}
    if type(values) is not dict:
        raise ProtocolError("extFields is not a JSON object")
    if len(values) > MAX_EXT_FIELDS:
        raise ProtocolError(f"{len(values)} extFields, at most {MAX_EXT_FIELDS} are accepted")
    try:
        # Quicker than asking each for its type, and nearly every client sends strings alone.
        "".join(values.values())
    except TypeError:
        return {key: _text(value) for key, value in values.items() if value is not None}
    return values


def _text(value: object) -> str:
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int or type(value) is float:
        return str(value)
    raise ProtocolError("extFields holds a nested value")


def _encode_binary_header(command: Command) -> bytes:
    parts = [
        _BINARY_FIXED.pack(command.code, command.language, command.version, command.opaque, command.flag)
    ]
    remark = (command.remark or "").encode()
    parts += (_INT32.pack(len(remark)), remark)
    ext: list[bytes] = []
    for key, value in command.fields.items():
        raw_key, raw_value = key.encode(), value.encode()
        ext += (_INT16.pack(len(raw_key)), raw_key, _INT32.pack(len(raw_value)), raw_value)
    fields = b"".join(ext)
    parts += (_INT32.pack(len(fields)), fields)
    return b"".join(parts)


def _decode_binary_header(header: Buffer, body: Buffer) -> Command:
    reader = _BinaryReader(header)
    try:
        code, language, version, opaque, flag = _BINARY_FIXED.unpack_from(header)
        reader.position = _BINARY_FIXED.size
        remark = reader.text(reader.int32())
        fields = reader.ext_fields(reader.int32())
    except struct.error:
        raise ProtocolError("binary header is too short") from None
    except UnicodeDecodeError:
        raise ProtocolError("binary header is not UTF-8") from None
    known = LanguageCode(language) if language in _LANGUAGE_NAMES else LanguageCode.OTHER
    return Command(code, opaque, flag, remark or None, fields, body, known, version, BINARY_HEADER)


class _BinaryReader:
    """A cursor over a binary header. Every length is checked: slices accept negative bounds silently."""

    __slots__ = ("data", "position")

    def __init__(self, data: Buffer) -> None:
        self.data = bytes(data)
        self.position = 0

    def int32(self) -> int:
        (value,) = _INT32.unpack_from(self.data, self.position)
        self.position += 4
        return int(value)

    def int16(self) -> int:
        (value,) = _INT16.unpack_from(self.data, self.position)
        self.position += 2
        return int(value)

    def text(self, length: int) -> str:
        end = self.position + length
        if length < 0 or end > len(self.data):
            raise ProtocolError("binary header has a length beyond its end")
        text = self.data[self.position : end].decode()
        self.position = end
        return text

    def ext_fields(self, length: int) -> dict[str, str]:
        end = self.position + length
        if length < 0 or end > len(self.data):
            raise ProtocolError("binary header has a length beyond its end")
        fields: dict[str, str] = {}
        while self.position < end:
            key = self.text(self.int16())
            value = self.text(self.int32())
            if value:
                fields[key] = value
            if len(fields) > MAX_EXT_FIELDS:
                raise ProtocolError(f"more than {MAX_EXT_FIELDS} extFields")
        if self.position != end:
            raise ProtocolError("binary extFields disagree with their length")
        return fields


_LANGUAGE_NAMES = {int(language): language.name.encode() for language in LanguageCode}
_OTHER = int(LanguageCode.OTHER)
LANGUAGE_CODES = {language.name: int(language) for language in LanguageCode}

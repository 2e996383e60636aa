"""JSON as fastjson 1.2 writes and reads it: the dialect of every RocketMQ body and configuration file.

What differs from JSON:

    integer keys      {0:"10.0.0.1:10911"}                                written without quotes
    object keys       {{"brokerName":"b","queueId":0,"topic":"t"}:5}      a bean in key position
    single quotes     {'a':'b'}                                           read, never written

`loads` gives plain dicts, lists and scalars. An integer key comes back as a string, quoted or not, so that
readers need one rule; an object key comes back as an `ObjectKey`. `dumps` sorts keys, leaves out members
that are None, writes integer keys without quotes and any key that has `to_json` as an object.

Invariant: whatever the bytes, `loads` returns or raises `BadRequest`; nesting above `MAX_DEPTH` is refused,
so the recursion of reader and writer is bounded. Ordinary JSON takes orjson's path; the slow reader for the
dialect is bounded in size because it runs on the event loop.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

import orjson

from engine.errors import BadInput, BadRequest

MAX_DEPTH = 32
DIALECT_LIMIT_BYTES = 2 * 1024 * 1024
"""The reader of object keys needs microseconds per member: this bounds how long a body holds the loop."""

_PLAIN_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS


@dataclass(frozen=True, slots=True)
class ObjectKey:
    """An object that stood in key position; members sorted by name, scalars only, hence hashable."""

    members: tuple[tuple[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        return dict(self.members)


def loads(data: bytes | bytearray | memoryview, *, dialect_limit_bytes: int = DIALECT_LIMIT_BYTES) -> Any:
    """Parse JSON or fastjson's dialect; files that are ours to trust may pass a larger dialect limit."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return _read_dialect(bytes(data), dialect_limit_bytes)
    _check_depth(value, data)
    return value


def dumps(obj: Any, *, quote_numeric_keys: bool = False, ascii: bool = False) -> bytes:
    """Write `obj` as fastjson does by default; both flags together are its "standard" style for routes."""
    option = _PLAIN_OPTIONS | orjson.OPT_NON_STR_KEYS if quote_numeric_keys else _PLAIN_OPTIONS
    try:
        data = orjson.dumps(obj, default=_plain, option=option)
    except TypeError:
        # A key that only the dialect knows, or an integer beyond 64 bits.
        return _write_dialect(obj, quote_numeric_keys, ascii)
    if b":null" in data or (ascii and not data.isascii()):
        return _write_dialect(obj, quote_numeric_keys, ascii)
    return data


def dumps_pretty(obj: Any) -> bytes:
    """Indented, for files that operators read; integer keys are quoted, which every reader accepts."""
    option = _PLAIN_OPTIONS | orjson.OPT_NON_STR_KEYS | orjson.OPT_INDENT_2
    return orjson.dumps(obj, default=_plain, option=option)


def compact(data: bytes) -> bytes:
    """The same bytes for who keeps them: what orjson returns holds a whole page of memory, however short."""
    return b"%b" % data


def _plain(obj: Any) -> Any:
    to_json = getattr(obj, "to_json", None)
    if to_json is not None:
        return to_json()
    if isinstance(obj, (set, frozenset)):
        return sorted(obj)
    raise TypeError(type(obj).__name__)


def _check_depth(value: Any, data: bytes | bytearray | memoryview) -> None:
    text = bytes(data)
    # Fewer brackets than levels: the usual body is cleared without a walk.
    if not isinstance(value, (dict, list)) or text.count(b"{") + text.count(b"[") <= MAX_DEPTH:
        return
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return
    raise BadRequest(f"JSON is nested deeper than {MAX_DEPTH} levels")


# --- reading the dialect ---------------------------------------------------------------------------

_SPACE = re.compile(r"[ \t\r\n]*")
_PLAIN_STRING = re.compile(r'"([^"\\\x00-\x1f]*)"')
_DOUBLE_QUOTED = re.compile(r'"((?:[^"\\\x00-\x1f]|\\.)*)"')
_SINGLE_QUOTED = re.compile(r"'((?:[^'\\\x00-\x1f]|\\.)*)'")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NUMERIC_KEY = re.compile(r"-?[0-9]{1,20}")
_WORDS = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"true|false|null")
# Strings are matched only to be stepped over: what looks like a key inside one is text. The closing quote is
# optional so that an unclosed string is stepped over too, once, and not again from each quote inside it.
_STRING_OR_BARE_KEY = re.compile(rb'"(?:[^"\\]|\\[\s\S])*+"?|([{,][ \t\r\n]*)(-?[0-9]{1,20})(?=[ \t\r\n]*:)')


def _read_dialect(data: bytes, limit_bytes: int) -> Any:
    if len(data) > limit_bytes:
        raise BadRequest(f"not JSON, and too large to be read as fastjson's dialect ({len(data)} bytes)")
    try:
        # Bare integer keys are by far the most frequent oddity: quoted, they are orjson's again.
        quoted = _STRING_OR_BARE_KEY.sub(_quote_bare_key, data)
        value = orjson.loads(quoted)
    except orjson.JSONDecodeError:
        return _read_slowly(data)
    _check_depth(value, quoted)
    return value


def _quote_bare_key(match: re.Match[bytes]) -> bytes:
    return match[0] if match[2] is None else b'%b"%b"' % (match[1], match[2])


def _read_slowly(data: bytes) -> Any:
    try:
        text = data.decode("utf-8")
        reader = _DialectReader(text)
        value = reader.value(0)
    except ValueError as error:
        # Bad UTF-8, a bad escape (orjson) and an integer too long for int() are all ValueErrors.
        raise BadRequest(f"malformed JSON: {error}") from None
    reader.skip_space()
    if reader.position != len(text):
        raise reader.malformed("end of text")
    return value


class _DialectReader:
    """Recursive descent over one text; `position` is the next unread character."""

    __slots__ = ("position", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def malformed(self, expected: str) -> BadRequest:
        return BadRequest(f"malformed JSON: expected {expected} at character {self.position}")

    def skip_space(self) -> None:
        self.position = _SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]

    def peek(self) -> str:
        self.skip_space()
        return self.text[self.position : self.position + 1]

    def take(self, mark: str) -> None:
        if self.peek() != mark:
            raise self.malformed(repr(mark))
        self.position += 1

    def value(self, depth: int) -> Any:
        first = self.peek()
        if first == "{":
            return self.object(depth + 1)
        if first == "[":
            return self.array(depth + 1)
        if first in ('"', "'"):
            return self.string(first)
        return self.number_or_word()

    def object(self, depth: int) -> dict[Any, Any]:
        self.enter(depth)
        members: dict[Any, Any] = {}
        if self.peek() == "}":
            self.position += 1
            return members
        while True:
            key = self.key(depth)
            self.take(":")
            members[key] = self.value(depth)
            if self.ends_with("}"):
                return members

    def array(self, depth: int) -> list[Any]:
        self.enter(depth)
        items: list[Any] = []
        if self.peek() == "]":
            self.position += 1
            return items
        while True:
            items.append(self.value(depth))
            if self.ends_with("]"):
                return items

    def enter(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise BadRequest(f"JSON is nested deeper than {MAX_DEPTH} levels")
        self.position += 1

    def ends_with(self, close: str) -> bool:
        """Step over the separator after a member; true when it was the closing bracket."""
        mark = self.peek()
        if mark != "," and mark != close:
            raise self.malformed(f"',' or {close!r}")
        self.position += 1
        return mark == close

    def key(self, depth: int) -> str | ObjectKey:
        first = self.peek()
        if first in ('"', "'"):
            return self.string(first)
        if first == "{":
            members = self.object(depth + 1)
            if any(isinstance(item, (dict, list)) for item in members.values()):
                raise self.malformed("an object key of scalars")
            return ObjectKey(tuple(sorted(members.items(), key=lambda member: str(member[0]))))
        match = _NUMERIC_KEY.match(self.text, self.position)
        if match is None:
            raise self.malformed("a key")
        self.position = match.end()
        return match.group()

    def string(self, quote: str) -> str:
        match = _PLAIN_STRING.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
            return match.group(1)
        match = (_DOUBLE_QUOTED if quote == '"' else _SINGLE_QUOTED).match(self.text, self.position)
        if match is None:
            raise self.malformed("a string")
        self.position = match.end()
        if quote == '"':
            return str(orjson.loads(match.group()))
        # Rewritten as a double-quoted string; pairs are taken whole so that \\' keeps its meaning.
        inner = re.sub(r"\\.|\"", _requote, match.group(1))
        return str(orjson.loads(f'"{inner}"'))

    def number_or_word(self) -> Any:
        match = _NUMBER.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
            fraction, exponent = match.groups()
            return int(match.group()) if fraction is None and exponent is None else float(match.group())
        match = _WORD.match(self.text, self.position)
        if match is None:
            raise self.malformed("a value")
        self.position = match.end()
        return _WORDS[match.group()]


def _requote(match: re.Match[str]) -> str:
    return {"\\'": "'", '"': '\\"'}.get(match.group(), match.group())


# --- writing the dialect ---------------------------------------------------------------------------

_WRITE_DEPTH = 64
_quote_unicode = json.JSONEncoder(ensure_ascii=False).encode
_quote_ascii = json.JSONEncoder(ensure_ascii=True).encode


def _write_dialect(obj: Any, quote_numeric_keys: bool, ascii_only: bool) -> bytes:
    writer = _DialectWriter(quote_numeric_keys, ascii_only)
    writer.value(obj, 0)
    return "".join(writer.parts).encode("utf-8", "replace")


class _DialectWriter:
    __slots__ = ("parts", "quote", "quote_numeric_keys")

    def __init__(self, quote_numeric_keys: bool, ascii_only: bool) -> None:
        self.parts: list[str] = []
        self.quote = _quote_ascii if ascii_only else _quote_unicode
        self.quote_numeric_keys = quote_numeric_keys

    def value(self, obj: Any, depth: int) -> None:
        if depth > _WRITE_DEPTH:
            raise BadInput(f"value is nested deeper than {_WRITE_DEPTH} levels")
        if isinstance(obj, dict):
            self.members(obj, depth + 1)
        elif isinstance(obj, (list, tuple)):
            self.items(obj, depth + 1)
        elif obj is None or isinstance(obj, (str, int, float)):
            self.parts.append(self.scalar(obj))
        else:
            self.value(_plain(obj), depth + 1)

    def scalar(self, obj: str | float | None) -> str:
        if isinstance(obj, str):
            return self.quote(obj)
        if obj is None or _is_not_finite(obj):
            return "null"
        if isinstance(obj, bool):
            return "true" if obj else "false"
        return repr(obj) if isinstance(obj, float) else str(int(obj))

    def items(self, items: list[Any] | tuple[Any, ...], depth: int) -> None:
        self.parts.append("[")
        for index, item in enumerate(items):
            if index:
                self.parts.append(",")
            self.value(item, depth)
        self.parts.append("]")

    def members(self, members: dict[Any, Any], depth: int) -> None:
        mark = "{"
        for key, item in sorted(members.items(), key=_key_order):
            if item is None or _is_not_finite(item):
                continue
            self.parts.append(mark)
            self.key(key, depth)
            self.parts.append(":")
            self.value(item, depth)
            mark = ","
        self.parts.append("{}" if mark == "{" else "}")

    def key(self, key: Any, depth: int) -> None:
        if isinstance(key, str):
            self.parts.append(self.quote(key))
        elif isinstance(key, int):
            self.parts.append(f'"{int(key)}"' if self.quote_numeric_keys else str(int(key)))
        else:
            self.value(_plain(key), depth)


def _is_not_finite(obj: Any) -> bool:
    """NaN and infinities have no JSON form; Java readers want them absent."""
    return isinstance(obj, float) and not math.isfinite(obj)


def _key_order(member: tuple[Any, Any]) -> tuple[int, Any]:
    key = member[0]
    if isinstance(key, int):
        return 0, key
    if isinstance(key, str):
        return 1, key
    return 2, dumps(_plain(key))

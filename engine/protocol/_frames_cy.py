# cython: language_level=3, boundscheck=True, wraparound=False
# mypy: disable-error-code="untyped-decorator,valid-type,no-any-return,unused-ignore"
# (C types are not Python types; the public function is plainly typed.)
"""Cuts received bytes into commands, compiled where a compiler exists: every request of every client passes
here.

It judges nothing. A frame whose lengths are out of bounds ends the cut in front of it, for `frames` to
refuse; a header that is not of the everyday shape (JSON, all numbers int32, all extFields strings) is read by
`commands`; one in the very shape of the Java client's is read without orjson. The same source runs uncompiled
with the same results. Safe from any thread: the one table, of field names, only ever caches.
"""

from __future__ import annotations

from orjson import JSONDecodeError, loads

from engine.protocol.commands import (
    JSON_HEADER,
    LANGUAGE_CODES,
    MAX_EXT_FIELDS,
    Command,
    command_of,
    decode_header,
)

try:
    import cython
except ImportError:
    from engine.protocol import cython_shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.cpython.bytes import PyBytes_AS_STRING
    from cython.cimports.engine.protocol._bytes_cy import c_int32_at as int32_at
    from cython.cimports.libc.string import memcmp
else:
    from engine.protocol._bytes_cy import int32_at

_PREFIX_SIZE = cython.declare(cython.Py_ssize_t, 8)
_INT32_MIN = cython.declare(cython.longlong, -0x7FFFFFFF - 1)
_INT32_MAX = cython.declare(cython.longlong, 0x7FFFFFFF)
_MOST_FIELDS = cython.declare(cython.Py_ssize_t, MAX_EXT_FIELDS)
_TEXT_BYTES = cython.declare(cython.Py_ssize_t, 1024)
_NAME_BYTES = cython.declare(cython.Py_ssize_t, 40)
_NAMES_KEPT = cython.declare(cython.Py_ssize_t, 1024)
_MOST_QUICK_FIELDS = cython.declare(cython.Py_ssize_t, 32)
_names: dict[bytes, str] = cython.declare(dict, {})


def is_compiled() -> bool:
    return bool(cython.compiled)


def cut_frames(
    data: bytes, max_frame_bytes: int, max_header_bytes: int, start: int = 0, most_frames: int = 0x7FFFFFFF
) -> tuple[list[Command], int]:
    """The commands of the whole frames from `start` on, at most so many, and the place behind them: of the
    next one, or of the first that is not whole or out of bounds."""
    view: cython.const[cython.uchar][::1] = memoryview(data)
    commands: list[Command] = []
    most: cython.longlong = max_frame_bytes
    most_header: cython.longlong = max_header_bytes
    pos: cython.Py_ssize_t = start
    end: cython.Py_ssize_t = len(data)
    left: cython.Py_ssize_t = most_frames
    while left > 0 and end - pos >= _PREFIX_SIZE:
        left -= 1
        total: cython.int = int32_at(view, pos)
        mark: cython.int = int32_at(view, pos + 4)
        header_size: cython.int = mark & 0xFFFFFF
        if total < 4 or total > most or header_size > total - 4 or header_size > most_header:
            break
        frame_end: cython.Py_ssize_t = pos + 4 + total
        if frame_end > end:
            break
        body_at: cython.Py_ssize_t = pos + _PREFIX_SIZE + header_size
        header: bytes = data[pos + _PREFIX_SIZE : body_at]
        body: bytes = data[body_at:frame_end]
        serialize_type: cython.int = (mark >> 24) & 0xFF
        if serialize_type == JSON_HEADER:
            commands.append(_json_command(header, body))
        else:
            commands.append(decode_header(serialize_type, header, body))
        pos = frame_end
    return commands, pos


@cython.cfunc
def _json_command(header: bytes, body: bytes) -> Command:
    if cython.compiled:
        quick = _quick_command(header, body)
        if quick is not None:
            return quick
    try:
        values = loads(header)
    except JSONDecodeError:
        return decode_header(JSON_HEADER, header, body)
    try:
        if type(values) is not dict or not _is_everyday(values):
            return command_of(values, body)
    except OverflowError:  # compiled: a number beyond int64
        return command_of(values, body)
    language = LANGUAGE_CODES.get(values["language"])
    if language is None:
        return command_of(values, body)
    return Command(
        values["code"],
        values["opaque"],
        values["flag"],
        None,
        values["extFields"],
        body,
        language,
        values["version"],
    )


@cython.cclass
class _Cursor:
    """Where the quick reader is. Each step says whether it found what it looked for."""

    raw: cython.p_uchar
    at: cython.Py_ssize_t
    end: cython.Py_ssize_t
    text: str
    number: cython.longlong


@cython.cfunc
def _quick_command(header: bytes, body: bytes) -> Command | None:
    """The command of a header as the Java client writes them: compact, in alphabetical order. None for any
    other, which orjson reads. Compiled only: it saves a dictionary of the header, and looking through it."""
    cursor: _Cursor = _Cursor()
    cursor.raw = cython.cast(cython.p_uchar, PyBytes_AS_STRING(header))
    cursor.at = 0
    cursor.end = len(header)
    if not (_take(cursor, b'{"code":', 8) and _take_number(cursor)):
        return None
    code: cython.longlong = cursor.number
    if not _take(cursor, b',"extFields":{', 14):
        return None
    fields: dict[str, str] | None = _quick_fields(cursor)
    if fields is None or not (_take(cursor, b',"flag":', 8) and _take_number(cursor)):
        return None
    flag: cython.longlong = cursor.number
    if not (_take(cursor, b',"language":"', 13) and _take_text(cursor)):
        return None
    language = LANGUAGE_CODES.get(cursor.text)
    if language is None or not (_take(cursor, b',"opaque":', 10) and _take_number(cursor)):
        return None
    opaque: cython.longlong = cursor.number
    if not _take(cursor, b',"serializeTypeCurrentRPC":"JSON","version":', 44) or not _take_number(cursor):
        return None
    if not _take(cursor, b"}", 1) or cursor.at != cursor.end:
        return None
    return Command(code, opaque, flag, None, fields, body, language, cursor.number)


@cython.cfunc
def _quick_fields(cursor: _Cursor) -> dict[str, str] | None:
    """The extFields behind their opening brace."""
    fields: dict[str, str] = {}
    while len(fields) < _MOST_QUICK_FIELDS:
        name: str | None = _take_name(cursor)
        if name is None or not _take(cursor, b'":"', 3) or not _take_text(cursor):
            return None
        fields[name] = cursor.text
        if _take(cursor, b"}", 1):
            return fields
        if not _take(cursor, b",", 1):
            return None
    return None


@cython.cfunc
def _take_name(cursor: _Cursor) -> str | None:
    """A field's name behind its opening quote, ASCII letters only; mostly one that was seen before."""
    if not _take(cursor, b'"', 1):
        return None
    start: cython.Py_ssize_t = cursor.at
    at: cython.Py_ssize_t = start
    while at < cursor.end and at - start < _NAME_BYTES and 0x61 <= cursor.raw[at] | 0x20 <= 0x7A:
        at += 1
    if at == start:
        return None
    raw: bytes = cython.cast(cython.p_char, cursor.raw + start)[: at - start]
    name = _names.get(raw)
    if name is None:
        name = raw.decode("ascii")
        if len(_names) < _NAMES_KEPT:
            _names[raw] = name
    cursor.at = at
    return name


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _take(cursor: _Cursor, wanted: cython.p_char, size: cython.Py_ssize_t) -> cython.bint:
    if cursor.end - cursor.at < size or memcmp(cursor.raw + cursor.at, wanted, size) != 0:
        return False
    cursor.at += size
    return True


@cython.cfunc
@cython.exceptval(check=False)
def _take_number(cursor: _Cursor) -> cython.bint:
    """An int32 that is not negative, as JSON writes it: no sign, no leading zeros."""
    value: cython.longlong = 0
    start: cython.Py_ssize_t = cursor.at
    at: cython.Py_ssize_t = start
    while at < cursor.end and at - start < 11 and 0x30 <= cursor.raw[at] <= 0x39:
        value = value * 10 + cursor.raw[at] - 0x30
        at += 1
    if at == start or value > _INT32_MAX or (cursor.raw[start] == 0x30 and at - start > 1):
        return False
    cursor.at = at
    cursor.number = value
    return True


@cython.cfunc
def _take_text(cursor: _Cursor) -> cython.bint:
    """Text behind its opening quote: printable ASCII, and the two separators of properties."""
    copy = cython.declare(cython.uchar[1024])
    size: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t = cursor.at
    while at < cursor.end and size < _TEXT_BYTES:
        char: cython.uchar = cursor.raw[at]
        if char == 0x22:
            cursor.text = cython.cast(cython.p_char, copy)[:size].decode("ascii")
            cursor.at = at + 1
            return True
        if char == 0x5C:  # a backslash
            if cursor.end - at < 6 or memcmp(cursor.raw + at, b"\\u000", 5) != 0:
                return False
            char = cursor.raw[at + 5] - 0x30
            if char != 1 and char != 2:
                return False
            at += 5
        elif char < 0x20 or char > 0x7E:
            return False
        copy[size] = char
        size += 1
        at += 1
    return False


@cython.cfunc
def _is_everyday(values: dict[str, object]) -> cython.bint:
    """Whether nothing is missing, too large, or of another type than it should be. No remark: requests have
    none."""
    fields = values.get("extFields")
    if (
        type(fields) is not dict
        or type(values.get("language")) is not str
        or values.get("remark") is not None
        or not _is_int32(values.get("code"))
        or not _is_int32(values.get("opaque"))
        or not _is_int32(values.get("flag"))
        or not _is_int32(values.get("version"))
    ):
        return False
    return _are_strings(fields)


@cython.cfunc
def _are_strings(fields: dict[str, object]) -> cython.bint:
    if len(fields) > _MOST_FIELDS:
        return False
    for value in fields.values():  # noqa: SIM110 - a generator would not compile to a C loop
        if type(value) is not str:
            return False
    return True


@cython.cfunc
@cython.exceptval(check=True)
def _is_int32(value: object) -> cython.bint:
    if type(value) is not int:
        return False
    number: cython.longlong = value
    return _INT32_MIN <= number <= _INT32_MAX

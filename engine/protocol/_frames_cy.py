# cython: language_level=3, boundscheck=True, wraparound=False
# mypy: disable-error-code="untyped-decorator,valid-type,no-any-return,unused-ignore"
# (C types are not Python types; the public function is plainly typed.)
"""Cuts received bytes into commands, compiled where a compiler exists: every request of every client passes
here.

It judges nothing. A frame whose lengths are out of bounds ends the cut in front of it, for `frames` to
refuse; a header that is not of the everyday shape (JSON, all numbers int32, all extFields strings) is read by
`commands`. The same source runs uncompiled with the same results. Pure; safe from any thread.
"""

from __future__ import annotations

from struct import Struct

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

_PREFIX_SIZE = cython.declare(cython.Py_ssize_t, 8)
_INT32_MIN = cython.declare(cython.longlong, -0x7FFFFFFF - 1)
_INT32_MAX = cython.declare(cython.longlong, 0x7FFFFFFF)
_MOST_FIELDS = cython.declare(cython.Py_ssize_t, MAX_EXT_FIELDS)
_unpack_prefix = Struct(">ii").unpack_from


def is_compiled() -> bool:
    return bool(cython.compiled)


def cut_frames(data: bytes, max_frame_bytes: int, max_header_bytes: int) -> tuple[list[Command], int]:
    """The commands of the whole frames, and the place of the first that is not whole or out of bounds."""
    view: cython.const[cython.uchar][::1] = memoryview(data)
    commands: list[Command] = []
    most: cython.longlong = max_frame_bytes
    most_header: cython.longlong = max_header_bytes
    pos: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t = len(data)
    while end - pos >= _PREFIX_SIZE:
        total: cython.int
        mark: cython.int
        if cython.compiled:
            total = _int32(view, pos)
            mark = _int32(view, pos + 4)
        else:
            total, mark = _unpack_prefix(data, pos)
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
@cython.inline
def _int32(view: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.int:
    value: cython.uint = view[at]
    value = (value << 8) | view[at + 1]
    value = (value << 8) | view[at + 2]
    return cython.cast(cython.int, (value << 8) | view[at + 3])


@cython.cfunc
def _json_command(header: bytes, body: bytes) -> Command:
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

# cython: language_level=3, boundscheck=True, wraparound=False
# mypy: disable-error-code="untyped-decorator,valid-type,no-any-return,unused-ignore"
# (C types are not Python types; the public class is plainly typed.)
"""Turns a plain send into its record and its answer in one call, compiled where a compiler exists.

Plain is what nearly every SEND_MESSAGE_V2 is: one message for an ordinary topic, with a unique key, and
nothing in its flags or properties that asks for more than to be stored. Whatever is missing, odd or special
is not plain, and is left to `headers.send`: nothing is refused here. Record and answer are, byte for byte,
those of `records` and of the ordinary encoder of replies (uncompiled, the record is made by `records`). It
writes nowhere: the store places what it returns. Safe from any thread.
"""

from __future__ import annotations

from struct import Struct
from zlib import crc32

from orjson import dumps

from engine.protocol.properties import NAME_END, PAIR_END, Property
from engine.protocol.records import MAX_PROPERTIES_BYTES, MAX_TOPIC_V1_BYTES, RecordForm
from engine.protocol.sys_flags import (
    BORN_HOST_V6,
    HOST_MASK,
    INNER_BATCH,
    NEED_UNWRAP,
    STORE_HOST_V6,
    TRANSACTION_MASK,
)

try:
    import cython
except ImportError:
    from engine.protocol import cython_shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
    from cython.cimports.libc.string import memcmp, memcpy

PlainPut = tuple[bytes, bytes, tuple[str, int], int]
"""The record with a size of 0 (a log completes it last), the frame of the answer, queue key, queue offset."""
AnswerParts = tuple[bytes, bytes, bytes, bytes, bytes, bytes]
"""What stands in an answer's header before, between and behind its commit log offset (16 hexadecimal
digits), queue id, queue offset, unique key (as JSON) and opaque."""

_SPECIAL_BITS = cython.declare(cython.longlong, TRANSACTION_MASK | INNER_BATCH | NEED_UNWRAP)
_HOST_BITS = cython.declare(cython.longlong, HOST_MASK)
_BORN_V6 = cython.declare(cython.longlong, BORN_HOST_V6)
_STORE_V6 = cython.declare(cython.longlong, STORE_HOST_V6)
_V4_SIZE = cython.declare(cython.Py_ssize_t, 8)
_V6_SIZE = cython.declare(cython.Py_ssize_t, 20)
_NOT_A_NUMBER = cython.declare(cython.longlong, -1)
_INT32_DIGITS = cython.declare(cython.Py_ssize_t, 9)
_INT64_DIGITS = cython.declare(cython.Py_ssize_t, 18)
_MOST_PROPERTIES = cython.declare(cython.Py_ssize_t, MAX_PROPERTIES_BYTES)
_MAGIC_V1 = cython.declare(cython.longlong, -0x255CDF59)
_MAGIC_V2 = cython.declare(cython.longlong, -0x255CDF55)
_KEY_START = f"{Property.UNIQ_KEY}{NAME_END}".encode()
_PAIR_END = PAIR_END.encode()
_SPECIAL_PARTS = (b"DELAY", b"TIMER_", b"TRAN_MSG", b"CLUSTER\x01", b"POP_CK\x01")
_pack_prefix = Struct(">ii").pack


def is_compiled() -> bool:
    return bool(cython.compiled)


@cython.cclass
class PlainSend:
    """What all plain sends to one topic have in common. `put` makes one of them."""

    _topic: str
    _queues: cython.longlong
    _store_host: bytes
    _suffix: bytes
    _answer: tuple[bytes, ...]
    _answer_size: cython.Py_ssize_t
    _raw_topic: bytes
    _magic: cython.longlong
    _overhead: cython.Py_ssize_t
    _forms: dict[int, RecordForm]

    def __init__(
        self, topic: str, write_queue_nums: int, store_host: bytes, suffix: bytes, answer: AnswerParts
    ) -> None:
        raw = topic.encode()
        is_v1 = len(raw) <= MAX_TOPIC_V1_BYTES
        self._topic = topic
        self._queues = write_queue_nums
        self._store_host = store_host
        self._suffix = suffix
        self._answer = answer
        self._answer_size = sum([len(part) for part in answer])
        self._raw_topic = len(raw).to_bytes(1 if is_v1 else 2, "big") + raw
        self._magic = _MAGIC_V1 if is_v1 else _MAGIC_V2
        self._forms = {size: RecordForm(raw, size, store_host) for size in (_V4_SIZE, _V6_SIZE)}
        # Without the born host and what each message brings.
        self._overhead = self._forms[_V4_SIZE].overhead - _V4_SIZE

    def put(
        self,
        fields: dict[str, str],
        body: bytes,
        opaque: cython.longlong,
        born_host: bytes,
        next_offsets: dict[tuple[str, int], int],
        commit_log_offset: cython.longlong,
        room_end: cython.longlong,
        now_ms: cython.longlong,
    ) -> PlainPut | None:
        """Record and answer if the send is plain, its queue has an offset, and it ends before `room_end`."""
        if not fields.get("a") or not fields.get("c") or fields.get("l"):
            return None
        if fields.get("k", "false") != "false" or fields.get("m", "false") != "false":
            return None
        queue_id: cython.longlong = _digits(fields.get("e"), _INT32_DIGITS)
        flag: cython.longlong = _digits(fields.get("h"), _INT32_DIGITS)
        sys_flag: cython.longlong = _digits(fields.get("f"), _INT32_DIGITS)
        born_timestamp: cython.longlong = _digits(fields.get("g"), _INT64_DIGITS)
        retries: cython.longlong = _digits(fields.get("j") or "0", _INT32_DIGITS)
        if queue_id < 0 or flag < 0 or sys_flag < 0 or born_timestamp < 0 or retries < 0:
            return None
        if _digits(fields.get("d"), _INT32_DIGITS) < 0:
            return None
        text: str | None = fields.get("i")
        if not text or sys_flag & _SPECIAL_BITS or queue_id >= self._queues:
            return None
        given: bytes = text.encode("utf-8")
        unique_key: bytes = _unique_key(given)
        key = (self._topic, queue_id)
        found = next_offsets.get(key)
        if not unique_key or found is None:
            return None
        properties_size: cython.Py_ssize_t = len(given) + len(self._suffix)
        size: cython.Py_ssize_t = self._overhead + len(born_host) + len(body) + properties_size
        if properties_size > _MOST_PROPERTIES or commit_log_offset + size > room_end:
            return None
        queue_offset: cython.longlong = found
        # fmt: off
        record: bytes = self._record(
            size, queue_id, flag, queue_offset, commit_log_offset, sys_flag, born_timestamp, born_host,
            now_ms, retries, body, given,
        )
        # fmt: on
        answer: bytes = self._frame(commit_log_offset, queue_id, queue_offset, unique_key, opaque)
        return record, answer, key, queue_offset

    @cython.cfunc
    def _record(
        self,
        size: cython.Py_ssize_t,
        queue_id: cython.longlong,
        flag: cython.longlong,
        queue_offset: cython.longlong,
        commit_log_offset: cython.longlong,
        sys_flag: cython.longlong,
        born_timestamp: cython.longlong,
        born_host: bytes,
        now_ms: cython.longlong,
        retries: cython.longlong,
        body: bytes,
        given: bytes,
    ) -> bytes:
        # fmt: off
        if not cython.compiled:
            return self._forms[len(born_host)].encode(
                0, queue_id, flag, queue_offset, commit_log_offset, sys_flag, born_timestamp, born_host,
                now_ms, retries, 0, body, given + self._suffix,
            )
        # fmt: on
        sys_flag &= ~_HOST_BITS
        sys_flag |= _BORN_V6 if len(born_host) == _V6_SIZE else 0
        sys_flag |= _STORE_V6 if len(self._store_host) == _V6_SIZE else 0
        record: bytes = PyBytes_FromStringAndSize(cython.NULL, size)
        raw: cython.p_uchar = cython.cast(cython.p_uchar, PyBytes_AS_STRING(record))
        at: cython.Py_ssize_t = _number(raw, 0, 4, 0)
        at = _number(raw, at, 4, self._magic)
        at = _number(raw, at, 4, crc32(body) & 0x7FFFFFFF)
        at = _number(raw, at, 4, queue_id)
        at = _number(raw, at, 4, flag)
        at = _number(raw, at, 8, queue_offset)
        at = _number(raw, at, 8, commit_log_offset)
        at = _number(raw, at, 4, sys_flag)
        at = _number(raw, at, 8, born_timestamp)
        at = _bytes(raw, at, born_host)
        at = _number(raw, at, 8, now_ms)
        at = _bytes(raw, at, self._store_host)
        at = _number(raw, at, 4, retries)
        at = _number(raw, at, 8, 0)
        at = _number(raw, at, 4, len(body))
        at = _bytes(raw, at, body)
        at = _bytes(raw, at, self._raw_topic)
        at = _number(raw, at, 2, len(given) + len(self._suffix))
        at = _bytes(raw, at, given)
        _bytes(raw, at, self._suffix)
        return record

    @cython.cfunc
    def _frame(
        self,
        commit_log_offset: cython.longlong,
        queue_id: cython.longlong,
        queue_offset: cython.longlong,
        unique_key: bytes,
        opaque: cython.longlong,
    ) -> bytes:
        if not _is_its_own_json(unique_key):
            quoted: bytes = dumps(unique_key.decode())
            unique_key = quoted[1 : len(quoted) - 1]
        first, second, third, fourth, fifth, last = self._answer
        asked: bytes = b"%d" % opaque if opaque < 0 or not cython.compiled else b""
        if not cython.compiled:
            place, queue, number = b"%016X" % commit_log_offset, b"%d" % queue_id, b"%d" % queue_offset
            header = b"".join(
                (first, place, second, queue, third, number, fourth, unique_key, fifth, asked, last)
            )
            return _pack_prefix(4 + len(header), len(header)) + header
        size: cython.Py_ssize_t = self._answer_size + 16 + _width(queue_id) + _width(queue_offset)
        size += len(unique_key) + (len(asked) if opaque < 0 else _width(opaque))
        frame: bytes = PyBytes_FromStringAndSize(cython.NULL, 8 + size)
        raw: cython.p_uchar = cython.cast(cython.p_uchar, PyBytes_AS_STRING(frame))
        at: cython.Py_ssize_t = _bytes(raw, _number(raw, _number(raw, 0, 4, 4 + size), 4, size), first)
        at = _bytes(raw, _hexadecimal(raw, at, commit_log_offset), second)
        at = _bytes(raw, _decimal(raw, at, queue_id), third)
        at = _bytes(raw, _decimal(raw, at, queue_offset), fourth)
        at = _bytes(raw, _bytes(raw, at, unique_key), fifth)
        at = _bytes(raw, at, asked) if opaque < 0 else _decimal(raw, at, opaque)
        _bytes(raw, at, last)
        return frame


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _number(
    raw: cython.p_uchar, at: cython.Py_ssize_t, size: cython.int, value: cython.longlong
) -> cython.Py_ssize_t:
    """Big-endian into `raw`; the place behind it. Compiled only, like the four below."""
    shift: cython.int = 8 * size
    while shift > 0:
        shift -= 8
        raw[at] = (value >> shift) & 0xFF
        at += 1
    return at


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _bytes(raw: cython.p_uchar, at: cython.Py_ssize_t, part: bytes) -> cython.Py_ssize_t:
    size: cython.Py_ssize_t = PyBytes_GET_SIZE(part)
    memcpy(raw + at, PyBytes_AS_STRING(part), size)
    return at + size


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _hexadecimal(raw: cython.p_uchar, at: cython.Py_ssize_t, value: cython.longlong) -> cython.Py_ssize_t:
    shift: cython.int = 64
    while shift > 0:
        shift -= 4
        digit: cython.int = (value >> shift) & 0xF
        raw[at] = digit + 48 if digit < 10 else digit + 55
        at += 1
    return at


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _width(value: cython.longlong) -> cython.Py_ssize_t:
    width: cython.Py_ssize_t = 1
    while value > 9:
        value //= 10
        width += 1
    return width


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _decimal(raw: cython.p_uchar, at: cython.Py_ssize_t, value: cython.longlong) -> cython.Py_ssize_t:
    """Digits of what is not negative."""
    end: cython.Py_ssize_t = at + _width(value)
    at = end
    while True:
        at -= 1
        raw[at] = 48 + value % 10
        value //= 10
        if value == 0:
            return end


@cython.cfunc
def _unique_key(given: bytes) -> bytes:
    """The key of a plain message's properties; empty when they are not plain or have none.

    Looks for parts of names where that is enough: a false alarm costs nothing but the ordinary path.
    """
    if cython.compiled:
        return _unique_key_in(cython.cast(cython.p_uchar, PyBytes_AS_STRING(given)), len(given))
    for part in _SPECIAL_PARTS:
        if part in given:
            return b""
    start = given.rfind(_KEY_START)
    if start < 0 or (start > 0 and given[start - 1] != 2) or not given.endswith(_PAIR_END):
        return b""
    return given[start + len(_KEY_START) : given.find(_PAIR_END, start)]


@cython.cfunc
def _unique_key_in(raw: cython.p_uchar, size: cython.Py_ssize_t) -> bytes:
    """The same in one pass. Compiled only."""
    key_at: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t
    for at in range(size):
        char: cython.uchar = raw[at]
        if char == 1:
            if at >= 8 and memcmp(raw + at - 8, b"UNIQ_KEY", 8) == 0:
                key_at = at + 1 if at == 8 or raw[at - 9] == 2 else 0
            if at >= 7 and memcmp(raw + at - 7, b"CLUSTER", 7) == 0:
                return b""
            if at >= 6 and memcmp(raw + at - 6, b"POP_CK", 6) == 0:
                return b""
        elif char == 0x44:  # D
            if size - at >= 5 and memcmp(raw + at, b"DELAY", 5) == 0:
                return b""
        elif char == 0x54:  # T
            if size - at >= 6 and memcmp(raw + at, b"TIMER_", 6) == 0:
                return b""
            if size - at >= 8 and memcmp(raw + at, b"TRAN_MSG", 8) == 0:
                return b""
    if key_at == 0 or raw[size - 1] != 2:
        return b""
    at = key_at
    while raw[at] != 2:
        at += 1
    return cython.cast(cython.p_char, raw + key_at)[: at - key_at]


@cython.cfunc
def _is_its_own_json(text: bytes) -> cython.bint:
    """Printable ASCII without quotes and backslashes."""
    for char in text:
        code: cython.int = char
        if code < 0x20 or code > 0x7E or code == 0x22 or code == 0x5C:
            return False
    return True


@cython.cfunc
def _digits(text: str | None, most: cython.Py_ssize_t) -> cython.longlong:
    """The number that plain ASCII digits say; negative when they are too many to be sure of, or none."""
    if text is None:
        return _NOT_A_NUMBER
    size: cython.Py_ssize_t = len(text)
    if size == 0 or size > most:
        return _NOT_A_NUMBER
    if not cython.compiled:
        return int(text) if text.isascii() and text.isdigit() else _NOT_A_NUMBER
    value: cython.longlong = 0
    for char in text:
        digit: cython.int = ord(char) - 48
        if digit < 0 or digit > 9:
            return _NOT_A_NUMBER
        value = value * 10 + digit
    return value

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
from typing import Any
from zlib import crc32

from orjson import dumps

from engine.protocol import record_layout
from engine.protocol.hosts import V4_SIZE, V6_SIZE
from engine.protocol.properties import NAME_END, PAIR_END, Property
from engine.protocol.records import RecordForm
from engine.protocol.sys_flags import HOST_MASK, INNER_BATCH, NEED_UNWRAP, TRANSACTION_MASK

try:
    import cython
except ImportError:
    from engine.protocol import cython_shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
    from cython.cimports.engine.protocol._bytes_cy import c_append, c_read, c_write, c_write_hexadecimal
    from cython.cimports.libc.string import memcmp, memcpy

PlainPut = tuple[bytes, bytes, tuple[str, int], int]
"""The record with a size of 0 (a log completes it last), the frame of the answer, queue key, queue offset."""
AnswerParts = tuple[bytes, bytes, bytes, bytes, bytes, bytes]
"""What stands in an answer's header before, between and behind its commit log offset (16 hexadecimal
digits), queue id, queue offset, unique key (as JSON) and opaque."""

_SPECIAL_BITS = cython.declare(cython.longlong, TRANSACTION_MASK | INNER_BATCH | NEED_UNWRAP)
_HOST_BITS = cython.declare(cython.longlong, HOST_MASK)
_NOT_A_NUMBER = cython.declare(cython.longlong, -1)
_INT32_DIGITS = cython.declare(cython.Py_ssize_t, 9)
_INT64_DIGITS = cython.declare(cython.Py_ssize_t, 18)
_MOST_PROPERTIES = cython.declare(cython.Py_ssize_t, record_layout.MAX_PROPERTIES_BYTES)
_BODY_CRC_AT = cython.declare(cython.Py_ssize_t, record_layout.BODY_CRC_AT)
_QUEUE_ID_AT = cython.declare(cython.Py_ssize_t, record_layout.QUEUE_ID_AT)
_FLAG_AT = cython.declare(cython.Py_ssize_t, record_layout.FLAG_AT)
_QUEUE_OFFSET_AT = cython.declare(cython.Py_ssize_t, record_layout.QUEUE_OFFSET_AT)
_COMMIT_LOG_OFFSET_AT = cython.declare(cython.Py_ssize_t, record_layout.COMMIT_LOG_OFFSET_AT)
_SYS_FLAG_AT = cython.declare(cython.Py_ssize_t, record_layout.SYS_FLAG_AT)
_BORN_TIMESTAMP_AT = cython.declare(cython.Py_ssize_t, record_layout.BORN_TIMESTAMP_AT)
_BORN_HOST_AT = cython.declare(cython.Py_ssize_t, record_layout.BORN_HOST_AT)
_RETRIES_BEFORE_BODY = cython.declare(cython.Py_ssize_t, record_layout.RECONSUME_TIMES_BEFORE_BODY)
_BODY_SIZE_BEFORE_BODY = cython.declare(cython.Py_ssize_t, record_layout.BODY_SIZE_BEFORE_BODY)
_KEY_START = f"{Property.UNIQ_KEY}{NAME_END}".encode()
_PAIR_END = PAIR_END.encode()
_SPECIAL_PARTS = (b"DELAY", b"TIMER_", b"TRAN_MSG", b"CLUSTER\x01", b"POP_CK\x01")
_pack_prefix = Struct(">ii").pack


def is_compiled() -> bool:
    return bool(cython.compiled)


@cython.cclass
class _Header:
    """The fields of an everyday send that are not mere texts."""

    queue_nums: cython.longlong
    queue_id: cython.longlong
    sys_flag: cython.longlong
    born_timestamp: cython.longlong
    flag: cython.longlong
    retries: cython.longlong
    properties: str | None


@cython.cfunc
def _read_header(fields: dict[str, str]) -> _Header | None:
    """None when a required field is missing, a number is not of plain digits, or the send is anything but an
    ordinary one: a batch, unit mode, or with a limit of its own to its retries."""
    if not fields.get("a") or not fields.get("b") or not fields.get("c") or fields.get("l"):
        return None
    if fields.get("k", "false") != "false" or fields.get("m", "false") != "false":
        return None
    header: _Header = _Header()
    header.queue_nums = _digits(fields.get("d"), _INT32_DIGITS)
    header.queue_id = _digits(fields.get("e"), _INT32_DIGITS)
    header.sys_flag = _digits(fields.get("f"), _INT32_DIGITS)
    header.born_timestamp = _digits(fields.get("g"), _INT64_DIGITS)
    header.flag = _digits(fields.get("h"), _INT32_DIGITS)
    if header.queue_nums < 0 or header.queue_id < 0 or header.sys_flag < 0 or header.flag < 0:
        return None
    retries: str | None = fields.get("j")
    header.retries = _digits(retries, _INT32_DIGITS)
    if header.born_timestamp < 0 or (retries and header.retries < 0):
        return None
    header.properties = fields.get("i") or None
    return header


def everyday_arguments(fields: dict[str, str]) -> tuple[Any, ...] | None:
    """The arguments of `headers.send.SendMessageRequest` from the one-letter names of an everyday send; None
    for any other, which the general reader of headers judges."""
    header: _Header | None = _read_header(fields)
    if header is None:
        return None
    # fmt: off
    return (
        fields["a"], fields["b"], fields["c"], header.queue_nums, header.queue_id, header.sys_flag,
        header.born_timestamp, header.flag, header.properties,
        header.retries if header.retries >= 0 else None, False, None, False, fields.get("n") or None,
    )
    # fmt: on


@cython.cclass
class PlainSend:
    """What all plain sends to one topic have in common. `put` makes one of them."""

    _topic: str
    _queues: cython.longlong
    _suffix: bytes
    _answer: tuple[bytes, ...]
    _answer_size: cython.Py_ssize_t
    _overhead: cython.Py_ssize_t
    _topic_size: cython.Py_ssize_t
    _forms: dict[int, RecordForm]
    _templates: dict[int, bytes]

    def __init__(
        self, topic: str, write_queue_nums: int, store_host: bytes, suffix: bytes, answer: AnswerParts
    ) -> None:
        raw = topic.encode()
        self._topic = topic
        self._queues = write_queue_nums
        self._suffix = suffix
        self._answer = answer
        self._answer_size = sum([len(part) for part in answer])
        self._forms = {size: RecordForm(raw, size, store_host) for size in (V4_SIZE, V6_SIZE)}
        self._templates = {
            size: form.encode(0, 0, 0, 0, 0, 0, 0, bytes(size), 0, 0, 0, b"", b"")
            for size, form in self._forms.items()
        }
        self._topic_size = self._forms[V4_SIZE].overhead - self._forms[V4_SIZE].fixed_bytes - 2
        # Without the born host and what each message brings.
        self._overhead = self._forms[V4_SIZE].overhead - V4_SIZE

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
        header: _Header | None = _read_header(fields)
        if header is None or header.properties is None:
            return None
        if header.sys_flag & _SPECIAL_BITS or header.queue_id >= self._queues:
            return None
        given: bytes = header.properties.encode("utf-8")
        unique_key: bytes = _unique_key(given)
        key = (self._topic, header.queue_id)
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
            size, header, queue_offset, commit_log_offset, born_host, now_ms, body, given
        )
        # fmt: on
        answer: bytes = self._frame(commit_log_offset, header.queue_id, queue_offset, unique_key, opaque)
        return record, answer, key, queue_offset

    @cython.cfunc
    def _record(
        self,
        size: cython.Py_ssize_t,
        header: _Header,
        queue_offset: cython.longlong,
        commit_log_offset: cython.longlong,
        born_host: bytes,
        now_ms: cython.longlong,
        body: bytes,
        given: bytes,
    ) -> bytes:
        # fmt: off
        if not cython.compiled:
            return self._forms[len(born_host)].encode(
                0, header.queue_id, header.flag, queue_offset, commit_log_offset, header.sys_flag,
                header.born_timestamp, born_host, now_ms, max(header.retries, 0), 0, body,
                given + self._suffix,
            )
        # fmt: on
        # The record of an empty message, with what differs written over it: its end is the topic.
        host_size: cython.Py_ssize_t = len(born_host)
        template: bytes = self._templates[host_size]
        properties_size: cython.Py_ssize_t = len(given) + len(self._suffix)
        fixed: cython.Py_ssize_t = size - len(body) - properties_size - self._topic_size - 2
        record: bytes = PyBytes_FromStringAndSize(cython.NULL, size)
        raw: cython.p_uchar = cython.cast(cython.p_uchar, PyBytes_AS_STRING(record))
        common: cython.p_uchar = cython.cast(cython.p_uchar, PyBytes_AS_STRING(template))
        memcpy(raw, common, fixed)
        host_bits: cython.longlong = c_read(raw + _SYS_FLAG_AT, 4)
        c_write(raw + _BODY_CRC_AT, 4, crc32(body) & 0x7FFFFFFF)
        c_write(raw + _QUEUE_ID_AT, 4, header.queue_id)
        c_write(raw + _FLAG_AT, 4, header.flag)
        c_write(raw + _QUEUE_OFFSET_AT, 8, queue_offset)
        c_write(raw + _COMMIT_LOG_OFFSET_AT, 8, commit_log_offset)
        c_write(raw + _SYS_FLAG_AT, 4, header.sys_flag & ~_HOST_BITS | host_bits)
        c_write(raw + _BORN_TIMESTAMP_AT, 8, header.born_timestamp)
        c_append(raw + _BORN_HOST_AT, born_host)
        c_write(raw + _BORN_HOST_AT + host_size, 8, now_ms)
        c_write(raw + fixed - _RETRIES_BEFORE_BODY, 4, max(header.retries, 0))
        c_write(raw + fixed - _BODY_SIZE_BEFORE_BODY, 4, len(body))
        raw = c_append(raw + fixed, body)
        memcpy(raw, common + fixed, self._topic_size)
        c_write(raw + self._topic_size, 2, properties_size)
        c_append(c_append(raw + self._topic_size + 2, given), self._suffix)
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
        c_write(raw, 4, 4 + size)
        c_write(raw + 4, 4, size)
        raw = c_append(raw + 8, first)
        c_write_hexadecimal(raw, commit_log_offset)
        raw = _decimal(c_append(raw + 16, second), queue_id)
        raw = _decimal(c_append(raw, third), queue_offset)
        raw = c_append(c_append(c_append(raw, fourth), unique_key), fifth)
        raw = c_append(raw, asked) if opaque < 0 else _decimal(raw, opaque)
        c_append(raw, last)
        return frame


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
def _decimal(raw: cython.p_uchar, value: cython.longlong) -> cython.p_uchar:
    """Writes the digits of what is not negative; the place behind them."""
    end: cython.p_uchar = raw + _width(value)
    raw = end
    while True:
        raw -= 1
        raw[0] = 48 + value % 10
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

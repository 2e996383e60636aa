# cython: language_level=3, boundscheck=True, wraparound=False
# mypy: disable-error-code="untyped-decorator,valid-type,no-any-return,unused-ignore"
# (C types are not Python types; the public functions are plainly typed.)
"""Turns the body of a batch send into its records in one call, compiled where a compiler exists.

`batches` draws the layout and knows what is wrong with a body; here only good ones are walked, twice: once to
measure them, and once, when their place in the log is known, to make the records. Everything that the records
of a batch have in common comes as a template: the record of an empty message, made by `records`. Nothing is
stored here. Safe from any thread.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple
from zlib import crc32

from engine.errors import BadInput, BadRequest
from engine.protocol import record_layout
from engine.protocol.batches import BatchItem, decode_batch

try:
    import cython
except ImportError:
    from engine.protocol import cython_shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
    from cython.cimports.engine.protocol._bytes_cy import c_read, c_write, c_write_hexadecimal
    from cython.cimports.libc.string import memcmp, memcpy

_HEAD = cython.declare(cython.Py_ssize_t, 20)
_SMALLEST = cython.declare(cython.Py_ssize_t, 22)
_MARKS = (b"TRAN_MSG", b"DELAY", b"TIMER_")
# What differs between the records of a batch.
_CRC_AT = cython.declare(cython.Py_ssize_t, record_layout.BODY_CRC_AT)
_FLAG_AT = cython.declare(cython.Py_ssize_t, record_layout.FLAG_AT)
_QUEUE_OFFSET_AT = cython.declare(cython.Py_ssize_t, record_layout.QUEUE_OFFSET_AT)
_COMMIT_LOG_OFFSET_AT = cython.declare(cython.Py_ssize_t, record_layout.COMMIT_LOG_OFFSET_AT)
_BODY_SIZE_BEFORE_BODY = cython.declare(cython.Py_ssize_t, record_layout.BODY_SIZE_BEFORE_BODY)
_OFFSETS = Struct(">qq")
_int32 = Struct(">i").pack_into


class Batch(NamedTuple):
    """The body of a batch that can be read to its end, and what must be known before it is stored."""

    body: bytes
    count: int  # type: ignore[assignment]  # of messages; tuple.count is not missed
    body_bytes: int
    """Of all messages' bodies."""
    content_bytes: int
    """Of all messages' bodies and properties."""
    has_marks: bool
    """Whether the properties of a message hold a part of a name that makes it wait (delays, transactions)."""


def is_compiled() -> bool:
    return bool(cython.compiled)


def measure_batch(body: bytes) -> Batch:
    """BadRequest, as `decode_batch` puts it, for a body that cannot be read."""
    if not cython.compiled:
        items = decode_batch(body)
        bodies = sum([len(item.body) for item in items])
        properties = b"\0".join([item.properties for item in items])
        content = bodies + len(properties) - len(items) + 1
        return Batch(body, len(items), bodies, content, any(mark in properties for mark in _MARKS))
    raw: cython.p_uchar = cython.cast(cython.p_uchar, PyBytes_AS_STRING(body))
    end: cython.Py_ssize_t = len(body)
    pos: cython.Py_ssize_t = 0
    count: cython.Py_ssize_t = 0
    all_bodies: cython.Py_ssize_t = 0
    has_marks: cython.bint = False
    while pos < end:
        body_end: cython.Py_ssize_t = _body_end(raw, pos, end)
        if body_end < 0:
            break
        size: cython.Py_ssize_t = c_read(raw + pos, 4)
        all_bodies += body_end - pos - _HEAD
        if not has_marks:
            has_marks = _has_mark(raw + body_end + 2, pos + size - body_end - 2)
        pos += size
        count += 1
    if pos < end or count == 0:
        return Batch(body, len(decode_batch(body)), 0, 0, False)  # which knows what is wrong with it
    return Batch(body, count, all_bodies, end - count * _SMALLEST, has_marks)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _body_end(raw: cython.p_uchar, pos: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where the body of the message at `pos` ends; negative if its lengths do not agree. Compiled only, like
    those below."""
    if end - pos < _SMALLEST:
        return -1
    size: cython.Py_ssize_t = c_read(raw + pos, 4)
    body_size: cython.Py_ssize_t = c_read(raw + pos + 16, 4)
    if size < _SMALLEST or size > end - pos or body_size < 0 or body_size > size - _SMALLEST:
        return -1
    body_end: cython.Py_ssize_t = pos + _HEAD + body_size
    properties_size: cython.Py_ssize_t = c_read(raw + body_end, 2)
    if properties_size < 0 or body_end + 2 + properties_size != pos + size:
        return -1
    return body_end


@cython.cfunc
@cython.exceptval(check=False)
def _has_mark(raw: cython.p_uchar, size: cython.Py_ssize_t) -> cython.bint:
    """A false alarm costs nothing but a closer look."""
    at: cython.Py_ssize_t
    for at in range(size):
        if raw[at] == 0x44:  # D
            if size - at >= 5 and memcmp(raw + at, b"DELAY", 5) == 0:
                return True
        elif raw[at] == 0x54:  # T
            if size - at >= 6 and memcmp(raw + at, b"TIMER_", 6) == 0:
                return True
            if size - at >= 8 and memcmp(raw + at, b"TRAN_MSG", 8) == 0:
                return True
    return False


def encode_batch_records(
    batch: Batch, template: bytes, fixed_bytes: int, queue_offset: int, commit_log_offset: int
) -> tuple[bytes, list[int]]:
    """The records, one behind the other, the first with a size of 0 (a log completes it last), and where each
    lies in the log, with the end behind them. `template`: the record of a message without body, properties
    and flag, whose topic begins behind `fixed_bytes`."""
    topic_bytes = len(template) - fixed_bytes - 2
    content_bytes = len(batch.body) - batch.count * 22
    if fixed_bytes < 36 or topic_bytes <= 0 or batch.content_bytes != content_bytes:
        raise BadInput("the template or the measure of a batch does not fit")
    if not cython.compiled:
        return _encode_plainly(batch, template, fixed_bytes, queue_offset, commit_log_offset)
    raw: cython.p_uchar = cython.cast(cython.p_uchar, PyBytes_AS_STRING(batch.body))
    end: cython.Py_ssize_t = len(batch.body)
    common: cython.p_uchar = cython.cast(cython.p_uchar, PyBytes_AS_STRING(template))
    fixed: cython.Py_ssize_t = fixed_bytes
    topic_size: cython.Py_ssize_t = topic_bytes
    count: cython.Py_ssize_t = batch.count
    total: cython.Py_ssize_t = count * len(template) + batch.content_bytes
    records: bytes = PyBytes_FromStringAndSize(cython.NULL, total)
    out: cython.p_uchar = cython.cast(cython.p_uchar, PyBytes_AS_STRING(records))
    place: cython.longlong = commit_log_offset
    number: cython.longlong = queue_offset
    offsets: list[int] = []
    pos: cython.Py_ssize_t = 0
    while pos < end:
        body_end: cython.Py_ssize_t = _body_end(raw, pos, end)
        if body_end < 0 or len(offsets) >= count:
            raise BadInput("the measure of a batch does not fit")
        size: cython.Py_ssize_t = c_read(raw + pos, 4)
        body_size: cython.Py_ssize_t = body_end - pos - _HEAD
        record_size: cython.Py_ssize_t = fixed + topic_size + 2 + size - _SMALLEST
        memcpy(out, common, fixed)
        c_write(out, 4, record_size if pos else 0)
        crc: cython.uint = crc32(batch.body[pos + _HEAD : body_end])
        c_write(out + _CRC_AT, 4, crc & 0x7FFFFFFF)
        memcpy(out + _FLAG_AT, raw + pos + 12, 4)
        c_write(out + _QUEUE_OFFSET_AT, 8, number)
        c_write(out + _COMMIT_LOG_OFFSET_AT, 8, place)
        # The length of the body, which ends the fixed part, and the body; then the same of the properties.
        memcpy(out + fixed - _BODY_SIZE_BEFORE_BODY, raw + pos + 16, 4 + body_size)
        memcpy(out + fixed + body_size, common + fixed, topic_size)
        memcpy(out + fixed + body_size + topic_size, raw + body_end, pos + size - body_end)
        offsets.append(place)
        out += record_size
        place += record_size
        number += 1
        pos += size
    if len(offsets) != count:
        raise BadInput("the measure of a batch does not fit")
    offsets.append(place)
    return records, offsets


def _encode_plainly(
    batch: Batch, template: bytes, fixed_bytes: int, queue_offset: int, commit_log_offset: int
) -> tuple[bytes, list[int]]:
    """The same without pointers."""
    fixed, topic = bytearray(template[:fixed_bytes]), template[fixed_bytes : len(template) - 2]
    place = commit_log_offset
    offsets: list[int] = []
    parts: list[bytes] = []
    for number, item in enumerate(_items_of(batch)):
        size = len(template) + len(item.body) + len(item.properties)
        _int32(fixed, 0, size if number else 0)
        _int32(fixed, _CRC_AT, crc32(item.body) & 0x7FFFFFFF)
        _int32(fixed, _FLAG_AT, item.flag)
        _OFFSETS.pack_into(fixed, _QUEUE_OFFSET_AT, queue_offset + number, place)
        _int32(fixed, fixed_bytes - _BODY_SIZE_BEFORE_BODY, len(item.body))
        parts += (bytes(fixed), item.body, topic, len(item.properties).to_bytes(2, "big"), item.properties)
        offsets.append(place)
        place += size
    return b"".join(parts), [*offsets, place]


def _items_of(batch: Batch) -> list[BatchItem]:
    try:
        items = decode_batch(batch.body)
    except BadRequest:
        items = []
    if len(items) != batch.count:
        raise BadInput("the measure of a batch does not fit")
    return items


def message_ids(host: str, offsets: tuple[int, ...]) -> str:
    """The offset message ids of a batch, as its answer lists them; `host`: the store host in hexadecimal."""
    if not cython.compiled:
        return ",".join([f"{host}{offset:016X}" for offset in offsets])
    prefix: bytes = host.encode("ascii")
    prefix_size: cython.Py_ssize_t = len(prefix)
    step: cython.Py_ssize_t = prefix_size + 17
    ids: bytes = PyBytes_FromStringAndSize(cython.NULL, step * len(offsets))
    out: cython.p_uchar = cython.cast(cython.p_uchar, PyBytes_AS_STRING(ids))
    place: cython.longlong
    for place in offsets:
        memcpy(out, PyBytes_AS_STRING(prefix), prefix_size)
        c_write_hexadecimal(out + prefix_size, place)
        out[step - 1] = 0x2C
        out += step
    return ids[: max(len(ids) - 1, 0)].decode("ascii")

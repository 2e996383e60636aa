# cython: language_level=3, boundscheck=True, wraparound=False
# mypy: disable-error-code="untyped-decorator,valid-type,no-any-return,unused-ignore"
# (C types are not Python types; the public functions are plainly typed.)
"""Finds whole records in bytes, and says where their parts lie: the judge below `_records_cy`, compiled where
a compiler exists. Also home of the hashes of tags and keys, which every record needs.

It sees bytes and positions only; `records` draws the layout. Whatever the bytes, it reads inside
[start, end) of the buffer, raises nothing, and returns what it understood before the first thing it did not.
The same source runs uncompiled with the same results; `if cython.compiled` marks the few leaves that differ.
Safe from any thread: the one table, of topic names, only ever caches.

A place is what is known of one record, as PLACE_NUMBERS native int64 (the PLACE_ constants). The positions of
keys are in the buffer; a key that the record has not got begins and ends at 0. A span is less, and found
faster: where the parts of a record lie, whatever they say (the SPAN_ constants).
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING
from zlib import crc32

from engine.errors import BadInput
from engine.protocol import record_layout
from engine.protocol.sys_flags import BORN_HOST_V6, STORE_HOST_V6

try:
    import cython
except ImportError:
    from engine.protocol import cython_shim as cython  # type: ignore[no-redef]

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

if cython.compiled:
    from cython.cimports.cpython.bytearray import (
        PyByteArray_AS_STRING,
        PyByteArray_GET_SIZE,
        PyByteArray_Resize,
    )
    from cython.cimports.engine.protocol._bytes_cy import c_copy as copy
    from cython.cimports.engine.protocol._bytes_cy import c_find as find
    from cython.cimports.engine.protocol._bytes_cy import c_int16_at as int16_at
    from cython.cimports.engine.protocol._bytes_cy import c_int32_at as int32_at
    from cython.cimports.engine.protocol._bytes_cy import c_int64_at as int64_at
    from cython.cimports.engine.protocol._bytes_cy import c_is_equal as is_equal
    from cython.cimports.libc.string import memcpy
else:
    from engine.protocol._bytes_cy import copy, find, int16_at, int32_at, int64_at, is_equal

Located = tuple[bytearray, list[str], int, int]
"""Places, the topics that they number, the position behind the last record, why the walk stopped."""

SCAN_MORE = 0  # max_records reached
SCAN_END = 1  # `end` reached, or a zero size or magic: nothing was written here
SCAN_BLANK = 2  # blank filler: the rest of the file is unused
SCAN_BAD = 3  # size, magic, lengths, topic, CRC or position cannot be right

PLACE_POS = 0
PLACE_SIZE = 1
PLACE_TOPIC = 2  # its number in the list of topics
PLACE_QUEUE_ID = 3
PLACE_QUEUE_OFFSET = 4
PLACE_COMMIT_LOG_OFFSET = 5
PLACE_SYS_FLAG = 6
PLACE_STORE_TIMESTAMP = 7
PLACE_BORN_TIMESTAMP = 8
PLACE_TAGS_CODE = 9
PLACE_DELAY_LEVEL = 10
PLACE_UNIQ_KEY = 11  # where it begins, then where it ends, then its hash in the index
PLACE_KEYS = 14  # where they begin, then where they end
PLACE_NUMBERS = 16

SPAN_POS = 0
SPAN_END = 1
SPAN_STORE = 2  # where the store time is
SPAN_BODY = 3
SPAN_BODY_END = 4
SPAN_TOPIC = 5
SPAN_TOPIC_END = 6  # the length of the properties follows, then these
SPAN_TOPIC_NUMBER = 7  # for whoever numbers the topics (Spark's `_columns_cy`)
SPAN_NUMBERS = 8

_MAGIC_V1 = cython.declare(cython.int, record_layout.MAGIC_V1)
_MAGIC_V2 = cython.declare(cython.int, record_layout.MAGIC_V2)
_MAGIC_BLANK = cython.declare(cython.int, record_layout.MAGIC_BLANK)
_BODY_CRC_AT = cython.declare(cython.Py_ssize_t, record_layout.BODY_CRC_AT)
_QUEUE_ID_AT = cython.declare(cython.Py_ssize_t, record_layout.QUEUE_ID_AT)
_QUEUE_OFFSET_AT = cython.declare(cython.Py_ssize_t, record_layout.QUEUE_OFFSET_AT)
_COMMIT_LOG_OFFSET_AT = cython.declare(cython.Py_ssize_t, record_layout.COMMIT_LOG_OFFSET_AT)
_SYS_FLAG_AT = cython.declare(cython.Py_ssize_t, record_layout.SYS_FLAG_AT)
_BORN_TIMESTAMP_AT = cython.declare(cython.Py_ssize_t, record_layout.BORN_TIMESTAMP_AT)
_STORE_TIMESTAMP_AT = cython.declare(cython.Py_ssize_t, record_layout.STORE_TIMESTAMP_AT)
_BODY_AFTER_STORE_TIMESTAMP = cython.declare(
    cython.Py_ssize_t, record_layout.BODY_AT - record_layout.STORE_TIMESTAMP_AT
)
_BODY_SIZE_BEFORE_BODY = cython.declare(cython.Py_ssize_t, record_layout.BODY_SIZE_BEFORE_BODY)
_V6_EXTRA = cython.declare(cython.Py_ssize_t, record_layout.V6_EXTRA)
_MAX_TOPIC_V1 = cython.declare(cython.Py_ssize_t, record_layout.MAX_TOPIC_V1_BYTES)
_BORN_V6 = cython.declare(cython.int, BORN_HOST_V6)
_STORE_V6 = cython.declare(cython.int, STORE_HOST_V6)
_WHOLE = cython.declare(cython.int, -1)
_END = cython.declare(cython.int, 1)
_BLANK = cython.declare(cython.int, 2)
_BAD = cython.declare(cython.int, 3)
_SMALLEST_RECORD = cython.declare(cython.Py_ssize_t, record_layout.SMALLEST_RECORD)
_CRC_SLICE = cython.declare(cython.Py_ssize_t, 32768)
_TOPICS_KEPT = cython.declare(cython.Py_ssize_t, 16384)
_SPAN = cython.declare(cython.Py_ssize_t, SPAN_NUMBERS)
_topics: dict[bytes, str] = cython.declare(dict, {})
PLACE = Struct(f"={PLACE_NUMBERS}q")


def is_compiled() -> bool:
    return bool(cython.compiled)


@cython.cfunc
def _hash(text: str, value: cython.uint) -> cython.uint:
    """Goes on from the hash of what stands before the text."""
    for char in text:
        code: cython.uint = ord(char)
        if code > 0xFFFF:
            # Java hashes UTF-16 units: a character beyond the basic plane counts as its two surrogates.
            code -= 0x10000
            value = value * 31 + 0xD800 + (code >> 10)
            code = 0xDC00 + (code & 0x3FF)
        value = value * 31 + code
        if not cython.compiled:
            value &= 0xFFFFFFFF
    return value


@cython.cfunc
@cython.inline
def _signed(value: cython.uint) -> cython.int:
    if cython.compiled:
        return cython.cast(cython.int, value)
    return value - ((value & 0x80000000) << 1)


def java_hash(text: str) -> int:
    """Java's String.hashCode: a 31-polynomial over UTF-16 units that wraps at 32 bits."""
    return _signed(_hash(text, 0))


def index_key_hash(topic: str, key: str) -> int:
    """The non-negative hash under which the index files hold a key of a topic: that of `topic#key`."""
    return _index_hash(_hash(key, _hash("#", _hash(topic, 0))))


@cython.cfunc
@cython.inline
def _index_hash(hashed: cython.uint) -> cython.longlong:
    value: cython.longlong = _signed(hashed)
    # Java's abs() leaves the smallest int negative; the index counts it as 0.
    return 0 if value == -0x80000000 else abs(value)


@cython.cfunc
def _hash_part(
    raw: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t, value: cython.uint
) -> cython.uint:
    """`_hash` of a part of UTF-8 bytes; ASCII needs no str for it."""
    if cython.compiled:
        at: cython.Py_ssize_t = start
        ahead: cython.uint = value
        while at < end and cython.cast(cython.uchar, raw[at]) < 0x80:
            ahead = ahead * 31 + cython.cast(cython.uchar, raw[at])
            at += 1
        if at >= end:
            return ahead
    return _hash(raw[start:end].decode("utf-8", "replace"), value)


@cython.cclass
class _Parts:
    """Where the parts of the record under the cursor lie, and what its properties say."""

    size: cython.Py_ssize_t
    sys_flag: cython.int
    store_at: cython.Py_ssize_t
    body_at: cython.Py_ssize_t
    body_end: cython.Py_ssize_t
    topic_at: cython.Py_ssize_t
    topic_end: cython.Py_ssize_t
    topic_raw: bytes
    topic_number: cython.Py_ssize_t
    topic_hash: cython.uint
    tags_code: cython.int
    delay_level: cython.int
    uniq_key_at: cython.Py_ssize_t
    uniq_key_end: cython.Py_ssize_t
    uniq_key_hash: cython.longlong
    keys_at: cython.Py_ssize_t
    keys_end: cython.Py_ssize_t


@cython.cfunc
def _is_zero(
    view: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.bint:
    at: cython.Py_ssize_t
    for at in range(start, end):  # noqa: SIM110 - a generator would not compile to a C loop
        if view[at] != 0:
            return False
    return True


@cython.cfunc
def _measure(
    view: cython.const[cython.uchar][::1], pos: cython.Py_ssize_t, end: cython.Py_ssize_t, parts: _Parts
) -> cython.int:
    """_WHOLE once every length of the record at pos agrees with its size, else why the scan stops here."""
    if end - pos < 8:
        return _END if _is_zero(view, pos, end) else _BAD
    size: cython.int = int32_at(view, pos)
    magic: cython.int = int32_at(view, pos + 4)
    if size == 0 or magic == 0:
        return _END
    if magic == _MAGIC_BLANK:
        return _BLANK if size >= 8 else _BAD
    if (magic != _MAGIC_V1 and magic != _MAGIC_V2) or size < _SMALLEST_RECORD or size > end - pos:
        return _BAD
    parts.size = size
    parts.sys_flag = int32_at(view, pos + _SYS_FLAG_AT)
    parts.store_at = pos + _STORE_TIMESTAMP_AT + (_V6_EXTRA if parts.sys_flag & _BORN_V6 else 0)
    parts.body_at = parts.store_at + _BODY_AFTER_STORE_TIMESTAMP
    parts.body_at += _V6_EXTRA if parts.sys_flag & _STORE_V6 else 0
    return _measure_tail(view, pos + size, magic == _MAGIC_V2, parts)


@cython.cfunc
def _measure_tail(
    view: cython.const[cython.uchar][::1], end: cython.Py_ssize_t, is_v2: cython.bint, parts: _Parts
) -> cython.int:
    """The parts of varying length: each length is checked before anything behind it is read."""
    prefix: cython.int = 2 if is_v2 else 1
    if parts.body_at > end:
        return _BAD
    length: cython.int = int32_at(view, parts.body_at - _BODY_SIZE_BEFORE_BODY)
    parts.body_end = parts.body_at + length
    parts.topic_at = parts.body_end + prefix
    if length < 0 or parts.topic_at > end:
        return _BAD
    length = int16_at(view, parts.body_end) if is_v2 else view[parts.body_end]
    parts.topic_end = parts.topic_at + length
    if length <= 0 or (prefix == 1 and length > _MAX_TOPIC_V1) or parts.topic_end + 2 > end:
        return _BAD
    length = int16_at(view, parts.topic_end)
    return _WHOLE if length >= 0 and parts.topic_end + 2 + length == end else _BAD


@cython.cfunc
def _is_body_intact(
    view: cython.const[cython.uchar][::1], stored_crc: cython.int, parts: _Parts
) -> cython.bint:
    crc: cython.uint = 0
    at: cython.Py_ssize_t = parts.body_at
    while at < parts.body_end:
        # A bounded copy costs less than a slice object, and a 4 MiB body asks for no 4 MiB more.
        stop: cython.Py_ssize_t = min(at + _CRC_SLICE, parts.body_end)
        crc = crc32(copy(view, at, stop), crc)
        at = stop
    return stored_crc >= 0 and cython.cast(cython.uint, stored_crc) == crc & 0x7FFFFFFF


@cython.cfunc
def _read_topic(
    view: cython.const[cython.uchar][::1], parts: _Parts, topics: list[str], numbers: dict[bytes, int]
) -> cython.bint:
    """Note the number of the topic; False if the bytes are not UTF-8."""
    # Neighbours are mostly of one topic. (A topic is never empty: `_measure_tail`.)
    if is_equal(view, parts.topic_at, parts.topic_end, parts.topic_raw):
        return True
    raw: bytes = copy(view, parts.topic_at, parts.topic_end)
    number = numbers.get(raw)
    if number is None:
        topic = _topic(raw)
        if topic is None:
            return False
        number = numbers[raw] = len(topics)
        topics.append(topic)
    parts.topic_raw = raw
    parts.topic_number = number
    parts.topic_hash = _hash("#", _hash_part(raw, 0, len(raw), 0))
    return True


@cython.cfunc
def _topic(raw: bytes) -> str | None:
    """The topic's one str object; None if the bytes are not UTF-8."""
    topic = _topics.get(raw)
    if topic is None:
        try:
            topic = raw.decode("utf-8")
        except UnicodeDecodeError:
            return None
        if len(_topics) >= _TOPICS_KEPT:
            _topics.clear()
        _topics[raw] = topic
    return topic


@cython.cfunc
def _level(raw: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
    """A delay level as written by clients: up to nine digits; anything else is no delay."""
    value: cython.int = 0
    if end - start > 9:
        return 0
    for at in range(start, end):
        digit: cython.int = cython.cast(cython.uchar, raw[at]) - 48
        if digit < 0 or digit > 9:
            return 0
        value = value * 10 + digit
    return value


@cython.cfunc
def _read_properties(raw: bytes, properties_at: cython.Py_ssize_t, parts: _Parts) -> cython.void:
    """Note the four properties that dispatch needs, by the rules of `properties.decode_properties`."""
    start: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t = len(raw)
    parts.tags_code = parts.delay_level = 0
    parts.uniq_key_at = parts.uniq_key_end = parts.uniq_key_hash = parts.keys_at = parts.keys_end = 0
    while start < end:
        close: cython.Py_ssize_t = find(raw, 2, start, end)
        cut: cython.Py_ssize_t = find(raw, 1, start, close)
        if cut + 1 < close:
            length: cython.Py_ssize_t = cut - start
            if length == 4 and raw.startswith(b"TAGS", start):
                parts.tags_code = _signed(_hash_part(raw, cut + 1, close, 0))
            elif length == 4 and raw.startswith(b"KEYS", start):
                parts.keys_at, parts.keys_end = properties_at + cut + 1, properties_at + close
            elif length == 8 and raw.startswith(b"UNIQ_KEY", start):
                parts.uniq_key_at, parts.uniq_key_end = properties_at + cut + 1, properties_at + close
                parts.uniq_key_hash = _index_hash(_hash_part(raw, cut + 1, close, parts.topic_hash))
            elif length == 5 and raw.startswith(b"DELAY", start):
                parts.delay_level = _level(raw, cut + 1, close)
        start = close + 1


@cython.cfunc
def _note(
    view: cython.const[cython.uchar][::1], pos: cython.Py_ssize_t, parts: _Parts, places: bytearray
) -> cython.void:
    # fmt: off
    numbers: cython.longlong[16] = [
        pos, parts.size, parts.topic_number, int32_at(view, pos + _QUEUE_ID_AT),
        int64_at(view, pos + _QUEUE_OFFSET_AT), int64_at(view, pos + _COMMIT_LOG_OFFSET_AT),
        parts.sys_flag, int64_at(view, parts.store_at), int64_at(view, pos + _BORN_TIMESTAMP_AT),
        parts.tags_code, parts.delay_level, parts.uniq_key_at, parts.uniq_key_end, parts.uniq_key_hash,
        parts.keys_at, parts.keys_end,
    ]
    # fmt: on
    if not cython.compiled:
        places += PLACE.pack(*numbers)
        return
    at: cython.Py_ssize_t = PyByteArray_GET_SIZE(places)
    PyByteArray_Resize(places, at + cython.sizeof(numbers))
    memcpy(PyByteArray_AS_STRING(places) + at, cython.address(numbers[0]), cython.sizeof(numbers))


def locate_records(
    buffer: ReadableBuffer, start: int, end: int, check_crc: bool, max_records: int, base_offset: int = -1
) -> Located:
    """Places of the whole records from `start`.

    With base_offset >= 0 (the commit log offset of buffer[0]) a record must also say the offset it lies at:
    an old or copied block that is whole in itself is SCAN_BAD all the same.
    """
    view: cython.const[cython.uchar][::1] = memoryview(buffer)
    if not 0 <= start <= end <= len(view):
        raise BadInput(f"scan of [{start}, {end}) in a buffer of {len(view)} bytes")
    pos: cython.Py_ssize_t = start
    stop_at: cython.Py_ssize_t = end
    base: cython.longlong = base_offset
    is_checked: cython.bint = check_crc
    parts: _Parts = _Parts()
    parts.topic_raw = b""
    places = bytearray()
    topics: list[str] = []
    numbers: dict[bytes, int] = {}
    room: cython.Py_ssize_t = max_records
    while room > 0 and pos < stop_at:
        verdict: cython.int = _measure(view, pos, stop_at, parts)
        if verdict != _WHOLE:
            return places, topics, pos, verdict
        if base >= 0 and int64_at(view, pos + _COMMIT_LOG_OFFSET_AT) != base + pos:
            return places, topics, pos, SCAN_BAD
        if is_checked and not _is_body_intact(view, int32_at(view, pos + _BODY_CRC_AT), parts):
            return places, topics, pos, SCAN_BAD
        if not _read_topic(view, parts, topics, numbers):
            return places, topics, pos, SCAN_BAD
        properties_at: cython.Py_ssize_t = parts.topic_end + 2
        _read_properties(copy(view, properties_at, pos + parts.size), properties_at, parts)
        _note(view, pos, parts, places)
        pos += parts.size
        room -= 1
    return places, topics, pos, SCAN_MORE if pos < stop_at else SCAN_END


def measure_records(
    buffer: ReadableBuffer,
    start: int,
    end: int,
    check_crc: bool,
    max_records: int,
    base_offset: int = -1,
    positions: ReadableBuffer = b"",
) -> tuple[memoryview, int, int]:
    """Spans of the whole records from `start` (native int64), the position behind the last of them, and why
    the walk stopped; `base_offset` as for `locate_records`. With `positions` (native int64) only the records
    there are looked at, in ascending order, up to the first that is not whole."""
    view: cython.const[cython.uchar][::1] = memoryview(buffer)
    if not 0 <= start <= end <= len(view):
        raise BadInput(f"scan of [{start}, {end}) in a buffer of {len(view)} bytes")
    places: cython.const[cython.longlong][::1] = memoryview(positions).cast("B").cast("q")
    wanted: cython.Py_ssize_t = min(max_records, len(places)) if len(places) else max_records
    spans = memoryview(bytearray(wanted * _SPAN * 8)).cast("q")
    span: cython.longlong[::1] = spans
    parts: _Parts = _Parts()
    base: cython.longlong = base_offset
    is_checked: cython.bint = check_crc
    pos: cython.Py_ssize_t = start
    stop_at: cython.Py_ssize_t = end
    at: cython.Py_ssize_t = 0
    while at < len(span) and pos < stop_at:
        if len(places):
            pos = places[at // _SPAN]
            if not start <= pos < stop_at:
                return spans[:at], pos, SCAN_BAD
        verdict: cython.int = _measure(view, pos, stop_at, parts)
        if verdict != _WHOLE:
            return spans[:at], pos, verdict
        if base >= 0 and int64_at(view, pos + _COMMIT_LOG_OFFSET_AT) != base + pos:
            return spans[:at], pos, SCAN_BAD
        if is_checked and not _is_body_intact(view, int32_at(view, pos + _BODY_CRC_AT), parts):
            return spans[:at], pos, SCAN_BAD
        span[at], span[at + 1], span[at + 2] = pos, pos + parts.size, parts.store_at
        span[at + 3], span[at + 4] = parts.body_at, parts.body_end
        span[at + 5], span[at + 6] = parts.topic_at, parts.topic_end
        at += _SPAN
        pos += parts.size
    return spans[:at], pos, SCAN_MORE if pos < stop_at and wanted != len(places) else SCAN_END

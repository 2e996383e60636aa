# cython: language_level=3, boundscheck=True, wraparound=False
# mypy: disable-error-code="untyped-decorator,valid-type,no-any-return,unused-ignore"
# (C types are not Python types; the public functions are plainly typed.)
"""The scanner of stored records, compiled where a compiler exists: recovery, dispatch, slaves and clients
walk a log with it. Also home of the hashes of tags and keys, which every record needs.

It sees bytes and positions only; `records` draws the layout. Whatever the bytes, it reads inside
[start, end) of the buffer, raises nothing, and returns what it understood before the first thing it did not.
The same source runs uncompiled with the same results; `if cython.compiled` marks the few leaves that differ.
Safe from any thread: the one table, of topic names, only ever caches.

A row is a tuple in this order (the ROW_ constants):

    pos, size, topic, queue_id, queue_offset, commit_log_offset, sys_flag, store_timestamp,
    tags_code, uniq_key or None, keys or None, born_timestamp, delay_level
"""

from __future__ import annotations

from collections.abc import Container
from struct import Struct
from typing import TYPE_CHECKING, Any
from zlib import crc32

from engine.errors import BadInput
from engine.protocol.names import SCHEDULE_TOPIC
from engine.protocol.sys_flags import (
    TRANSACTION_COMMIT,
    TRANSACTION_MASK,
    TRANSACTION_NONE,
    TRANSACTION_ROLLBACK,
)

try:
    import cython
except ImportError:
    from engine.protocol import cython_shim as cython  # type: ignore[no-redef]

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

QueueKey = tuple[str, int]
QueueRun = tuple[str, int, int, bytearray]
"""Topic, queue id, queue offset of the first unit, units."""
IndexEntry = tuple[int, int, int]
"""Key hash, commit log offset, store time."""
Row = tuple[int, int, str, int, int, int, int, int, int, str | None, str | None, int, int]

SCAN_MORE = 0  # max_records reached
SCAN_END = 1  # `end` reached, or a zero size or magic: nothing was written here
SCAN_BLANK = 2  # blank filler: the rest of the file is unused
SCAN_BAD = 3  # size, magic, lengths, topic, CRC or position cannot be right

ROW_POS = 0
ROW_SIZE = 1
ROW_TOPIC = 2
ROW_QUEUE_ID = 3
ROW_QUEUE_OFFSET = 4
ROW_COMMIT_LOG_OFFSET = 5
ROW_SYS_FLAG = 6
ROW_STORE_TIMESTAMP = 7
ROW_TAGS_CODE = 8
ROW_UNIQ_KEY = 9
ROW_KEYS = 10
ROW_BORN_TIMESTAMP = 11
ROW_DELAY_LEVEL = 12

# C constants. The magics (0xDAA320A7, 0xDAA320AB, 0xCBD43194) are written as the signed ints that they are on
# disk, because a C literal above 0x7fffffff becomes a Python object.
_MAGIC_V1 = cython.declare(cython.int, -0x255CDF59)
_MAGIC_V2 = cython.declare(cython.int, -0x255CDF55)
_MAGIC_BLANK = cython.declare(cython.int, -0x342BCE6C)
_WHOLE = cython.declare(cython.int, -1)
_END = cython.declare(cython.int, 1)
_BLANK = cython.declare(cython.int, 2)
_BAD = cython.declare(cython.int, 3)
_SMALLEST_RECORD = cython.declare(cython.Py_ssize_t, 92)
_CRC_SLICE = cython.declare(cython.Py_ssize_t, 32768)
_TOPICS_KEPT = cython.declare(cython.Py_ssize_t, 16384)
_KIND_MASK = cython.declare(cython.int, TRANSACTION_MASK)
_KIND_NONE = cython.declare(cython.int, TRANSACTION_NONE)
_KIND_COMMIT = cython.declare(cython.int, TRANSACTION_COMMIT)
_KIND_ROLLBACK = cython.declare(cython.int, TRANSACTION_ROLLBACK)
_topics: dict[bytes, str] = cython.declare(dict, {})
_pack_unit = Struct(">qiq").pack


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
    value: cython.longlong = _signed(_hash(key, _hash("#", _hash(topic, 0))))
    # Java's abs() leaves the smallest int negative; the index counts it as 0.
    return 0 if value == -0x80000000 else abs(value)


@cython.cfunc
@cython.inline
def _int16(view: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.int:
    value: cython.int = (view[at] << 8) | view[at + 1]
    return value - 0x10000 if value > 0x7FFF else value


@cython.cfunc
@cython.inline
def _int32(view: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.int:
    if cython.compiled:
        value: cython.uint = view[at]
        value = (value << 8) | view[at + 1]
        value = (value << 8) | view[at + 2]
        return cython.cast(cython.int, (value << 8) | view[at + 3])
    return int.from_bytes(view[at : at + 4], "big", signed=True)


@cython.cfunc
@cython.inline
def _int64(view: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.longlong:
    if cython.compiled:
        high: cython.longlong = _int32(view, at)
        low: cython.uint = cython.cast(cython.uint, _int32(view, at + 4))
        return high * 0x10000 * 0x10000 + low
    return int.from_bytes(view[at : at + 8], "big", signed=True)


@cython.cfunc
@cython.inline
def _copy(view: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> bytes:
    if cython.compiled:
        if start >= end:
            return b""
        # The index of the last byte is checked here, once; the copy then goes by pointer.
        view[end - 1]
        return cython.cast(cython.p_char, cython.address(view[start]))[: end - start]
    return bytes(view[start:end])


@cython.cfunc
@cython.inline
def _find(
    raw: bytes, wanted: cython.uchar, start: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Position of the byte in [start, end), or `end`."""
    if cython.compiled:
        at: cython.Py_ssize_t = start
        while at < end and cython.cast(cython.uchar, raw[at]) != wanted:
            at += 1
        return at
    found = raw.find(wanted, start, end)
    return end if found < 0 else found


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
    tags_code: cython.int
    delay_level: cython.int
    uniq_key: str | None
    keys: str | None


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
    size: cython.int = _int32(view, pos)
    magic: cython.int = _int32(view, pos + 4)
    if size == 0 or magic == 0:
        return _END
    if magic == _MAGIC_BLANK:
        return _BLANK if size >= 8 else _BAD
    if (magic != _MAGIC_V1 and magic != _MAGIC_V2) or size < _SMALLEST_RECORD or size > end - pos:
        return _BAD
    parts.size = size
    parts.sys_flag = _int32(view, pos + 36)
    parts.store_at = pos + (68 if parts.sys_flag & 0x10 else 56)
    # Store time, store host, reconsume times, prepared offset, body length.
    parts.body_at = parts.store_at + (44 if parts.sys_flag & 0x20 else 32)
    return _measure_tail(view, pos + size, magic == _MAGIC_V2, parts)


@cython.cfunc
def _measure_tail(
    view: cython.const[cython.uchar][::1], end: cython.Py_ssize_t, is_v2: cython.bint, parts: _Parts
) -> cython.int:
    """The parts of varying length: each length is checked before anything behind it is read."""
    prefix: cython.int = 2 if is_v2 else 1
    if parts.body_at > end:
        return _BAD
    length: cython.int = _int32(view, parts.body_at - 4)
    parts.body_end = parts.body_at + length
    parts.topic_at = parts.body_end + prefix
    if length < 0 or parts.topic_at > end:
        return _BAD
    length = _int16(view, parts.body_end) if is_v2 else view[parts.body_end]
    parts.topic_end = parts.topic_at + length
    if length <= 0 or (prefix == 1 and length > 127) or parts.topic_end + 2 > end:
        return _BAD
    length = _int16(view, parts.topic_end)
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
        crc = crc32(_copy(view, at, stop), crc)
        at = stop
    return stored_crc >= 0 and cython.cast(cython.uint, stored_crc) == crc & 0x7FFFFFFF


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
def _read_properties(raw: bytes, parts: _Parts) -> cython.void:
    """Note the four properties that dispatch needs, by the rules of `properties.decode_properties`."""
    start: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t = len(raw)
    parts.tags_code = parts.delay_level = 0
    parts.uniq_key = parts.keys = None
    while start < end:
        close: cython.Py_ssize_t = _find(raw, 2, start, end)
        cut: cython.Py_ssize_t = _find(raw, 1, start, close)
        if cut + 1 < close:
            length: cython.Py_ssize_t = cut - start
            if length == 4 and raw.startswith(b"TAGS", start):
                parts.tags_code = _signed(_hash(raw[cut + 1 : close].decode("utf-8", "replace"), 0))
            elif length == 4 and raw.startswith(b"KEYS", start):
                parts.keys = raw[cut + 1 : close].decode("utf-8", "replace")
            elif length == 8 and raw.startswith(b"UNIQ_KEY", start):
                parts.uniq_key = raw[cut + 1 : close].decode("utf-8", "replace")
            elif length == 5 and raw.startswith(b"DELAY", start):
                parts.delay_level = _level(raw, cut + 1, close)
        start = close + 1


@cython.cfunc
def _row(view: cython.const[cython.uchar][::1], pos: cython.Py_ssize_t, topic: str, parts: _Parts) -> Row:
    _read_properties(_copy(view, parts.topic_end + 2, pos + parts.size), parts)
    return (
        pos,
        parts.size,
        topic,
        _int32(view, pos + 12),
        _int64(view, pos + 20),
        _int64(view, pos + 28),
        parts.sys_flag,
        _int64(view, parts.store_at),
        parts.tags_code,
        parts.uniq_key,
        parts.keys,
        _int64(view, pos + 40),
        parts.delay_level,
    )


def scan_records(
    buffer: ReadableBuffer, start: int, end: int, check_crc: bool, max_records: int, base_offset: int = -1
) -> tuple[list[Row], int, int]:
    """Rows of the whole records from `start`, the position behind the last of them, and why the scan stopped.

    With base_offset >= 0 (the commit log offset of buffer[0]) a record must also say the offset it lies at:
    an old or copied block that is whole in itself is SCAN_BAD all the same.
    """
    view: cython.const[cython.uchar][::1] = memoryview(buffer)
    if not 0 <= start <= end <= len(view):
        raise BadInput(f"scan of [{start}, {end}) in a buffer of {len(view)} bytes")
    pos: cython.Py_ssize_t = start
    stop_at: cython.Py_ssize_t = end
    base: cython.longlong = base_offset
    parts: _Parts = _Parts()
    rows: list[Row] = []
    room: cython.Py_ssize_t = max_records
    while room > 0 and pos < stop_at:
        verdict: cython.int = _measure(view, pos, stop_at, parts)
        if verdict != _WHOLE:
            return rows, pos, verdict
        if base >= 0 and _int64(view, pos + 28) != base + pos:
            return rows, pos, SCAN_BAD
        if check_crc and not _is_body_intact(view, _int32(view, pos + 8), parts):
            return rows, pos, SCAN_BAD
        topic = _topic(_copy(view, parts.topic_at, parts.topic_end))
        if topic is None:
            return rows, pos, SCAN_BAD
        rows.append(_row(view, pos, topic, parts))
        pos += parts.size
        room -= 1
    return rows, pos, SCAN_MORE if pos < stop_at else SCAN_END


@cython.cclass
class _Run:
    """Where a run of queue units is being written, and the queue offset that would continue it."""

    next: cython.longlong
    units: bytearray


@cython.cfunc
def _unit(offset: cython.longlong, size: cython.int, tags_code: cython.longlong) -> bytes:
    """The 20 bytes of a consume queue unit (`layouts.queue_units`)."""
    if cython.compiled:
        raw = cython.declare(cython.uchar[20])
        at: cython.int
        for at in range(8):
            raw[at] = (offset >> (56 - 8 * at)) & 0xFF
            raw[12 + at] = (tags_code >> (56 - 8 * at)) & 0xFF
        for at in range(4):
            raw[8 + at] = (size >> (24 - 8 * at)) & 0xFF
        return cython.cast(cython.p_char, raw)[:20]
    return _pack_unit(offset, size, tags_code)


@cython.cfunc
def _delay_ms(level: cython.int, delay_level_ms: tuple[int, ...]) -> cython.longlong:
    levels: cython.int = len(delay_level_ms)
    return delay_level_ms[min(level, levels) - 1] if levels else 0


def queue_runs(
    rows: list[Row], only: Container[QueueKey] | None, delay_level_ms: tuple[int, ...]
) -> list[QueueRun]:
    """What dispatch writes for these rows: runs of units with consecutive queue offsets, by their first row.

    Prepared and rolled-back messages have no unit. With `only`, neither have the queues that are not in it.
    The tags code of a delayed message is the time of its delivery.
    """
    found: list[QueueRun] = []
    open_runs: dict[QueueKey, _Run] = {}
    row: tuple[Any, ...]
    for row in rows:
        kind: cython.int = row[6]
        kind &= _KIND_MASK
        key: tuple[Any, ...] = (row[2], row[3])
        if (kind != _KIND_NONE and kind != _KIND_COMMIT) or (only is not None and key not in only):
            continue
        queue_offset: cython.longlong = row[4]
        tags_code: cython.longlong = row[8]
        level: cython.int = row[12]
        if level and row[2] == SCHEDULE_TOPIC:
            tags_code = row[7] + _delay_ms(level, delay_level_ms)
        run: _Run | None = open_runs.get(key)
        if run is None or run.next != queue_offset:
            run = _Run()
            run.next = queue_offset
            run.units = bytearray()
            open_runs[key] = run
            found.append((row[2], row[3], queue_offset, run.units))
        run.units += _unit(row[5], row[1], tags_code)
        run.next += 1
    return found


def index_entries(rows: list[Row], index_from: int) -> list[IndexEntry]:
    """(key hash, commit log offset, store time) for the unique key and for each key of each record from
    `index_from` on; a rolled-back message has none."""
    entries: list[IndexEntry] = []
    row: tuple[Any, ...]
    for row in rows:
        kind: cython.int = row[6]
        if row[5] < index_from or kind & _KIND_MASK == _KIND_ROLLBACK:
            continue
        if row[9] is not None:
            entries.append((index_key_hash(row[2], row[9]), row[5], row[7]))
        if row[10] is not None:
            for key in row[10].split():
                entries.append((index_key_hash(row[2], key), row[5], row[7]))
    return entries

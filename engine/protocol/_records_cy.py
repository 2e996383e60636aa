# cython: language_level=3, boundscheck=True, wraparound=False
# mypy: disable-error-code="untyped-decorator,valid-type,no-any-return,unused-ignore"
# (C types are not Python types; the public functions are plainly typed.)
"""Walks stored records, compiled where a compiler exists: recovery, dispatch, slaves and clients read a log
with it. `_places_cy` finds the records and judges them; here is what is made of those that it believes:

- `scan_records`: a row for each.
- `derive_records`: no rows, but what dispatch writes for all of them, queue units and index keys, at a
  fraction of the cost.

The same source runs uncompiled with the same results; `if cython.compiled` marks the few leaves that differ.
Safe from any thread.

A row is a tuple in this order (the ROW_ constants):

    pos, size, topic, queue_id, queue_offset, commit_log_offset, sys_flag, store_timestamp,
    tags_code, uniq_key or None, keys or None, born_timestamp, delay_level
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, NamedTuple

from engine.protocol._places_cy import (
    PLACE_NUMBERS,
    SCAN_BAD,
    SCAN_BLANK,
    SCAN_END,
    SCAN_MORE,
    index_key_hash,
    java_hash,
    locate_records,
)
from engine.protocol.layouts.store_files import CQ_UNIT, CQ_UNIT_SIZE, INDEX_KEY, INDEX_KEY_SIZE
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

if cython.compiled:
    from cython.cimports.cpython.bytearray import (
        PyByteArray_AS_STRING,
        PyByteArray_GET_SIZE,
        PyByteArray_Resize,
    )
    from cython.cimports.engine.protocol._bytes_cy import c_write

__all__ = [
    "SCAN_BAD",
    "SCAN_BLANK",
    "SCAN_END",
    "SCAN_MORE",
    "Derived",
    "Newest",
    "QueueRun",
    "Row",
    "derive_records",
    "index_key_hash",
    "is_compiled",
    "java_hash",
    "scan_records",
]

QueueKey = tuple[str, int]
QueueRun = tuple[str, int, int, bytearray]
"""Topic, queue id, queue offset of the first unit, units."""
Row = tuple[int, int, str, int, int, int, int, int, int, str | None, str | None, int, int]

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

_STEP = cython.declare(cython.Py_ssize_t, PLACE_NUMBERS)
_KIND_MASK = cython.declare(cython.longlong, TRANSACTION_MASK)
_KIND_NONE = cython.declare(cython.longlong, TRANSACTION_NONE)
_KIND_COMMIT = cython.declare(cython.longlong, TRANSACTION_COMMIT)
_KIND_ROLLBACK = cython.declare(cython.longlong, TRANSACTION_ROLLBACK)
_LATEST = cython.declare(cython.longlong, 0x7FFFFFFFFFFFFFFF)
_UNIT_SIZE = cython.declare(cython.Py_ssize_t, CQ_UNIT_SIZE)
_KEY_SIZE = cython.declare(cython.Py_ssize_t, INDEX_KEY_SIZE)


class Newest(NamedTuple):
    """The last record of a walk."""

    commit_log_offset: int
    size: int
    topic: str
    queue_id: int
    store_timestamp: int


class Derived(NamedTuple):
    runs: list[QueueRun]
    keys: bytearray
    """20 bytes each: KEYHASH 4, COMMITLOGOFFSET 8, STORETIME 8."""
    count: int  # type: ignore[assignment]  # of records; tuple.count is not missed
    newest: Newest | None
    next: int
    """The position behind the last record."""
    stop: int
    """Why the walk stopped (SCAN_…)."""


def is_compiled() -> bool:
    return bool(cython.compiled)


def scan_records(
    buffer: ReadableBuffer, start: int, end: int, check_crc: bool, max_records: int, base_offset: int = -1
) -> tuple[list[Row], int, int]:
    """Rows of the whole records from `start`, the position behind the last of them, and why the scan
    stopped. `base_offset`: see `locate_records`."""
    places, topics, pos, stop = locate_records(buffer, start, end, check_crc, max_records, base_offset)
    view = memoryview(buffer)
    place: cython.longlong[::1] = memoryview(places).cast("q")
    rows: list[Row] = []
    at: cython.Py_ssize_t
    for at in range(0, len(place), _STEP):
        # fmt: off
        rows.append((
            place[at], place[at + 1], topics[place[at + 2]], place[at + 3], place[at + 4], place[at + 5],
            place[at + 6], place[at + 7], place[at + 9], _text(view, place[at + 11], place[at + 12]),
            _text(view, place[at + 14], place[at + 15]), place[at + 8], place[at + 10],
        ))
        # fmt: on
    return rows, pos, stop


@cython.cfunc
def _text(view: memoryview, start: cython.longlong, end: cython.longlong) -> str | None:
    return str(view[start:end], "utf-8", "replace") if start else None


@cython.cclass
class _Run:
    """Where a run of queue units is being written, and the queue offset of the last of them."""

    topic: cython.longlong
    queue_id: cython.longlong
    last: cython.longlong
    units: bytearray

    @cython.cfunc
    def is_continued_by(self, queue_offset: cython.longlong) -> cython.bint:
        # Any number may stand in a record: the sum must not leave the range of a C number.
        return self.last < queue_offset and self.last + 1 == queue_offset


@cython.cclass
class _Derivation:
    """What has been derived so far."""

    only: Container[QueueKey] | None
    found: list[QueueRun]
    open_runs: dict[QueueKey, _Run]
    run: _Run
    keys: bytearray

    def __init__(self, only: Container[QueueKey] | None) -> None:
        self.only = only
        self.found = []
        self.open_runs = {}
        self.run = _Run()
        self.run.topic = -1
        self.run.queue_id = self.run.last = 0
        self.keys = bytearray()

    @cython.cfunc
    def find_run(
        self, topics: list[str], topic: cython.longlong, queue_id: cython.longlong, offset: cython.longlong
    ) -> _Run | None:
        """The run that a unit at this queue offset continues or begins; None if it is not wanted."""
        run: _Run | None = self.run
        if self.run.topic == topic and self.run.queue_id == queue_id and self.run.is_continued_by(offset):
            return run
        key = (topics[topic], queue_id)
        run = self.open_runs.get(key)
        if run is None or not run.is_continued_by(offset):
            if self.only is not None and key not in self.only:
                return None
            run = _Run()
            run.topic = topic
            run.queue_id = queue_id
            run.units = bytearray()
            self.open_runs[key] = run
            self.found.append((topics[topic], queue_id, offset, run.units))
        self.run = run
        return run


@cython.cfunc
def _delay_ms(level: cython.longlong, delay_level_ms: tuple[int, ...]) -> cython.longlong:
    levels: cython.longlong = len(delay_level_ms)
    return delay_level_ms[min(level, levels) - 1] if levels else 0


@cython.cfunc
def _due_ms(store_timestamp: cython.longlong, delay_ms: cython.longlong) -> cython.longlong:
    return _LATEST if store_timestamp > _LATEST - delay_ms else store_timestamp + delay_ms


@cython.cfunc
def _append_unit(
    units: bytearray, offset: cython.longlong, size: cython.longlong, tags_code: cython.longlong
) -> cython.void:
    """The 20 bytes of a consume queue unit (`layouts.store_files`)."""
    if not cython.compiled:
        units += CQ_UNIT.pack(offset, size, tags_code)
        return
    at: cython.Py_ssize_t = PyByteArray_GET_SIZE(units)
    PyByteArray_Resize(units, at + _UNIT_SIZE)
    raw: cython.p_uchar = cython.cast(cython.p_uchar, PyByteArray_AS_STRING(units)) + at
    c_write(raw, 8, offset)
    c_write(raw + 8, 4, size)
    c_write(raw + 12, 8, tags_code)


@cython.cfunc
def _append_key(
    keys: bytearray, key_hash: cython.longlong, offset: cython.longlong, store_timestamp: cython.longlong
) -> cython.void:
    if not cython.compiled:
        keys += INDEX_KEY.pack(key_hash, offset, store_timestamp)
        return
    at: cython.Py_ssize_t = PyByteArray_GET_SIZE(keys)
    PyByteArray_Resize(keys, at + _KEY_SIZE)
    raw: cython.p_uchar = cython.cast(cython.p_uchar, PyByteArray_AS_STRING(keys)) + at
    c_write(raw, 4, key_hash)
    c_write(raw + 4, 8, offset)
    c_write(raw + 12, 8, store_timestamp)


def derive_records(
    buffer: ReadableBuffer,
    start: int,
    end: int,
    check_crc: bool,
    max_records: int,
    base_offset: int,
    only: Container[QueueKey] | None,
    delay_level_ms: tuple[int, ...],
    index_from: int,
) -> Derived:
    """What dispatch writes for the records that `scan_records` would find.

    Units come as runs with consecutive queue offsets, in the order of their first records. Prepared and
    rolled-back messages have none; with `only`, neither have the queues that are not in it. The tags code of
    a delayed message is the time of its delivery. Keys are those of the records from `index_from` on: the
    unique key and each of the others; a rolled-back message has none.
    """
    places, topics, pos, stop = locate_records(buffer, start, end, check_crc, max_records, base_offset)
    view = memoryview(buffer)
    place: cython.longlong[::1] = memoryview(places).cast("q")
    found: _Derivation = _Derivation(only)
    first_indexed: cython.longlong = index_from
    at: cython.Py_ssize_t
    count: cython.Py_ssize_t = len(place) // _STEP
    for at in range(0, count * _STEP, _STEP):
        kind: cython.longlong = place[at + 6] & _KIND_MASK
        offset: cython.longlong = place[at + 5]
        store_timestamp: cython.longlong = place[at + 7]
        if kind in (_KIND_NONE, _KIND_COMMIT):
            run: _Run | None = found.find_run(topics, place[at + 2], place[at + 3], place[at + 4])
            if run is not None:
                tags_code: cython.longlong = place[at + 9]
                if place[at + 10] and topics[place[at + 2]] == SCHEDULE_TOPIC:
                    tags_code = _due_ms(store_timestamp, _delay_ms(place[at + 10], delay_level_ms))
                _append_unit(run.units, offset, place[at + 1], tags_code)
                run.last = place[at + 4]
        if offset < first_indexed or kind == _KIND_ROLLBACK:
            continue
        if place[at + 11]:
            _append_key(found.keys, place[at + 13], offset, store_timestamp)
        if place[at + 14]:
            for key in str(view[place[at + 14] : place[at + 15]], "utf-8", "replace").split():
                _append_key(found.keys, index_key_hash(topics[place[at + 2]], key), offset, store_timestamp)
    newest: Newest | None = None
    if count:
        at = (count - 1) * _STEP
        newest = Newest(place[at + 5], place[at + 1], topics[place[at + 2]], place[at + 3], place[at + 7])
    return Derived(found.found, found.keys, count, newest, pos, stop)

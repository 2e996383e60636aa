# cython: language_level=3, boundscheck=True, wraparound=False
# mypy: disable-error-code="untyped-decorator,valid-type,no-any-return,unused-ignore"
# (C types are not Python types; the public functions are plainly typed.)
"""Columns of stored records, compiled where a compiler exists: what an analytical reader makes of the spans
that `_places_cy.measure_records` found.

A column is bytes in the shape that Arrow's columns have, so that nobody copies them again:

    numbers    native int32 or int64, one for each record
    texts      see `_texts_cy`

Spans are trusted to lie inside the buffer that they were measured in; every access is checked all the same.
The same source runs uncompiled with the same results; `if cython.compiled` marks the few leaves that differ.
Pure; safe from any thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine.protocol._places_cy import (
    SPAN_NUMBERS,
    SPAN_STORE,
    SPAN_TOPIC,
    SPAN_TOPIC_END,
    SPAN_TOPIC_NUMBER,
)

try:
    import cython
except ImportError:
    from engine.protocol import cython_shim as cython  # type: ignore[no-redef]

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

if cython.compiled:
    from cython.cimports.engine.protocol._bytes_cy import c_copy as copy
    from cython.cimports.engine.protocol._bytes_cy import c_int32_at as int32_at
    from cython.cimports.engine.protocol._bytes_cy import c_int64_at as int64_at
    from cython.cimports.engine.protocol._bytes_cy import c_is_equal as is_equal
else:
    from engine.protocol._bytes_cy import copy, int32_at, int64_at, is_equal

FIRST_MS = -62_135_596_800_000
LAST_MS = 253_402_300_799_999
"""Times of the years 1 to 9999; what clients invent beyond them counts as the first or last moment."""

_STEP = cython.declare(cython.Py_ssize_t, SPAN_NUMBERS)
_STORE = cython.declare(cython.Py_ssize_t, SPAN_STORE)
_TOPIC = cython.declare(cython.Py_ssize_t, SPAN_TOPIC)
_TOPIC_END = cython.declare(cython.Py_ssize_t, SPAN_TOPIC_END)
_TOPIC_NUMBER = cython.declare(cython.Py_ssize_t, SPAN_TOPIC_NUMBER)
_FIRST_MS = cython.declare(cython.longlong, FIRST_MS)
_LAST_MS = cython.declare(cython.longlong, LAST_MS)


def is_compiled() -> bool:
    return bool(cython.compiled)


def choose_records(
    buffer: ReadableBuffer, spans: memoryview, numbers: Mapping[bytes, int], from_ms: int, to_ms: int
) -> tuple[memoryview, int]:
    """The spans of the records stored in [from_ms, to_ms) whose topic has a number from 0 up, each with that
    number; and how many of all were looked at: fewer when a topic's number is below -1, which cannot be one.
    The given spans are overwritten."""
    view: cython.const[cython.uchar][::1] = memoryview(buffer)
    span: cython.longlong[::1] = spans
    first_ms: cython.longlong = from_ms
    end_ms: cython.longlong = to_ms
    known: bytes = b""
    number: cython.longlong = -1
    kept: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t
    field: cython.Py_ssize_t
    for at in range(0, len(span), _STEP):
        stored_ms: cython.longlong = int64_at(view, span[at + _STORE])
        if not first_ms <= stored_ms < end_ms:
            continue
        # Neighbours are often of one topic, and a topic is never empty.
        if not is_equal(view, span[at + _TOPIC], span[at + _TOPIC_END], known):
            known = copy(view, span[at + _TOPIC], span[at + _TOPIC_END])
            number = numbers[known]
        if number < -1:
            return spans[:kept], at // _STEP
        if number >= 0:
            for field in range(_STEP - 1):
                span[kept + field] = span[at + field]
            span[kept + _TOPIC_NUMBER] = number
            kept += _STEP
    return spans[:kept], len(span) // _STEP


def number_column(buffer: ReadableBuffer, spans: memoryview, part: int, delta: int, size: int) -> bytearray:
    """The numbers of `size` bytes (4 or 8) that lie `delta` behind a part of each record."""
    view: cython.const[cython.uchar][::1] = memoryview(buffer)
    span: cython.const[cython.longlong][::1] = spans
    column = bytearray(len(span) // _STEP * size)
    out: cython.longlong[::1] = memoryview(column if size == 8 else bytearray()).cast("q")
    short: cython.int[::1] = memoryview(column if size == 4 else bytearray()).cast("i")
    behind: cython.Py_ssize_t = delta
    first: cython.Py_ssize_t = part
    number: cython.Py_ssize_t
    if size == 8:
        for number in range(len(out)):
            out[number] = int64_at(view, span[number * _STEP + first] + behind)
    else:
        for number in range(len(short)):
            short[number] = int32_at(view, span[number * _STEP + first] + behind)
    return column


def size_column(spans: memoryview, part: int, part_end: int) -> bytearray:
    """From one part to another, in bytes, as int32."""
    span: cython.const[cython.longlong][::1] = spans
    column = bytearray(len(span) // _STEP * 4)
    out: cython.int[::1] = memoryview(column).cast("i")
    first: cython.Py_ssize_t = part
    last: cython.Py_ssize_t = part_end
    number: cython.Py_ssize_t
    for number in range(len(out)):
        out[number] = span[number * _STEP + last] - span[number * _STEP + first]
    return column


def topic_numbers(spans: memoryview) -> bytearray:
    """What `choose_records` noted, as int32."""
    span: cython.const[cython.longlong][::1] = spans
    column = bytearray(len(span) // _STEP * 4)
    out: cython.int[::1] = memoryview(column).cast("i")
    number: cython.Py_ssize_t
    for number in range(len(out)):
        out[number] = span[number * _STEP + _TOPIC_NUMBER]
    return column


def time_column(buffer: ReadableBuffer, spans: memoryview, part: int, delta: int) -> bytearray:
    """Milliseconds, as microseconds."""
    column = number_column(buffer, spans, part, delta, 8)
    out: cython.longlong[::1] = memoryview(column).cast("q")
    number: cython.Py_ssize_t
    for number in range(len(out)):
        out[number] = min(max(out[number], _FIRST_MS), _LAST_MS) * 1000
    return column

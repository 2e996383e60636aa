# cython: language_level=3, boundscheck=True, wraparound=False
# mypy: disable-error-code="untyped-decorator,valid-type,no-any-return,unused-ignore"
# (C types are not Python types; the public function is plainly typed.)
"""From the queue units of the everyday pull to spans of the log, compiled where a compiler exists.

Everyday is a pull without a filter that finds all of its messages in memory and within its limits; of any
other nothing is said here. The same source runs uncompiled with the same results. Pure; safe from any thread.
"""

from __future__ import annotations

from engine.protocol.layouts.store_files import CQ_UNIT_SIZE

try:
    import cython
except ImportError:
    from engine.protocol import cython_shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.engine.protocol._bytes_cy import c_int32_at as int32_at
    from cython.cimports.engine.protocol._bytes_cy import c_int64_at as int64_at
else:
    from engine.protocol._bytes_cy import int32_at, int64_at

_UNIT_SIZE = cython.declare(cython.Py_ssize_t, CQ_UNIT_SIZE)
_MOST_OFFSET = cython.declare(cython.longlong, 0x7FFFFFFF00000000)


def is_compiled() -> bool:
    return bool(cython.compiled)


def plain_spans(units: bytes, hot_from: int, max_bytes: int) -> tuple[list[int], int] | None:
    """Where the messages lie in the log, each span from an even to an odd index, and their size; None when
    the first lies before `hot_from`, when they have more than `max_bytes`, or when a size cannot be one."""
    view: cython.const[cython.uchar][::1] = units
    first_hot: cython.longlong = hot_from
    most: cython.longlong = max_bytes
    spans: list[int] = []
    start: cython.longlong = -1
    end: cython.longlong = -1
    total: cython.longlong = 0
    at: cython.Py_ssize_t
    for at in range(0, len(units) // _UNIT_SIZE * _UNIT_SIZE, _UNIT_SIZE):
        offset: cython.longlong = int64_at(view, at)
        size: cython.longlong = int32_at(view, at + 8)
        # Offsets only grow, so the first decides; the size of a blank is above any limit.
        if size <= 0 or total + size > most or (start < 0 and offset < first_hot):
            return None
        if offset < 0 or offset > _MOST_OFFSET:
            return None
        total += size
        if offset != end:
            if start >= 0:
                spans += (start, end)
            start = offset
        end = offset + size
    if start < 0:
        return None
    spans += (start, end)
    return spans, total

# cython: language_level=3, boundscheck=True, wraparound=False
# mypy: disable-error-code="name-defined,no-any-return,unused-ignore"
# ruff: noqa: F821 - the functions with `c_` are those of the .pxd
"""Big-endian numbers and stretches of bytes in a buffer: the one place where a `_cy` module gets them from.

Compiled modules take the functions of the same names with `c_` from `_bytes_cy.pxd`, which the compiler puts
inline; the functions here are what the same modules call where they run uncompiled. Every access is inside
the buffer or an IndexError when compiled; uncompiled callers never ask for more than the buffer has. Pure;
safe from any thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    import cython
except ImportError:
    from engine.protocol import cython_shim as cython  # type: ignore[no-redef]

if TYPE_CHECKING:
    Buffer = bytes | bytearray | memoryview


def is_compiled() -> bool:
    return bool(cython.compiled)


def int16_at(view: Buffer, at: int) -> int:
    if cython.compiled:
        return c_int16_at(view, at)
    return int.from_bytes(view[at : at + 2], "big", signed=True)


def int32_at(view: Buffer, at: int) -> int:
    if cython.compiled:
        return c_int32_at(view, at)
    return int.from_bytes(view[at : at + 4], "big", signed=True)


def int64_at(view: Buffer, at: int) -> int:
    if cython.compiled:
        return c_int64_at(view, at)
    return int.from_bytes(view[at : at + 8], "big", signed=True)


def copy(view: Buffer, start: int, end: int) -> bytes:
    """Empty if `end` does not lie behind `start`."""
    if cython.compiled:
        return c_copy(view, start, end)
    return bytes(view[start:end])


def is_equal(view: Buffer, start: int, end: int, wanted: bytes) -> bool:
    if cython.compiled:
        return c_is_equal(view, start, end, wanted)
    return view[start:end] == wanted


def find(raw: bytes, wanted: int, start: int, end: int) -> int:
    """Position of the byte in [start, end), or `end`."""
    if cython.compiled:
        return c_find(raw, wanted, start, end)
    found = raw.find(wanted, start, end)
    return end if found < 0 else found


def put_int32(view: bytearray | memoryview, at: int, value: int) -> None:
    if cython.compiled:
        c_put_int32(view, at, value)
    else:
        view[at : at + 4] = value.to_bytes(4, "big")

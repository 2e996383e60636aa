# cython: language_level=3, boundscheck=True, wraparound=False
# mypy: disable-error-code="untyped-decorator,valid-type,no-any-return,unused-ignore"
# (C types are not Python types; the public functions are plainly typed.)
"""Entries and slots of an index file (layout: `layouts.store_files`), many at a time, compiled where a
compiler exists: every message has at least one key.

What comes in are keys as `derive_records` gives them (KEYHASH 4, COMMITLOGOFFSET 8, STORETIME 8), what goes
out are entries, in which the last eight bytes have become seconds and the slot's previous entry. The slots
are read by one function and written by another, so that the entries can be on their way first. No files, no
clock; the slots are any buffer. The same source runs uncompiled with the same results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.protocol.layouts.store_files import (
    INDEX_ENTRY,
    INDEX_ENTRY_SIZE,
    INDEX_KEY,
    INDEX_SLOT,
    INDEX_SLOT_SIZE,
)

try:
    import cython
except ImportError:
    from engine.protocol import cython_shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.engine.protocol._bytes_cy import c_int32_at as int32_at
    from cython.cimports.engine.protocol._bytes_cy import c_int64_at as int64_at
    from cython.cimports.engine.protocol._bytes_cy import c_put_int32 as put_int32
else:
    from engine.protocol._bytes_cy import int32_at, int64_at, put_int32

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

_SIZE = cython.declare(cython.Py_ssize_t, INDEX_ENTRY_SIZE)
_SLOT_SIZE = cython.declare(cython.Py_ssize_t, INDEX_SLOT_SIZE)
_MOST_SECONDS = cython.declare(cython.longlong, 0x7FFFFFFF)
_MIX = cython.declare(cython.uint, 0x1E3779B1)


def is_compiled() -> bool:
    return bool(cython.compiled)


def chain_entries(
    keys: ReadableBuffer, slots: ReadableBuffer, slots_at: int, slot_count: int, first: int, begin_ms: int
) -> tuple[bytes, int]:
    """The entries of the keys, numbered from `first` on, and how many slots they are the first of.

    A slot that says a number which is not below `first` is empty: it is what a killed process left. Entries
    of one call are chained among each other. `begin_ms`: the time from which the file counts its seconds, 0
    when it has none.
    """
    if not cython.compiled:
        return _chain_plainly(keys, slots, slots_at, slot_count, first, begin_ms)
    entries: bytearray = bytearray(keys)
    out: cython.uchar[::1] = entries
    view: cython.const[cython.uchar][::1] = slots
    at_slots: cython.Py_ssize_t = slots_at
    modulus: cython.longlong = slot_count
    begin: cython.longlong = begin_ms
    first_number: cython.longlong = first
    number: cython.longlong = first
    used: cython.Py_ssize_t = 0
    count: cython.Py_ssize_t = len(entries) // _SIZE
    # Open addressing: pairs of slot + 1 and the number of its newest entry in this call.
    room: cython.Py_ssize_t = 16
    while room < 2 * count:
        room *= 2
    newest: cython.longlong[::1] = memoryview(bytearray(16 * room)).cast("q")
    at: cython.Py_ssize_t
    for at in range(0, count * _SIZE, _SIZE):
        slot: cython.longlong = int32_at(out, at) % modulus
        place: cython.Py_ssize_t = (cython.cast(cython.uint, slot) * _MIX) & (room - 1)
        while newest[2 * place] != 0 and newest[2 * place] != slot + 1:
            place = (place + 1) & (room - 1)
        previous: cython.longlong = newest[2 * place + 1]
        if newest[2 * place] == 0:
            previous = int32_at(view, at_slots + slot * _SLOT_SIZE)
            if not 0 < previous < first_number:
                previous = 0
                used += 1
            newest[2 * place] = slot + 1
        newest[2 * place + 1] = number
        put_int32(out, at + 12, _seconds(int64_at(out, at + 12), begin))
        put_int32(out, at + 16, previous)
        number += 1
    return bytes(entries), used


def write_slots(
    entries: ReadableBuffer, slots: WriteableBuffer, slots_at: int, slot_count: int, first: int
) -> None:
    """Let each slot say its newest entry."""
    view: cython.const[cython.uchar][::1] = memoryview(entries)
    out: cython.uchar[::1] = memoryview(slots)
    number: cython.longlong = first
    at_slots: cython.Py_ssize_t = slots_at
    modulus: cython.longlong = slot_count
    at: cython.Py_ssize_t
    for at in range(0, len(view), _SIZE):
        put_int32(out, at_slots + int32_at(view, at) % modulus * _SLOT_SIZE, number)
        number += 1


def _chain_plainly(
    keys: ReadableBuffer, slots: ReadableBuffer, slots_at: int, slot_count: int, first: int, begin_ms: int
) -> tuple[bytes, int]:
    """The same without the C loop."""
    used = 0
    entries = bytearray()
    newest: dict[int, int] = {}
    for number, (key_hash, offset, store_timestamp) in enumerate(INDEX_KEY.iter_unpack(keys), first):
        slot = key_hash % slot_count
        previous = newest.get(slot)
        if previous is None:
            (previous,) = INDEX_SLOT.unpack_from(slots, slots_at + slot * _SLOT_SIZE)
            if not 0 < previous < first:
                previous = 0
                used += 1
        newest[slot] = number
        entries += INDEX_ENTRY.pack(key_hash, offset, _seconds(store_timestamp, begin_ms), previous)
    return bytes(entries), used


@cython.cfunc
@cython.inline
def _seconds(store_timestamp: cython.longlong, begin_ms: cython.longlong) -> cython.longlong:
    """The entry's time field: seconds since the begin of the file, within its int32."""
    if begin_ms <= 0 or store_timestamp <= begin_ms:
        return 0
    return min((store_timestamp - begin_ms) // 1000, _MOST_SECONDS)

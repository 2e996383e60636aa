# cython: language_level=3, boundscheck=True, wraparound=False
# mypy: disable-error-code="untyped-decorator,valid-type,no-any-return,unused-ignore"
# (C types are not Python types; the public functions are plainly typed.)
"""Texts of stored records as columns, compiled where a compiler exists: bodies, hosts, properties.

The companion of `_columns_cy`, with the same spans and the same promise: bytes in the shape of Arrow's.

    texts      int32 offsets, one more than there are records · the texts end to end
    validity   one bit for each record, lowest first: 0 where it has no such text
    pairs      int32 offsets into the pairs of all records · names · values

A text is always UTF-8, whatever a producer wrote: what cannot be read becomes U+FFFD, as everywhere else.
Properties are read by the rules of `properties.decode_properties`: the later of two pairs with one name
counts. Pure; safe from any thread.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engine.protocol._places_cy import SPAN_END, SPAN_NUMBERS, SPAN_TOPIC_END
from engine.protocol.properties import decode_properties

try:
    import cython
except ImportError:
    from engine.protocol import cython_shim as cython  # type: ignore[no-redef]

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

if cython.compiled:
    from cython.cimports.cpython.bytearray import PyByteArray_AS_STRING, PyByteArray_Resize
    from cython.cimports.cpython.bytes import PyBytes_AS_STRING
    from cython.cimports.engine.protocol._bytes_cy import c_copy as copy
    from cython.cimports.engine.protocol._bytes_cy import c_is_equal as is_equal
    from cython.cimports.libc.string import memchr, memcmp, memcpy
else:
    from engine.protocol._bytes_cy import copy, is_equal

Texts = tuple[bytearray, bytearray]
"""Offsets and data."""

_STEP = cython.declare(cython.Py_ssize_t, SPAN_NUMBERS)
_END = cython.declare(cython.Py_ssize_t, SPAN_END)
_TOPIC_END = cython.declare(cython.Py_ssize_t, SPAN_TOPIC_END)
_MANY = cython.declare(cython.Py_ssize_t, 64)


def is_compiled() -> bool:
    return bool(cython.compiled)


@cython.cclass
class _Growing:
    """A text column that is being written. Both arrays are longer than what is in them until `finish`."""

    data: bytearray
    used: cython.Py_ssize_t
    room: cython.Py_ssize_t
    offsets: bytearray
    count: cython.Py_ssize_t
    offset_room: cython.Py_ssize_t

    def __init__(self, count: int, size: int) -> None:
        self.count = self.used = 0
        self.room = size
        self.offset_room = count + 1
        self.data = bytearray()
        self.offsets = bytearray(4)
        if cython.compiled:
            # Not filled with zeros: megabytes of them cost more than the texts.
            PyByteArray_Resize(self.data, size)
            PyByteArray_Resize(self.offsets, 4 * (count + 1))

    @cython.cfunc
    def add_bytes(
        self, view: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.void:
        """One more text, as it is."""
        if not cython.compiled:
            self.data += view[start:end]
            self.close()
            return
        size: cython.Py_ssize_t = end - start
        if size > 0:
            view[end - 1]
            self._make_room(size)
            memcpy(PyByteArray_AS_STRING(self.data) + self.used, cython.address(view[start]), size)
            self.used += size
        self.close()

    @cython.cfunc
    def add_raw(self, raw: bytes) -> cython.void:
        if not cython.compiled:
            self.data += raw
            self.close()
            return
        size: cython.Py_ssize_t = len(raw)
        self._make_room(size)
        memcpy(PyByteArray_AS_STRING(self.data) + self.used, PyBytes_AS_STRING(raw), size)
        self.used += size
        self.close()

    @cython.cfunc
    def add_text(
        self, view: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.void:
        """One more text, as UTF-8: almost always it is ASCII, and goes as it is."""
        if _is_ascii(view, start, end):
            self.add_bytes(view, start, end)
        else:
            self.add_raw(copy(view, start, end).decode("utf-8", "replace").encode())

    @cython.cfunc
    def _make_room(self, size: cython.Py_ssize_t) -> cython.void:
        if self.used + size > self.room:
            self.room = (self.used + size) * 2
            PyByteArray_Resize(self.data, self.room)

    @cython.cfunc
    def close(self) -> cython.void:
        """The text ends here; one without anything in it if nothing was added."""
        self.count += 1
        if not cython.compiled:
            self.offsets += len(self.data).to_bytes(4, sys.byteorder)
            return
        if self.count >= self.offset_room:
            self.offset_room *= 2
            PyByteArray_Resize(self.offsets, 4 * self.offset_room)
        cython.cast(cython.p_int, PyByteArray_AS_STRING(self.offsets))[self.count] = self.used

    @cython.cfunc
    def finish(self) -> Texts:
        if cython.compiled:
            PyByteArray_Resize(self.data, self.used)
            PyByteArray_Resize(self.offsets, 4 * (self.count + 1))
        return self.offsets, self.data


@cython.cfunc
@cython.inline
def _find(
    view: cython.const[cython.uchar][::1],
    wanted: cython.uchar,
    start: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Position of the byte in [start, end), or `end`."""
    if start >= end:
        return end
    if cython.compiled:
        view[end - 1]
        first: cython.p_char = cython.cast(cython.p_char, cython.address(view[start]))
        at = cython.cast(cython.p_char, memchr(first, wanted, end - start))
        return end if at == cython.NULL else start + (at - first)
    found = bytes(view[start:end]).find(wanted)
    return end if found < 0 else start + found


@cython.cfunc
@cython.inline
def _is_ascii(
    view: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.bint:
    bits: cython.uchar = 0
    at: cython.Py_ssize_t
    for at in range(start, end):
        bits |= view[at]
    return bits < 0x80


def part_column(buffer: ReadableBuffer, spans: memoryview, part: int, part_end: int) -> Texts:
    """The bytes from one part of each record to another, as they are."""
    view: cython.const[cython.uchar][::1] = memoryview(buffer)
    span: cython.const[cython.longlong][::1] = spans
    first: cython.Py_ssize_t = part
    last: cython.Py_ssize_t = part_end
    size: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t
    for at in range(0, len(span), _STEP):
        size += span[at + last] - span[at + first]
    column: _Growing = _Growing(len(span) // _STEP, max(size, 0))
    for at in range(0, len(span), _STEP):
        column.add_bytes(view, span[at + first], span[at + last])
    return column.finish()


def named_column(
    buffer: ReadableBuffer,
    spans: memoryview,
    part: int,
    delta: int,
    part_end: int,
    delta_end: int,
    texts: Mapping[bytes, bytes],
) -> Texts:
    """What `texts` says of the bytes between two places of each record: neighbours are often the same."""
    view: cython.const[cython.uchar][::1] = memoryview(buffer)
    span: cython.const[cython.longlong][::1] = spans
    first: cython.Py_ssize_t = part
    last: cython.Py_ssize_t = part_end
    behind: cython.Py_ssize_t = delta
    behind_end: cython.Py_ssize_t = delta_end
    column: _Growing = _Growing(len(span) // _STEP, len(span) * 2)
    known: bytes = b""
    text: bytes = b""
    at: cython.Py_ssize_t
    for at in range(0, len(span), _STEP):
        raw: bytes = copy(view, span[at + first] + behind, span[at + last] + behind_end)
        if raw != known or not text:
            known, text = raw, texts[raw]
        column.add_raw(text)
    return column.finish()


def property_columns(
    buffer: ReadableBuffer, spans: memoryview, names: Sequence[bytes]
) -> list[tuple[bytearray, Texts]]:
    """Validity and texts of some properties, at most eight, all found in one look at each record."""
    view: cython.const[cython.uchar][::1] = memoryview(buffer)
    span: cython.const[cython.longlong][::1] = spans
    wanted: list[bytes] = list(names[:8])
    count: cython.Py_ssize_t = len(span) // _STEP
    columns: list[_Growing] = [_Growing(count, count * 16) for _ in wanted]
    valid: list[bytearray] = [bytearray((count + 7) // 8) for _ in wanted]
    values: cython.Py_ssize_t[16] = [0] * 16
    number: cython.Py_ssize_t
    which: cython.Py_ssize_t
    for number in range(count):
        start: cython.Py_ssize_t = span[number * _STEP + _TOPIC_END] + 2
        _find_values(view, start, span[number * _STEP + _END], wanted, values)
        for which in range(len(wanted)):
            column: _Growing = columns[which]
            if values[2 * which]:
                column.add_text(view, values[2 * which], values[2 * which + 1])
                _set_bit(valid[which], number)
            else:
                column.close()
    return [(bits, column.finish()) for bits, column in zip(valid, columns, strict=True)]


@cython.cfunc
@cython.inline
def _set_bit(bits: bytearray, number: cython.Py_ssize_t) -> cython.void:
    bits[number // 8] |= 1 << (number % 8)


@cython.cfunc
def _find_values(
    view: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    wanted: list[bytes],
    values: cython.pointer(cython.Py_ssize_t),
) -> cython.void:
    """Where the value of the last property of each name begins and ends; 0 where there is none."""
    which: cython.Py_ssize_t
    for which in range(len(wanted)):
        values[2 * which] = 0
    while start < end:
        close: cython.Py_ssize_t = _find(view, 2, start, end)
        for which in range(len(wanted)):
            name: bytes = wanted[which]
            size: cython.Py_ssize_t = len(name)
            # A value has at least one byte.
            if (
                start + size + 1 < close
                and view[start + size] == 1
                and is_equal(view, start, start + size, name)
            ):
                values[2 * which], values[2 * which + 1] = start + size + 1, close
        start = close + 1


def pairs_column(buffer: ReadableBuffer, spans: memoryview) -> tuple[bytearray, Texts, Texts]:
    """All properties: where each record's pairs begin, then the names and the values of all pairs."""
    view: cython.const[cython.uchar][::1] = memoryview(buffer)
    span: cython.const[cython.longlong][::1] = spans
    count: cython.Py_ssize_t = len(span) // _STEP
    names: _Growing = _Growing(count * 8, count * 64)
    values: _Growing = _Growing(count * 8, count * 128)
    offsets = bytearray(4 * (count + 1))
    out: cython.int[::1] = memoryview(offsets).cast("i")
    number: cython.Py_ssize_t
    for number in range(count):
        start: cython.Py_ssize_t = span[number * _STEP + _TOPIC_END] + 2
        _add_pairs(view, start, span[number * _STEP + _END], names, values)
        out[number + 1] = names.count
    return offsets, names.finish(), values.finish()


@cython.cfunc
def _add_pairs(
    view: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    names: _Growing,
    values: _Growing,
) -> cython.void:
    if cython.compiled and _add_plain_pairs(view, start, end, names, values):
        return
    for name, value in decode_properties(copy(view, start, end).decode("utf-8", "replace")).items():
        names.add_raw(name.encode())
        values.add_raw(value.encode())


@cython.cfunc
def _add_plain_pairs(
    view: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    names: _Growing,
    values: _Growing,
) -> cython.bint:
    """The same for what producers write: not many pairs, names in ASCII. False, and nothing added, for what
    is unusual. Compiled only."""
    cuts = cython.declare(cython.Py_ssize_t[256])
    count: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t
    while start < end:
        close: cython.Py_ssize_t = _find(view, 2, start, end)
        cut: cython.Py_ssize_t = _find(view, 1, start, close)
        if start < cut and cut + 1 < close:
            if count == _MANY or not _is_ascii(view, start, cut):
                return False
            at = 4 * _same_name(view, cuts, count, start, cut)
            if at == 4 * count:
                cuts[at], cuts[at + 1] = start, cut
                count += 1
            cuts[at + 2], cuts[at + 3] = cut + 1, close
        start = close + 1
    for at in range(0, 4 * count, 4):
        names.add_bytes(view, cuts[at], cuts[at + 1])
        values.add_text(view, cuts[at + 2], cuts[at + 3])
    return True


@cython.cfunc
def _same_name(
    view: cython.const[cython.uchar][::1],
    cuts: cython.pointer(cython.Py_ssize_t),
    count: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Number of the pair that has this name already, or `count`. Compiled only."""
    size: cython.Py_ssize_t = end - start
    number: cython.Py_ssize_t
    for number in range(count):
        if cuts[4 * number + 1] - cuts[4 * number] == size and not memcmp(
            cython.address(view[cuts[4 * number]]), cython.address(view[start]), size
        ):
            return number
    return count

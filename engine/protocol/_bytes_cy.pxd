# cython: language_level=3, boundscheck=True, wraparound=False
"""The C side of `_bytes_cy`, put inline into every compiled module that asks for it: a function that is called
for each number of each record must not cost a call. Functions of a view check its bounds; functions of a
pointer check nothing, their callers have."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.string cimport memchr, memcmp, memcpy


cdef inline int c_int16_at(const unsigned char[::1] view, Py_ssize_t at):
    cdef int value = (view[at] << 8) | view[at + 1]
    return value - 0x10000 if value > 0x7FFF else value


cdef inline int c_int32_at(const unsigned char[::1] view, Py_ssize_t at):
    cdef unsigned int value = view[at]
    value = (value << 8) | view[at + 1]
    value = (value << 8) | view[at + 2]
    return <int> ((value << 8) | view[at + 3])


cdef inline long long c_int64_at(const unsigned char[::1] view, Py_ssize_t at):
    cdef long long high = c_int32_at(view, at)
    cdef unsigned int low = <unsigned int> c_int32_at(view, at + 4)
    return high * 0x10000 * 0x10000 + low


cdef inline bytes c_copy(const unsigned char[::1] view, Py_ssize_t start, Py_ssize_t end):
    if start >= end:
        return b""
    # The index of the last byte is checked here, once; the copy then goes by pointer.
    view[end - 1]
    return (<const char *> &view[start])[: end - start]


cdef inline bint c_is_equal(const unsigned char[::1] view, Py_ssize_t start, Py_ssize_t end, bytes wanted):
    if end - start != PyBytes_GET_SIZE(wanted):
        return False
    if start >= end:
        return True
    view[end - 1]
    return memcmp(&view[start], PyBytes_AS_STRING(wanted), end - start) == 0


cdef inline Py_ssize_t c_find(bytes raw, unsigned char wanted, Py_ssize_t start, Py_ssize_t end) noexcept:
    cdef const char *first = PyBytes_AS_STRING(raw)
    cdef const char *found
    if not 0 <= start < end <= PyBytes_GET_SIZE(raw):
        return end
    found = <const char *> memchr(first + start, wanted, end - start)
    return end if found == NULL else found - first


cdef inline int c_put_int32(unsigned char[::1] view, Py_ssize_t at, long long value) except -1:
    view[at] = (value >> 24) & 0xFF
    view[at + 1] = (value >> 16) & 0xFF
    view[at + 2] = (value >> 8) & 0xFF
    view[at + 3] = value & 0xFF
    return 0


cdef inline long long c_read(const unsigned char *raw, int size) noexcept:
    """A signed number of so many bytes."""
    cdef long long value = raw[0]
    cdef int at
    value -= (value & 0x80) * 2
    for at in range(1, size):
        value = value * 256 + raw[at]
    return value


cdef inline void c_write(unsigned char *raw, int size, long long value) noexcept:
    cdef int at
    for at in range(size):
        raw[at] = (value >> (8 * (size - 1 - at))) & 0xFF


cdef inline unsigned char *c_append(unsigned char *raw, bytes part) noexcept:
    """The place behind the part."""
    cdef Py_ssize_t size = PyBytes_GET_SIZE(part)
    memcpy(raw, PyBytes_AS_STRING(part), size)
    return raw + size


cdef inline void c_write_hexadecimal(unsigned char *raw, long long value) noexcept:
    """Sixteen upper-case digits."""
    cdef int at, digit
    for at in range(16):
        digit = (value >> (60 - 4 * at)) & 0xF
        raw[at] = digit + 48 if digit < 10 else digit + 55

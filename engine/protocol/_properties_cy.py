# cython: language_level=3, boundscheck=True, wraparound=False
# mypy: disable-error-code="untyped-decorator,valid-type,no-any-return,unused-ignore"
# (C types are not Python types; the public functions are plainly typed.)
"""The properties of a stored message as a dict, compiled where a compiler exists: what a filter asks of every
message that it looks at.

`decode_properties(raw.decode("utf-8", "replace"))` in one walk over the bytes: separators are ASCII, so a
name or value can be decoded by itself. Pure; safe from any thread.
"""

from __future__ import annotations

from engine.protocol.properties import decode_properties

try:
    import cython
except ImportError:
    from engine.protocol import cython_shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.cpython.bytes import PyBytes_AS_STRING
    from cython.cimports.engine.protocol._bytes_cy import c_find as find


def is_compiled() -> bool:
    return bool(cython.compiled)


def read_properties(raw: bytes) -> dict[str, str]:
    if not cython.compiled:
        return decode_properties(raw.decode("utf-8", "replace"))
    found: dict[str, str] = {}
    text: cython.p_char = PyBytes_AS_STRING(raw)
    start: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t = len(raw)
    while start < end:
        close: cython.Py_ssize_t = find(raw, 2, start, end)
        cut: cython.Py_ssize_t = find(raw, 1, start, close)
        if start < cut and cut + 1 < close:
            name = text[start:cut].decode("utf-8", "replace")
            found[name] = text[cut + 1 : close].decode("utf-8", "replace")
        start = close + 1
    return found

# cython: language_level=3, boundscheck=True, wraparound=False
# mypy: disable-error-code="untyped-decorator,valid-type,no-any-return,unused-ignore"
# (C types are not Python types; the public function is plainly typed.)
"""Reads the typed fields of a request's header, compiled where a compiler exists: every request has some.

`wire` says what the fields of a header are; here is only the walk over them. The same source runs uncompiled
with the same results. Pure; safe from any thread.
"""

from __future__ import annotations

from typing import Any

from engine.errors import BadRequest
from engine.protocol.json_types import parse_int

try:
    import cython
except ImportError:
    from engine.protocol import cython_shim as cython  # type: ignore[no-redef]

TEXT, BOOL, INT32, INT64 = 0, 1, 2, 3
"""Kinds of a header field."""
REQUIRED: Any = object()
"""The default of a field that must be there."""
HeaderStep = tuple[str, str, int, Any]
"""Wire name, attribute, kind, default."""

_TEXT = cython.declare(cython.int, 0)
_BOOL = cython.declare(cython.int, 1)
_INT32 = cython.declare(cython.int, 2)
_PLAIN_DIGITS = cython.declare(cython.Py_ssize_t, 18)
_INT32_DIGITS = cython.declare(cython.Py_ssize_t, 9)


def is_compiled() -> bool:
    return bool(cython.compiled)


def header_arguments(name: str, steps: tuple[HeaderStep, ...], fields: dict[str, str]) -> list[Any]:
    """The decoded values in the order of the steps. `name`: of the header, for what is said of a bad one."""
    arguments: list[Any] = []
    step: tuple[Any, ...]
    for step in steps:
        text: str | None = fields.get(step[0])
        kind: cython.int = step[2]
        if not text:
            arguments.append(_when_absent(name, step[0], text, kind) if step[3] is REQUIRED else step[3])
        elif kind == _TEXT:
            arguments.append(text)
        elif kind == _BOOL:
            arguments.append(text == "true" or text.lower() == "true")
        else:
            arguments.append(_integer(name, step[0], text, kind))
    return arguments


@cython.cfunc
def _integer(name: str, wire: str, text: str, kind: cython.int) -> object:
    if cython.compiled and len(text) <= (_INT32_DIGITS if kind == _INT32 else _PLAIN_DIGITS):
        number: cython.longlong = 0
        for char in text:
            digit: cython.int = ord(char) - 48
            if digit < 0 or digit > 9:
                break
            number = number * 10 + digit
        else:
            return number
    try:
        value = int(text) if text.isdigit() else parse_int(text)
        limit = 1 << 31 if kind == _INT32 else 1 << 63
        if not -limit <= value < limit:
            raise ValueError
    except ValueError:
        raise BadRequest(f"the field {wire} of {name} has a bad value: {text!r:.80}", field=wire) from None
    return value


@cython.cfunc
def _when_absent(name: str, wire: str, text: str | None, kind: cython.int) -> str:
    if text is None or kind != _TEXT:
        raise BadRequest(f"the field {wire} of {name} is missing", field=wire)
    return text

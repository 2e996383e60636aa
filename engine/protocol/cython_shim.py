"""What the `_cy` modules use of `cython`, for machines where Cython is not installed.

A `_cy` module is ordinary Python with C types in its annotations. Compiled, those become C; uncompiled, they
are never evaluated, and the few names that are (decorators, `declare`, `cast`, `compiled`) do nothing. Only
the names in use are here; the `_cy` modules' test suites run on this shim too, so a missing one is found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")

compiled = False

int = uint = uchar = longlong = Py_ssize_t = bint = object
"""C types as they appear at run time, in `declare`; they carry no meaning uncompiled."""


def declare(_type: object, value: _T) -> _T:
    return value


def cast(_type: object, value: Any) -> Any:
    return value


def cfunc(function: _T) -> _T:
    return function


def inline(function: _T) -> _T:
    return function


def cclass(cls: _T) -> _T:
    return cls


def exceptval(check: bool) -> Callable[[_T], _T]:
    return cfunc

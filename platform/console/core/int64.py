"""64-bit numbers in JSON are strings: a browser's own numbers are exact up to 2**53 only.

Serializers say so field by field (`fields.py`); this is for rows that go out as they are: what websockets
tell, what a broker said about itself. Which names are 64-bit is the caller's to say, so that a number has one
type for good and not one that depends on its size.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


def as_texts(value: Any, names: Collection[str]) -> Any:
    """The same JSON value, in which numbers of these names are strings, however deep they are."""
    if isinstance(value, dict):
        return {name: _as_text(inner, name in names, names) for name, inner in value.items()}
    if isinstance(value, list):
        return [as_texts(inner, names) for inner in value]
    return value


def _as_text(value: Any, is_int64: bool, names: Collection[str]) -> Any:
    if is_int64 and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return as_texts(value, names)

"""Which fields are 64-bit numbers, by their names: what must never be a number in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_NAMES = frozenset(
    (
        *("id", "lag", "messages", "committed", "min", "max", "to", "replayed", "read_back"),
        *("consumed_meanwhile", "epoch", "revision", "scanned", "estimate", "total", "about", "fence"),
        *("broken_at", "checked", "alert", "step", "size_bytes", "lagBytes"),
    )
)
_ENDS = ("_offset", "Offset", "_id")


def is_int64(name: str) -> bool:
    return name in _NAMES or name.endswith(_ENDS)


def numbers_among(value: Any, path: str = "") -> Iterator[str]:
    """Paths to 64-bit fields that are numbers."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if is_int64(name) and isinstance(inner, (int, float)) and not isinstance(inner, bool):
                yield f"{path}.{name}"
            yield from numbers_among(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from numbers_among(inner, f"{path}[]")

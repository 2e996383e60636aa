"""Remembers what was made from texts that peers send again and again, up to a total of characters.

Not up to a number of texts: whoever sends them decides how long they are, and what is made from one takes
many times its length. There are two halves: what was asked for since the younger one was begun, and what was
before; when the younger one is full, the older one is dropped. Safe from any thread, without locks: at worst
something is made twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")

_EACH_CHARS = 64
"""What a text counts beside its own length."""


class TextCache(Generic[_T]):
    """Call it with a text: what `make` gave for it. What `make` raises is not remembered."""

    def __init__(self, make: Callable[[str], _T], most_chars: int) -> None:
        self._make = make
        self._half_chars = most_chars // 2
        self._young: dict[str, _T] = {}
        self._old: dict[str, _T] = {}
        self._young_chars = 0

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    def __call__(self, text: str) -> _T:
        try:
            return self._young[text]
        except KeyError:
            pass
        old = self._old
        made = old[text] if text in old else self._make(text)
        young = self._young
        young[text] = made
        self._young_chars += len(text) + _EACH_CHARS
        if self._young_chars > self._half_chars:
            self._old, self._young, self._young_chars = young, {}, 0
        return made

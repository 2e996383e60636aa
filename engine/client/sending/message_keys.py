"""Unique keys in quick succession: the part that a millisecond shares is made once.

The keys are those of `engine.protocol.message_ids`, whose last four digits count; here the count goes on
while the millisecond stays the same, which halves the cost of a key. Loop thread only.
"""

from __future__ import annotations

from engine.protocol.message_ids import UniqueKeys

_COUNTER_DIGITS = 4


class MessageKeys:
    """`next(now_ms)`: a new unique key; `take(count, now_ms)`: many."""

    __slots__ = ("_counter", "_keys", "_now_ms", "_stem")

    def __init__(self, ip: str, pid: int, salt: int) -> None:
        self._keys = UniqueKeys(ip, pid, salt)
        self._now_ms = -1
        self._stem = ""
        self._counter = 0

    def next(self, now_ms: int) -> str:
        if now_ms != self._now_ms:
            self._begin(now_ms)
        self._counter = counter = (self._counter + 1) & 0xFFFF
        return f"{self._stem}{counter:04X}"

    def take(self, count: int, now_ms: int) -> list[str]:
        """At most 65,536, or they would repeat within the millisecond."""
        if now_ms != self._now_ms:
            self._begin(now_ms)
        stem, first = self._stem, self._counter + 1
        self._counter = (self._counter + count) & 0xFFFF
        return [f"{stem}{counter & 0xFFFF:04X}" for counter in range(first, first + count)]

    def _begin(self, now_ms: int) -> None:
        self._stem = self._keys.next(now_ms)[:-_COUNTER_DIGITS]
        self._now_ms = now_ms

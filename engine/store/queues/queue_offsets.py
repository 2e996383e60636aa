"""The next queue offset of every queue: given out at put, long before the consume queue holds the unit.

Rebuilt from the consume queues at open (and when a slave becomes master); never written by itself.
"""

from __future__ import annotations

from collections.abc import Iterable

QueueKey = tuple[str, int]


class QueueOffsets:
    def __init__(self) -> None:
        self.next: dict[QueueKey, int] = {}

    def adopt(self, ends: Iterable[tuple[QueueKey, int]]) -> None:
        """Forget everything and continue behind these ends."""
        self.next = dict(ends)

    def forget_topic(self, topic: str) -> None:
        for key in [key for key in self.next if key[0] == topic]:
            del self.next[key]

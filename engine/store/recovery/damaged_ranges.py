"""The parts of the commit log that are known to be damaged, as far as this process has seen.

Reads of the hot window take bytes from the map without a look at them; where they touch one of these ranges
they go the way of cold reads, which check every record. Nothing here is saved: whoever reads or scrubs finds
damage again. Loop thread only; `note` may come from any.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

MAX_RANGES = 10_000
"""Beyond it damage is still found by every read that checks; only hot reads do not know of it."""


class DamagedRanges:
    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._ranges)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(list(self._ranges))

    def add(self, start: int, end: int) -> None:
        """[start, end) of the log. Ranges may overlap: each goes when it is repaired."""
        at = bisect_left(self._ranges, (start, end))
        is_known = at < len(self._ranges) and self._ranges[at] == (start, end)
        if start < end and not is_known and len(self._ranges) < MAX_RANGES:
            insort(self._ranges, (start, end))

    def discard(self, start: int, end: int) -> None:
        """What lies within [start, end) is whole again."""
        self._ranges = [item for item in self._ranges if not (start <= item[0] and item[1] <= end)]

    def drop_before(self, commit_log_offset: int) -> None:
        """Retention has deleted the log up to here."""
        if self._ranges and self._ranges[0][0] < commit_log_offset:
            self._ranges = [item for item in self._ranges if item[1] > commit_log_offset]

    def drop_from(self, commit_log_offset: int) -> None:
        """The log was cut here."""
        self._ranges = [item for item in self._ranges if item[0] < commit_log_offset]

    def touches(self, start: int, end: int) -> bool:
        """Whether a damaged range overlaps [start, end)."""
        behind = bisect_right(self._ranges, (end, 0))
        return any(item[1] > start and item[0] < end for item in self._ranges[:behind])

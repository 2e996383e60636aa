"""Walking index files with pread, so that a search may wait for the disk in another thread.

A view is what a walk needs to know of a file; it stays right while entries are added, because a file's slots,
times and place never change, and a chain only ever goes back. A slot may point at an entry that was added
after the view was made: entries are written before the slots that name them. A file deleted meanwhile is
passed over. Any thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.protocol.layouts.store_files import (
    INDEX_ENTRY,
    INDEX_ENTRY_SIZE,
    INDEX_HEADER_SIZE,
    INDEX_SLOT,
    INDEX_SLOT_SIZE,
    IndexHeader,
)


class Place(NamedTuple):
    """Where a walk goes on: an entry of a file; number 0 is behind its last one."""

    file_name: str
    number: int


@dataclass(frozen=True, slots=True)
class IndexView:
    path: str
    name: str
    slots: int
    limit: int
    """Numbers from here on are no entries."""
    header: IndexHeader

    def overlaps(self, begin_ms: int, end_ms: int) -> bool:
        return self.header.begin_timestamp <= end_ms and self.header.end_timestamp >= begin_ms

    def walk(
        self, fd: int, key_hash: int, begin_ms: int, end_ms: int, start: int | None = None
    ) -> Iterator[tuple[int, int | None]]:
        """The entries of the key's slot, newest first, or from number `start` on: for each the number of the
        one behind it (0: none), and its commit log offset if it is the key's and within the times."""
        entries_at = INDEX_HEADER_SIZE + self.slots * INDEX_SLOT_SIZE
        number = self._head(fd, key_hash)
        if start is not None:
            number = start if 0 < start <= number else 0
        while number > 0:
            data = os.pread(fd, INDEX_ENTRY_SIZE, entries_at + number * INDEX_ENTRY_SIZE)
            entry_hash, offset, seconds, previous = INDEX_ENTRY.unpack(data)
            entry_ms = self.header.begin_timestamp + seconds * 1000
            # An entry's time is cut to seconds since the file's begin.
            is_wanted = entry_hash == key_hash and begin_ms - 999 <= entry_ms <= end_ms
            # Chains only ever go back: anything else is damage, and would not end.
            number = previous if 0 < previous < number else 0
            yield number, offset if is_wanted else None

    def _head(self, fd: int, key_hash: int) -> int:
        """The slot's newest entry; 0 when empty or not an entry."""
        data = os.pread(fd, INDEX_SLOT_SIZE, INDEX_HEADER_SIZE + key_hash % self.slots * INDEX_SLOT_SIZE)
        head: int = INDEX_SLOT.unpack(data)[0]
        return head if 0 < head < self.limit else 0


def walk_index(
    views: Sequence[IndexView],
    opened: Callable[[str], int],
    key_hash: int,
    begin_ms: int,
    end_ms: int,
    start: Place | None = None,
) -> Iterator[tuple[Place, int | None]]:
    """Entries from the newest file to the oldest that reaches into the window: where to go on behind each
    one, and the commit log offset if it is a candidate. A `start` whose file is gone begins behind it.
    `opened` gives the descriptor of a path, negative when the file is gone."""
    for view in reversed(views):
        if start is not None and view.name > start.file_name:
            continue
        number = start.number if start is not None and view.name == start.file_name else None
        if number != 0 and view.overlaps(begin_ms, end_ms) and (fd := opened(view.path)) >= 0:
            for following, offset in view.walk(fd, key_hash, begin_ms, end_ms, number):
                yield Place(view.name, following), offset
        if view.header.begin_timestamp < begin_ms:
            return

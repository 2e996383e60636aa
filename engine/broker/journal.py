"""What changed since when: values by key, each with the version at which it last became another one.

The dict is in the order of the last change, so that "since version v" is read from its end and costs only
what it returns. A value that is put again as it was is no change. None is a value too: the key is gone.
Forgotten keys are kept up to a limit; who asks with a version from before that is told everything.
Pure. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Generic, TypeVar

MAX_GONE = 10_000

K = TypeVar("K")


class Journal(Generic[K]):
    def __init__(self) -> None:
        self._entries: dict[K, tuple[int, bytes | None]] = {}
        self._gone_count = 0
        self.version = 0
        self.floor = 0
        """Changes up to here are not all known any more; what is left of them is."""

    def put(self, key: K, value: bytes | None) -> None:
        before = self._entries.get(key)
        if (before is None and value is None) or (before is not None and before[1] == value):
            return
        if before is not None:
            del self._entries[key]
            self._gone_count -= before[1] is None
        self.version += 1
        self._entries[key] = self.version, value
        if value is None:
            self._gone_count += 1
            if self._gone_count > MAX_GONE:
                self._forget_gone()

    def _forget_gone(self) -> None:
        self._entries = {key: entry for key, entry in self._entries.items() if entry[1] is not None}
        self._gone_count = 0
        self.floor = self.version

    def get(self, key: K) -> bytes | None:
        entry = self._entries.get(key)
        return None if entry is None else entry[1]

    def is_known(self, version: int) -> bool:
        return self.floor <= version <= self.version

    def since(self, version: int) -> Iterator[tuple[K, bytes | None]]:
        """Everything that has become another one after that version, the latest first."""
        newer = takewhile(lambda item: item[1][0] > version, reversed(self._entries.items()))
        return ((key, value) for key, (_, value) in newer)

    def present(self) -> Iterator[tuple[K, bytes]]:
        return ((key, value) for key, (_, value) in self._entries.items() if value is not None)

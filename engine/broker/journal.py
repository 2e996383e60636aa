"""What changed since when: values by key, each with the version at which it last became another one.

The versions are in the order of the last change, so that "since version v" is read from their end and costs
only what it returns. A value that is put again as it was is no change. None is a value too: the key is gone.
Forgotten keys are kept up to a limit; who asks with a version from before that is told everything.

Strings, numbers and bytes only, in two dicts: a hundred thousand entries give the garbage collector nothing
to walk through. Pure. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from operator import itemgetter

MAX_GONE = 10_000

Change = tuple[str, bytes | None]
_VERSION = itemgetter(1)


class Journal:
    def __init__(self) -> None:
        self._versions: dict[str, int] = {}
        self._values: dict[str, bytes | None] = {}
        self._gone_count = 0
        self.version = 0
        self.floor = 0
        """Changes up to here are not all known any more; what is left of them is."""

    def put(self, key: str, value: bytes | None) -> None:
        before = self._values.get(key)
        if before == value:
            return
        if self._versions.pop(key, None) is not None:
            self._gone_count -= before is None
        self.version += 1
        self._versions[key] = self.version
        self._values[key] = value
        if value is None:
            self._gone_count += 1
            if self._gone_count > MAX_GONE:
                self._forget_gone()

    def _forget_gone(self) -> None:
        self._values = {key: value for key, value in self._values.items() if value is not None}
        self._versions = {key: at for key, at in self._versions.items() if key in self._values}
        self._gone_count = 0
        self.floor = self.version

    def get(self, key: str) -> bytes | None:
        return self._values.get(key)

    def is_known(self, version: int) -> bool:
        return self.floor <= version <= self.version

    def since(self, version: int) -> Iterator[Change]:
        """Everything that has become another one after that version, the latest first."""
        newer = takewhile(lambda item: item[1] > version, reversed(self._versions.items()))
        return ((key, self._values[key]) for key, _ in newer)

    def copy(self) -> JournalCopy:
        """All of it, copied in one go, for a thread to choose from."""
        return JournalCopy(self._versions.copy(), self._values.copy())


class JournalCopy:
    """Any thread."""

    def __init__(self, versions: dict[str, int], values: dict[str, bytes | None]) -> None:
        self._versions = versions
        self._values = values

    def present(self) -> Iterator[Change]:
        """What is not gone."""
        return ((key, value) for key, value in self._values.items() if value is not None)

    def since(self, version: int) -> Iterator[Change]:
        return ((key, self._values[key]) for key, at in self._versions.items() if at > version)

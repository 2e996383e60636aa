"""What changed since when: values by section and name, each with the version of its last change.

The names of a section are in the order of their last change, so that "since version v" is read from their
end and costs only what it returns. A value that is put again as it was is no change. None is a value too: the
name is gone. Removed names are kept up to a limit; a request with an older version gets everything.

One dict per section, from names that its owner has anyway (their hashes are known) to tuples of a number and
bytes, which the garbage collector walks through once: thousands are put in one answer, and a look-up in a
large dict is what that costs. Pure. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import orjson

MAX_GONE = 10_000
PIECE = 256
"""Entries that are encoded in one call: more would keep the interpreter, and the loop, for milliseconds."""

Change = tuple[str, bytes | None]
"""Name and value."""
SectionChange = tuple[str, str, bytes | None]
_Entry = tuple[int, bytes | None]
_UNKNOWN: _Entry = (0, None)


class Journal:
    def __init__(self) -> None:
        self._sections: dict[str, dict[str, _Entry]] = {}
        self._gone_count = 0
        self.version = 0
        self.floor = 0
        """Changes up to here are not all known any more; what is left of them is."""

    def put(self, section: str, name: str, value: bytes | None) -> None:
        self.put_all(section, [(name, value)])

    def put_all(self, section: str, changes: Iterable[Change]) -> None:
        entries = self._sections.setdefault(section, {})
        known, version = entries.get, self.version
        for name, value in changes:
            before = known(name, _UNKNOWN)
            if before[1] == value:
                continue
            if before[0]:
                # To the end of the order.
                del entries[name]
                self._gone_count -= before[1] is None
            version += 1
            entries[name] = version, value
            self._gone_count += value is None
        self.version = version
        if self._gone_count > MAX_GONE:
            self._forget_gone()

    def _forget_gone(self) -> None:
        for section, entries in self._sections.items():
            left = {name: entry for name, entry in entries.items() if entry[1] is not None}
            self._sections[section] = left
        self._gone_count = 0
        self.floor = self.version

    def is_known(self, version: int) -> bool:
        return self.floor <= version <= self.version

    def since(self, version: int) -> Iterator[SectionChange]:
        """Everything that changed after that version, the latest of each section first."""
        for section, entries in self._sections.items():
            for name, (at, value) in reversed(entries.items()):
                if at <= version:
                    break
                yield section, name, value

    def copy(self) -> JournalCopy:
        """All of it, copied in one go, for a thread to choose from."""
        return JournalCopy({section: entries.copy() for section, entries in self._sections.items()})


class JournalCopy:
    """Any thread."""

    def __init__(self, sections: Mapping[str, dict[str, _Entry]]) -> None:
        self._sections = sections

    def present(self) -> Iterator[SectionChange]:
        """What is not gone."""
        for section, entries in self._sections.items():
            for name, (_, value) in entries.items():
                if value is not None:
                    yield section, name, value

    def since(self, version: int) -> Iterator[SectionChange]:
        for section, entries in self._sections.items():
            for name, (at, value) in entries.items():
                if at > version:
                    yield section, name, value


def encode_changes(changes: Iterable[SectionChange]) -> bytes:
    """The body of a snapshot, one JSON object of sections; empty when nothing changed. Pure; any thread."""
    singles: list[bytes] = []
    sections: dict[str, _Section] = {}
    for section, name, value in changes:
        if not name:
            singles.append(orjson.dumps(section) + b":" + (value or b"null"))
            continue
        found = sections.get(section)
        if found is None:
            found = sections[section] = _Section()
        found.add(name, value)
    parts = singles + [orjson.dumps(name) + b":" + section.encode() for name, section in sections.items()]
    return b"{%b}" % b",".join(parts) if parts else b""


class _Section:
    def __init__(self) -> None:
        self._done: list[bytes] = []
        self._piece: dict[str, orjson.Fragment | None] = {}

    def add(self, name: str, value: bytes | None) -> None:
        self._piece[name] = None if value is None else orjson.Fragment(value)
        if len(self._piece) >= PIECE:
            self._finish_piece()

    def _finish_piece(self) -> None:
        self._done.append(orjson.dumps(self._piece)[1:-1])
        self._piece.clear()

    def encode(self) -> bytes:
        if self._piece:
            self._finish_piece()
        return b"{%b}" % b",".join(self._done)

"""The body of a snapshot: one JSON object of sections. Pure; any thread.

Encoded in pieces: a single call for thousands of entries would keep the interpreter, and with it the loop,
for many milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from engine.broker.snapshots.journal import SectionChange

PIECE = 256


def encode_changes(changes: Iterable[SectionChange]) -> bytes:
    """Nothing at all when nothing changed."""
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

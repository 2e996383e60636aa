"""Large tables for administrators: page by page, gathered in slices, and encoded in a thread.

A page is a range of the sorted names. They are sorted once per version of the table; a reader with another
version starts again at the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from engine.broker.topics.topic_table import ConfigTable
from engine.net.outcomes import ColdRead, Outcome, Reply, Slices
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.wire import Body

T = TypeVar("T")
MAX_PAGE = 2_000
SLICE = 256
"""Entries that are gathered or encoded in one go: a few milliseconds at most."""
_END = object()


class TablePages:
    def __init__(self) -> None:
        self._version: DataVersion | None = None
        self._names: list[str] = []

    def page(
        self, table: ConfigTable[T], start: int | None, known_version: str | None, limit: int | None
    ) -> dict[str, T]:
        version = table.version
        if version != self._version:
            self._names = sorted(table.names())
            self._version = version
        if known_version is None or DataVersion.decode(known_version.encode()) != version:
            start = 0
        begin, count = max(0, start or 0), MAX_PAGE if limit is None else max(0, min(limit, MAX_PAGE))
        names = self._names[begin : begin + count]
        return {name: config for name in names if (config := table.get(name)) is not None}


def table_reply(body: Body, entries: int, fields: dict[str, str] | None = None) -> Outcome:
    """Answer with `body`; a long one is encoded in a thread, so nothing in it may change any more."""
    if entries <= SLICE:
        return Reply(fields=fields or {}, body=body.encode())
    return ColdRead(body.encode, lambda data: Reply(fields=fields or {}, body=data))


def gathered(slices: Iterator[None], finish: Callable[[], Outcome]) -> Outcome:
    """Run `slices` to their end and answer with `finish`; what takes one slice only is answered at once."""
    if next(slices, _END) is _END:
        return finish()
    return Slices(slices, finish)

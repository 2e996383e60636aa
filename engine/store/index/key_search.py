"""Messages by key: the index names candidates, the records decide.

A search is planned on the writer's thread, where it costs a look at the lists of files; `run` then needs
nothing of the store and may wait for the disk in any thread. A hash found in the index is not yet the key,
and a record counts only if it is whole, sound and was readable when the search was planned.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol._records_cy import scan_records
from engine.protocol.hashes import index_key_hash
from engine.store.index.index_walk import IndexView, Place, walk_index
from engine.store.reading.record_reads import LogView, OpenFiles
from engine.store.results import QueryResult

MAX_FOUND = 64
_MAX_STEPS = 4_096
"""Entries that one search looks at: a key in a million messages must not hold up others."""


@dataclass(frozen=True, slots=True)
class KeySearch:
    topic: str
    key: str
    max_num: int
    begin_ms: int
    end_ms: int
    continuation: str | None
    index: tuple[IndexView, ...]
    log: LogView
    last_update: tuple[int, int]

    def run(self) -> QueryResult:
        """Messages with this key, the newest first: not merely with its hash. `continuation` is what an
        earlier result said; where the result has one again, there may be more."""
        files = OpenFiles()
        try:
            return self._run(files)
        finally:
            files.close()

    def _run(self, files: OpenFiles) -> QueryResult:
        wanted = max(0, min(self.max_num, MAX_FOUND))
        found: dict[int, bytes] = {}
        following: Place | None = None
        start = read_place(self.continuation) if self.continuation else None
        key_hash = index_key_hash(self.topic, self.key)
        entries = walk_index(self.index, files.get, key_hash, self.begin_ms, self.end_ms, start)
        for steps, (place, offset) in enumerate(entries if wanted else (), 1):
            data = self.log.record(files, offset) if offset is not None else None
            if data is not None and offset is not None and _has_key(data, offset, self.topic, self.key):
                found[offset] = data
            if len(found) >= wanted or steps >= _MAX_STEPS:
                following = place
                break
        continuation = write_place(following) if following is not None else None
        return QueryResult(tuple(found), tuple(found.values()), *self.last_update, continuation)


def write_place(place: Place) -> str:
    return f"{place.file_name}-{place.number}"


def read_place(text: str) -> Place:
    """It comes back from outside: anything that is not a place ends the search."""
    name, _, number = text.partition("-")
    return Place(name, int(number)) if number.isdecimal() and len(number) <= 10 else Place("", 0)


def _has_key(data: bytes, commit_log_offset: int, topic: str, key: str) -> bool:
    rows, _, _ = scan_records(data, 0, len(data), False, 1, commit_log_offset)
    _, _, record_topic, *_, uniq_key, keys, _, _ = rows[0]
    return record_topic == topic and (key == uniq_key or (keys is not None and key in keys.split()))

"""The index over all its files: newest last, a new one when the last is full.

Derived from the log like the queues: what is lost or damaged (`index_seals`) is deleted and fed again. The
newest files are read and checked at open: some tenths of a second for a full one. A hash is not a key, so
what a search finds are candidates; `key_search` looks at the records themselves.
"""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path

from engine.protocol.layouts.store_files import (
    INDEX_KEY,
    INDEX_KEY_SIZE,
    index_file_name,
    parse_index_file_name,
)
from engine.store.index.index_file import IndexFile
from engine.store.index.index_seals import SEALS_FILE, IndexSeal, read_seals
from engine.store.index.index_walk import IndexView

_CHECKED_FILES = 4
"""80 million keys; older files are taken as they are."""


class Index:
    def __init__(self, directory: Path, slots: int, entries: int) -> None:
        self._directory = directory
        self._slots = slots
        self._entries = entries
        self.files: list[IndexFile] = []
        self._dirty: set[str] = set()
        self.seals_path = directory.parent / SEALS_FILE

    def load(self, log_min_offset: int = 0, *, was_closed: bool = False) -> int | None:
        """Open the files. The log offset from which entries are missing because of damage; None when all is
        well. A damaged file goes, and all newer ones with it: they are fed again from there."""
        self._directory.mkdir(parents=True, exist_ok=True)
        seals = read_seals(self.seals_path)
        paths = {path.name: path for path in self._directory.iterdir() if parse_index_file_name(path.name)}
        missed = {name for name, seal in seals.items() if seal.end >= log_min_offset and name not in paths}
        names = sorted(paths.keys() | missed)
        missing_from: int | None = None
        for number, name in enumerate(names):
            file = IndexFile(paths[name], self._slots, self._entries) if name in paths else None
            is_last = number == len(names) - 1
            seal = seals.get(name) if len(names) - number <= _CHECKED_FILES else None
            if missing_from is None and not _is_good(file, seal, is_settled=was_closed or not is_last):
                missing_from = self.files[-1].header.end_commit_log_offset + 1 if self.files else 0
            if file is not None and missing_from is not None:
                file.delete()
            elif file is not None:
                self.files.append(file)
        if self.files:
            self.files[-1].adopt()
        return missing_from

    def seals(self, *, is_closing: bool = False) -> tuple[IndexSeal, ...]:
        """Of all files as they are now."""
        last = len(self.files) - 1
        return tuple(
            file.seal(is_settled=is_closing or number < last) for number, file in enumerate(self.files)
        )

    def put(self, keys: bytes | bytearray) -> None:
        while keys:
            if not self.files or self.files[-1].is_full:
                self.files.append(self._new_file(INDEX_KEY.unpack_from(keys)[2]))
            self._dirty.add(str(self.files[-1].path))
            keys = keys[self.files[-1].put(keys) * INDEX_KEY_SIZE :]

    def take_dirty(self) -> frozenset[str]:
        """Files (and the folder) with bytes that no sync has covered, which the caller now syncs."""
        dirty = frozenset(self._dirty | {str(self._directory)}) if self._dirty else frozenset()
        self._dirty.clear()
        return dirty

    def _new_file(self, store_timestamp: int) -> IndexFile:
        """Named by the store time of its first message; a millisecond later if that name is taken."""
        path = self._directory / index_file_name(store_timestamp)
        while path.exists() or (self.files and path <= self.files[-1].path):
            store_timestamp += 1
            path = self._directory / index_file_name(store_timestamp)
        return IndexFile(path, self._slots, self._entries)

    def views(self) -> tuple[IndexView, ...]:
        """What a walk needs, in any thread."""
        return tuple(file.view() for file in self.files)

    def find(self, key_hash: int, max_num: int, begin_ms: int, end_ms: int) -> list[int]:
        """The newest candidates."""
        newest = (file.find(key_hash, max_num, begin_ms, end_ms) for file in reversed(self.files))
        return list(islice(chain.from_iterable(newest), max_num))

    @property
    def last_update(self) -> tuple[int, int]:
        """Store time and log offset of the newest entry."""
        if not self.files:
            return 0, 0
        header = self.files[-1].header
        return header.end_timestamp, header.end_commit_log_offset

    def cut(self, commit_log_offset: int) -> None:
        """Forget everything from this place of the log on."""
        while self.files and self.files[-1].header.begin_commit_log_offset >= commit_log_offset:
            self.files.pop().delete()
        if self.files:
            self.files[-1].cut(commit_log_offset)
            self._dirty.add(str(self.files[-1].path))

    def drop_newer_than(self, store_timestamp: int) -> None:
        """Delete files with entries newer than this."""
        while self.files and self.files[-1].header.end_timestamp > store_timestamp:
            self.files.pop().delete()

    def drop_expired(self, log_min_offset: int) -> list[str]:
        """Delete files whose messages have all left the log; the last file stays."""
        dropped = []
        while len(self.files) > 1 and self.files[0].header.end_commit_log_offset < log_min_offset:
            file = self.files.pop(0)
            file.delete()
            dropped.append(str(file.path))
        return dropped

    def close(self) -> None:
        for file in self.files:
            file.close()


def _is_good(file: IndexFile | None, seal: IndexSeal | None, *, is_settled: bool) -> bool:
    if file is None or not file.is_believable:
        return False
    return seal is None or file.agrees(seal, is_settled=is_settled)

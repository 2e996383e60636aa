"""Reading records that no queue asked for together: messages that have come due, or that a search found.

The places are resolved to files on the writer's thread (`plan_record_reads`); `RecordReads.run` then needs
nothing of the store, so that a cold read may wait for the disk in another thread. Every record is checked
against its CRC. What retention has deleted meanwhile, or what is damaged, yields None in its place.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from engine.protocol._records_cy import scan_records
from engine.protocol.record_layout import STORE_TIMESTAMP_END, store_time_of
from engine.store.log.commit_log import CommitLog

_SIZE_BYTES = 4
_LARGEST_BYTES = 64 << 20
Place = tuple[int, int]
"""Commit log offset and size of a record; size 0: as long as the record says."""


class OpenFiles:
    """Files that one read has opened; one thread."""

    def __init__(self) -> None:
        self._descriptors: dict[str, int] = {}

    def get(self, path: str) -> int:
        """-1: it is gone."""
        fd = self._descriptors.get(path)
        if fd is None:
            try:
                fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except FileNotFoundError:
                fd = -1
            self._descriptors[path] = fd
        return fd

    def close(self) -> None:
        for fd in self._descriptors.values():
            if fd >= 0:
                os.close(fd)


@dataclass(frozen=True, slots=True)
class RecordReads:
    """`is_hot`: none of it is likely to wait for the disk."""

    parts: tuple[tuple[str, int, int, int], ...]
    """(path, position in the file, commit log offset, size); no path: the log does not have it."""
    is_hot: bool

    def run(self) -> list[bytes | None]:
        """Any thread."""
        files = OpenFiles()
        try:
            return [_read(files, *part) for part in self.parts]
        finally:
            files.close()


@dataclass(frozen=True, slots=True)
class LogView:
    """Where the log's files are, for who learns only in a thread which places it wants."""

    paths: tuple[str, ...]
    min_offset: int
    file_size: int
    readable_end: int

    def _locate(self, commit_log_offset: int) -> tuple[str, int]:
        """The path, empty where there is none, and the position in the file."""
        number, pos = divmod(commit_log_offset - self.min_offset, self.file_size)
        return self.paths[number] if 0 <= number < len(self.paths) else "", pos

    def store_time_ms(self, files: OpenFiles, commit_log_offset: int) -> int | None:
        """Of the record at a place that a queue gave. Any thread."""
        path, pos = self._locate(commit_log_offset)
        fd = files.get(path) if path and commit_log_offset < self.readable_end else -1
        return store_time_of(os.pread(fd, STORE_TIMESTAMP_END, pos)) if fd >= 0 else None

    def record(self, files: OpenFiles, commit_log_offset: int) -> bytes | None:
        """The whole, sound, readable record at this place. Any thread."""
        path, pos = self._locate(commit_log_offset)
        data = _read(files, path, pos, commit_log_offset, 0)
        is_readable = data is not None and commit_log_offset + len(data) <= self.readable_end
        return data if is_readable else None


def view_log(log: CommitLog) -> LogView:
    paths = tuple(str(file.path) for file in log.files.files)
    return LogView(paths, log.min_offset, log.file_size, log.readable_end())


def plan_record_reads(log: CommitLog, places: Sequence[Place], hot_from: int) -> RecordReads:
    parts = []
    for offset, size in places:
        file = log.files.at(offset) if 0 <= size <= log.end_offset - offset else None
        parts.append(
            ("", 0, offset, size)
            if file is None
            else (str(file.path), offset - file.base_offset, offset, size)
        )
    return RecordReads(tuple(parts), all(offset >= hot_from for offset, _ in places))


def _read(files: OpenFiles, path: str, pos: int, commit_log_offset: int, size: int) -> bytes | None:
    fd = files.get(path) if path else -1
    if fd < 0:
        return None
    size = size or int.from_bytes(os.pread(fd, _SIZE_BYTES, pos), "big", signed=True)
    data = os.pread(fd, min(max(size, 0), _LARGEST_BYTES), pos)
    rows, end, _ = scan_records(data, 0, len(data), True, 1, commit_log_offset)
    return data if rows and end == size else None

"""Reading records that no queue asked for together: delayed and timed messages that have come due.

The places are resolved to files on the writer's thread (`plan_record_reads`); `RecordReads.run` then needs
nothing of the store, so that a cold read may wait for the disk in another thread. Every record is checked
against its CRC. What retention has deleted meanwhile, or what is damaged, yields None in its place.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from engine.protocol._records_cy import scan_records
from engine.store.commit_log import CommitLog

_SIZE_BYTES = 4
_LARGEST_BYTES = 64 << 20
Place = tuple[int, int]
"""Commit log offset and size of a record; size 0: as long as the record says."""


@dataclass(frozen=True, slots=True)
class RecordReads:
    """`is_hot`: none of it is likely to wait for the disk."""

    parts: tuple[tuple[str, int, int, int], ...]
    """(path, position in the file, commit log offset, size); no path: the log does not have it."""
    is_hot: bool

    def run(self) -> list[bytes | None]:
        """Any thread."""
        descriptors: dict[str, int] = {}
        try:
            return [_read(descriptors, *part) for part in self.parts]
        finally:
            for fd in descriptors.values():
                if fd >= 0:
                    os.close(fd)


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


def _read(
    descriptors: dict[str, int], path: str, pos: int, commit_log_offset: int, size: int
) -> bytes | None:
    fd = descriptors.get(path, -1) if path else -1
    if fd < 0:
        if not path or path in descriptors:
            return None
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            fd = -1
        descriptors[path] = fd
        if fd < 0:
            return None
    size = size or int.from_bytes(os.pread(fd, _SIZE_BYTES, pos), "big", signed=True)
    data = os.pread(fd, min(max(size, 0), _LARGEST_BYTES), pos)
    rows, end, _ = scan_records(data, 0, len(data), True, 1, commit_log_offset)
    return data if rows and end == size else None

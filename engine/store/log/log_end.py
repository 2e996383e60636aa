"""The end of a log that is being opened: torn tail or damage?

- Nothing written there (a zero size), or a bad record with nothing whole behind it: that is the tail. It is
  cut, and the bytes behind it are zeroed so that they can never come back to life.
- A bad record behind which whole ones follow: cut as well if those were never known to be on disk (after a
  power loss pages of the unflushed tail survive in any order, and a log is a prefix or nothing). If they
  were, nothing is cut: dropping acknowledged messages is not ours to decide. The damaged part stays, is
  passed over and reported (`recovery`), or, where the store is opened strictly, the start is refused with its
  file and offset.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Final

from engine.errors import StoreError
from engine.protocol._records_cy import scan_records
from engine.protocol.hosts import V4_SIZE, V6_SIZE
from engine.protocol.record_layout import MAGIC_V1, MAGIC_V2
from engine.protocol.records import decode_record, record_size
from engine.protocol.sys_flags import BORN_HOST_V6, STORE_HOST_V6
from engine.store.log.mapped_files import MappedFiles

_STORE_TIME: Final = 7
_MAGICS = [magic.to_bytes(4, "big", signed=True) for magic in (MAGIC_V1, MAGIC_V2)]


def settle_end(files: MappedFiles, end: int, known_end: int, known_timestamp: int) -> None:
    """Make the log end where the scan stopped, or raise StoreError when flushed records lie behind.

    Flushed is what begins before `known_end`, or was stored no later than `known_timestamp`.
    """
    if flushed_record_after(files, end, known_end, known_timestamp) is not None:
        raise damage_at(files, end)
    files.drop_from(end if end % files.file_size else end + 1)
    file = files.at(end)
    if file is not None:
        file.zero_from(end - file.base_offset)


def flushed_record_after(files: MappedFiles, end: int, known_end: int, known_timestamp: int) -> int | None:
    """Where a whole record lies that was on disk before, behind the place at which a scan stopped."""
    file = files.at(end)
    is_plain_end = file is None or (
        file is files.last and _is_zero_head(file.read(end - file.base_offset, 8))
    )
    if is_plain_end and end >= known_end:
        return None
    follower = record_after(files, end)
    if follower is None or not (follower[0] < known_end or 0 < follower[1] <= known_timestamp):
        return None
    return follower[0]


def _is_zero_head(head: bytes) -> bool:
    return not any(head[:4]) or not any(head[4:])


def record_after(
    files: MappedFiles, commit_log_offset: int, end_offset: int | None = None
) -> tuple[int, int] | None:
    """Offset and store time of the first whole record behind a damaged place (and before `end_offset`)."""
    for file in files.files:
        if file.end_offset <= commit_log_offset:
            continue
        if end_offset is not None and file.base_offset >= end_offset:
            break
        mapped = files.mapped(file)
        start = max(commit_log_offset + 1 - file.base_offset, 0)
        limit = file.size if end_offset is None else min(file.size, end_offset - file.base_offset)
        found = next_whole_record(mapped, start, limit, file.base_offset)
        if found is not None:
            pos, store_time_ms = found
            return file.base_offset + pos, store_time_ms
    return None


def next_whole_record(
    data: mmap.mmap | bytes, start: int, limit: int, base_offset: int
) -> tuple[int, int] | None:
    """Position and store time of the first whole record from `start` on. Each says where it lies, so that a
    record inside another one's body is none."""
    places = [found for magic in _MAGICS if (found := data.find(magic, start + 4, limit)) >= 0]
    while places:
        at = min(places)
        rows, _, _ = scan_records(data, at - 4, limit, True, 1, base_offset)
        if rows:
            return at - 4, rows[0][_STORE_TIME]
        places = [found for magic in _MAGICS if (found := data.find(magic, at + 1, limit)) >= 0]
    return None


def damage_at(files: MappedFiles, commit_log_offset: int) -> StoreError:
    file = files.at(commit_log_offset)
    name = file.path if file is not None else files.directory
    return StoreError(
        f"the commit log is damaged at offset {commit_log_offset} ({name}) and whole records follow: "
        "restore this file from a copy or from a replica",
        commit_log_offset=commit_log_offset,
        path=str(name),
    )


def ends_torn(files: MappedFiles, commit_log_offset: int, size: int) -> bool:
    """Whether the record has properties that end in a zero byte, as a lost page leaves them."""
    file = files.at(commit_log_offset)
    assert file is not None
    data = file.read(commit_log_offset - file.base_offset, size)
    record = decode_record(data, 0, False)
    bare_size = record_size(
        topic_bytes=len(record.topic.encode()),
        body_bytes=len(record.body),
        properties_bytes=0,
        born_host_bytes=V6_SIZE if record.sys_flag & BORN_HOST_V6 else V4_SIZE,
        store_host_bytes=V6_SIZE if record.sys_flag & STORE_HOST_V6 else V4_SIZE,
    )
    return size > bare_size and data[-1] == 0


def sync_segments(files: MappedFiles, start: int) -> None:
    """What a killed process left in the page cache counts as on disk only after a sync."""
    for file in files.files:
        if file.end_offset > start:
            _sync(file.path)
    os.fsync(files.directory_fd)


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fdatasync(fd)
    finally:
        os.close(fd)

"""Reads of records outside the hot window: fetched in a thread, each one checked.

A record must be whole, have the right CRC, lie where it says, and be the one that its queue promised. The
records in front of the first one that is not are returned, and that one is named: a damaged byte costs its
own message and no other. A disk that cannot read a sector (EIO) is damage too. Any thread.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from engine.protocol._records_cy import scan_records
from engine.protocol.records import raw_properties
from engine.store.results import ColdBody, ColdRange, ColdRanges, Damage


def read_ranges(cold: ColdRanges) -> ColdBody:
    """Empty, without damage, when retention has taken a segment meanwhile."""
    parts: list[bytes] = []
    for item in cold.ranges:
        try:
            data = read_part(item.path, item.commit_log_offset - item.base_offset, item.size)
        except FileNotFoundError:
            return ColdBody(b"")
        whole_size, count = _whole_part(cold, item, data)
        if whole_size == item.size:
            parts.append(data)
            continue
        parts.append(data[:whole_size])
        return ColdBody(b"".join(parts), _damage(cold, item, whole_size, count))
    return ColdBody(b"".join(parts))


def read_part(path: str, pos: int, size: int) -> bytes:
    """Up to `size` bytes of a file; those that the disk cannot read, and all behind them, are left out."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        data = bytearray(size)
        length = os.preadv(fd, [data], pos)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        length = 0
    finally:
        os.close(fd)
    return bytes(data[:length])


def _whole_part(cold: ColdRanges, item: ColdRange, data: bytes) -> tuple[int, int]:
    """How many bytes and records from the start are what the queue promised."""
    count = len(item.queue_offsets)
    rows, _, _ = scan_records(data, 0, len(data), True, count, item.commit_log_offset)
    pos = found = 0
    for row, queue_offset, size in zip(rows, item.queue_offsets, item.sizes, strict=False):
        if (row[2], row[3], row[4], row[1]) != (cold.topic, cold.queue_id, queue_offset, size):
            break
        pos += size
        found += 1
    return pos, found


def _damage(cold: ColdRanges, item: ColdRange, pos: int, number: int) -> Damage:
    return Damage(
        cold.topic,
        cold.queue_id,
        item.queue_offsets[number],
        item.commit_log_offset + pos,
        item.sizes[number],
        os.path.basename(item.path),
    )


def select_records(body: bytes, matches: Callable[[bytes], bool]) -> list[bytes]:
    """The records of a checked body that match; any thread."""
    kept = []
    pos = 0
    while pos < len(body):
        end = pos + int.from_bytes(body[pos : pos + 4], "big")
        if matches(raw_properties(body, pos)):
            kept.append(body[pos:end])
        pos = end
    return kept


def count_records(body: bytes) -> int:
    """Of a checked body."""
    count = pos = 0
    while pos < len(body):
        pos += int.from_bytes(body[pos : pos + 4], "big")
        count += 1
    return count

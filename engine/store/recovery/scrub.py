"""Reads old parts of the log and checks every record, so that damage is found before a consumer finds it.

Planned on the writer's thread, run in any other: a slice begins at a record boundary and covers whole records
up to a number of bytes. Where records cannot be read, the next whole one ends the damaged range; none behind
it in the segment means that the range reaches to the segment's end (or to the end of what is settled). Pure
but for the reading; the page cache is used as it is, and pages that were not in it are given back."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol._places_cy import SCAN_BLANK, SCAN_MORE, locate_records
from engine.protocol._records_cy import scan_records
from engine.store.log.commit_log import CommitLog
from engine.store.log.log_end import next_whole_record
from engine.store.reading.cold_reads import read_part

_LARGEST_RECORD = 16 << 20
_MANY = 1 << 30


@dataclass(frozen=True, slots=True)
class DamagedPart:
    """[start, end) of the log. `message` is (topic, queue id, queue offset) as the damaged record says, if it
    says anything: to be believed only if its queue agrees."""

    start: int
    end: int
    message: tuple[str, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Scrubbed:
    next_offset: int
    byte_count: int
    damaged: tuple[DamagedPart, ...]


@dataclass(frozen=True, slots=True)
class ScrubSlice:
    """[start, end) of one segment. `end` is the segment's or that of what is settled."""

    path: str
    base_offset: int
    start: int
    end: int
    max_bytes: int

    def run(self) -> Scrubbed:
        """Any thread. A segment that is gone counts as done."""
        size = min(self.max_bytes, self.end - self.start)
        while True:
            try:
                data = read_part(self.path, self.start - self.base_offset, size)
            except FileNotFoundError:
                return Scrubbed(self.end, 0, ())
            is_all = self.start + size >= self.end
            found = check_slice(data, self.start, self.end, size, is_all=is_all)
            if found.next_offset > self.start or is_all:
                return found
            # A record longer than the slice.
            size = min(max(size * 4, 1 << 20), self.end - self.start, _LARGEST_RECORD)
            if size == _LARGEST_RECORD < self.end - self.start:
                return Scrubbed(self.end, size, (DamagedPart(self.start, self.end),))


def check_slice(data: bytes, start: int, end: int, size: int, *, is_all: bool) -> Scrubbed:
    """`data` begins at offset `start` and should have `size` bytes; what is missing could not be read. With
    `is_all` it reaches to `end`, else its last record may be cut. Pure."""
    damaged: list[DamagedPart] = []
    pos, length = 0, len(data)
    while pos < length:
        _, _, pos, stop = locate_records(data, pos, length, True, _MANY, start)
        if stop == SCAN_BLANK or pos >= length:
            return Scrubbed(end if stop == SCAN_BLANK else start + pos, size, tuple(damaged))
        if stop == SCAN_MORE:
            continue
        follower = next_whole_record(data, pos + 1, length, start)
        if follower is not None:
            damaged.append(_part(data, pos, follower[0], start))
            pos = follower[0]
        elif not is_all:
            break  # perhaps only cut: the next slice begins here
        else:
            damaged.append(DamagedPart(start + pos, end))
            return Scrubbed(end, size, tuple(damaged))
    if is_all and length < size:
        damaged.append(DamagedPart(start + pos, end))
    return Scrubbed(end if is_all else start + pos, size, tuple(damaged))


def _part(data: bytes, pos: int, follower: int, base_offset: int) -> DamagedPart:
    rows, end, _ = scan_records(data, pos, follower, False, 1, base_offset)
    message = (rows[0][2], rows[0][3], rows[0][4]) if rows and end == follower else None
    return DamagedPart(base_offset + pos, base_offset + follower, message)


def plan_scrub(log: CommitLog, start: int, settled_end: int, max_bytes: int) -> ScrubSlice | None:
    """The next slice from a record boundary on; None when there is nothing to check there."""
    file = log.files.at(start)
    if file is None:
        return None
    end = min(file.end_offset, settled_end)
    if start >= end:
        return None
    return ScrubSlice(str(file.path), file.base_offset, start, end, max_bytes)

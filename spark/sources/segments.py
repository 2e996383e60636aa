"""The commit log as files: which segments there are, and whether they can be one log.

A segment's name is the offset of its first byte, its size is what the broker allocated, and its first record
begins at its first byte. So names and sizes alone show a file that was cut or lost between two others. Of the
last file they do not: whoever knows where the log must end (`readable_end`) compares.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.errors import CorruptRecord
from engine.protocol.layouts.store_files import parse_segment_name
from spark.sources.files import Entry, inside, listed

__all__ = ["Segment", "check_segments", "find_segments", "kept_segments", "segment_at"]


@dataclass(frozen=True, slots=True)
class Segment:
    place: str
    base_offset: int
    size: int

    @property
    def end_offset(self) -> int:
        return self.base_offset + self.size


def find_segments(folder: str, entries: dict[str, Entry]) -> tuple[Segment, ...]:
    """In the order of the log. Whatever else lies there (a temporary file, a copy) is passed over."""
    found = []
    for name, entry in entries.items():
        base_offset = parse_segment_name(name)
        if base_offset is not None and not entry.is_folder and entry.size > 0:
            found.append(Segment(inside(folder, name), base_offset, entry.size))
    return tuple(sorted(found, key=lambda segment: segment.base_offset))


def check_segments(segments: Sequence[Segment]) -> None:
    """CorruptRecord, naming the file, where the log cannot be whole."""
    whole_size = max((segment.size for segment in segments), default=0)
    for segment, following in pairwise(segments):
        missing = following.base_offset - segment.end_offset
        if missing > 0 and segment.size < whole_size:
            raise CorruptRecord(
                f"{segment.place} is cut: it has {segment.size} bytes, the log goes on at offset "
                f"{following.base_offset}"
            )
        if missing > 0:
            raise CorruptRecord(
                f"segments of the log are missing between {segment.place} and {following.place}: "
                f"{missing} bytes"
            )
        if missing < 0:
            raise CorruptRecord(f"{segment.place} and {following.place} overlap: they are not one log")


def kept_segments(folder: str, segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Those of the segments that retention has not deleted since: it deletes from the beginning."""
    left = find_segments(folder, listed(folder) or {})
    first = left[0].base_offset if left else 0
    return tuple(segment for segment in segments if segment.base_offset >= first)


def segment_at(segments: Sequence[Segment], commit_log_offset: int) -> Segment | None:
    """The segment that holds the offset."""
    number = bisect_right(segments, commit_log_offset, key=lambda segment: segment.base_offset) - 1
    if number < 0 or commit_log_offset >= segments[number].end_offset:
        return None
    return segments[number]

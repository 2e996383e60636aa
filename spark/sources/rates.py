"""How far a stream reads at once: a boundary within a limit that is at least one record further on; or, of
many queues, how much of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.protocol._places_cy import SCAN_BLANK, SPAN_END, SPAN_NUMBERS
from spark.sources.chunks import chunks
from spark.sources.files import File
from spark.sources.log_end import last_boundary
from spark.sources.segments import Segment, segment_at

__all__ = ["end_after_bytes", "end_after_records", "shared_out"]


def end_after_bytes(segments: Sequence[Segment], start: int, end: int, max_bytes: int) -> int:
    """The last boundary within `max_bytes`; behind one record where that alone is larger."""
    if end - start <= max_bytes:
        return end
    found = last_boundary(segments, start + max_bytes)
    return found if found > start else end_after_records(segments, start, end, 1)


def end_after_records(segments: Sequence[Segment], start: int, end: int, max_records: int) -> int:
    """Behind that many records, or `end`; also where no record can be read: reading will say so."""
    left = max_records
    while start < end:
        segment = segment_at(segments, start)
        if segment is None:
            return end
        with File(segment.place) as file:
            for chunk in chunks(file, segment, start, min(end, segment.end_offset)):
                count = len(chunk.spans) // SPAN_NUMBERS
                if count >= left:
                    return chunk.offset + int(chunk.spans[(left - 1) * SPAN_NUMBERS + SPAN_END])
                left -= count
        start = segment.end_offset if chunk.stop == SCAN_BLANK else chunk.next_offset
        if chunk.stop != SCAN_BLANK and start < min(end, segment.end_offset):
            return end
    return end


def shared_out(waiting: Mapping[str, int], most: int) -> dict[str, int]:
    """How much of each may be taken, `most` together: evenly, and what the short ones leave goes to the long
    ones. Where there is less than one for each, the longest come first."""
    taken: dict[str, int] = {}
    for left, (key, count) in zip(
        range(len(waiting), 0, -1), sorted(waiting.items(), key=lambda pair: pair[1]), strict=True
    ):
        taken[key] = min(count, most // left)
        most -= taken[key]
    return taken

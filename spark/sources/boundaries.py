"""Where a segment may be split: about every so many bytes, at the beginning of a record.

The consume queues are asked first, then the bytes themselves (`record_search`). A place near which no
boundary can be found is simply not split at.
"""

from __future__ import annotations

from spark.sources.files import File, is_local
from spark.sources.record_search import find_record, make_guide
from spark.sources.segments import Segment
from spark.sources.stores import Store

__all__ = ["CLOCK_MARGIN_MS", "PART_BYTES", "boundaries"]

PART_BYTES = 64 << 20
"""What one task reads, unless told otherwise."""
CLOCK_MARGIN_MS = 60_000
"""By how much the clock of a broker may have been set back without a message being missed."""


def boundaries(
    store: Store, file: File, segment: Segment, start: int, end: int, part_bytes: int
) -> list[int]:
    """About every `part_bytes`, where a record begins."""
    count = (end - start) // part_bytes
    if count < 1:
        return []
    guide = make_guide(store.place, file, segment) if is_local(store.place) else None
    found: list[int] = []
    for number in range(1, count + 1):
        at = max(start + number * part_bytes, found[-1] + 1 if found else 0)
        if end - at < part_bytes // 4:
            break
        border = guide.find(file, segment, at, end) if guide is not None else None
        if border is None:
            border = find_record(file, segment, at, end)
        if border is not None:
            found.append(border)
    if guide is not None:
        guide.close()
    return found

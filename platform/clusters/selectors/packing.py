"""Points of a series in one blob: the slot within the chunk and the value, one after the other.

    offset  size  what
         0     2  slot: (time - chunk's start) / resolution, little-endian
         2     8  value, a double; NaN means "not known from here on"

Only changes are stored: a value holds until the next one of its chunk. The metric `sampled` says in which
slots a broker answered at all; a slot without it is a gap in everything that the broker is part of.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

POINT = struct.Struct("<Hd")
UNKNOWN = math.nan
BUCKET_S = {10: 3600, 60: 86_400, 3600: 864_000}
"""How much time one chunk of a resolution holds."""
KEPT_S = {10: 2 * 3600, 60: 7 * 86_400, 3600: 90 * 86_400}
RESOLUTIONS = tuple(BUCKET_S)
SAMPLED = "sampled"


def bucket_start(at_s: int, resolution_s: int) -> int:
    return at_s - at_s % BUCKET_S[resolution_s]


def pack(slot: int, value: float | None) -> bytes:
    return POINT.pack(slot, UNKNOWN if value is None else value)


def unpack(points: bytes | bytearray | memoryview) -> Iterator[tuple[int, float | None]]:
    for slot, value in POINT.iter_unpack(points):
        yield slot, None if value != value else value

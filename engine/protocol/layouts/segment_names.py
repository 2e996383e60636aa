"""Names of the files that hold one logical byte space in pieces.

00000000001073741824     a segment (commit log, consume queue, timer log): offset of its first byte, 20 digits
20240131235959123        an index file: when it was made, yyyyMMddHHmmssSSS in the machine's time zone
"""

from __future__ import annotations

from datetime import datetime

from engine.errors import BadInput

SEGMENT_NAME_DIGITS = 20
_INDEX_NAME_DIGITS = 17


def segment_name(start_offset: int) -> str:
    if not 0 <= start_offset < 1 << 63:
        raise BadInput(f"no segment starts at {start_offset}")
    return f"{start_offset:020d}"


def parse_segment_name(name: str) -> int | None:
    """Offset of the segment's first byte; None if the file is no segment (a stray copy, a temporary file)."""
    if len(name) != SEGMENT_NAME_DIGITS or not (name.isascii() and name.isdigit()):
        return None
    start_offset = int(name)
    return start_offset if start_offset < 1 << 63 else None


def index_file_name(created_ms: int) -> str:
    seconds, milliseconds = divmod(created_ms, 1000)
    return f"{datetime.fromtimestamp(seconds):%Y%m%d%H%M%S}{milliseconds:03d}"


def parse_index_file_name(name: str) -> int | None:
    """When the file was made, in ms; None if the file is no index."""
    if len(name) != _INDEX_NAME_DIGITS or not (name.isascii() and name.isdigit()):
        return None
    try:
        created = datetime.strptime(name[:14], "%Y%m%d%H%M%S")
    except ValueError:
        return None
    return int(created.timestamp()) * 1000 + int(name[14:])

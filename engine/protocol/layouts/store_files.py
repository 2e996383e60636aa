"""Names and contents of the files around the commit log: segments, consume queues, the index of message keys.

File names:

    00000000001073741824   a segment (commit log, consume queue, timer log): offset of its first byte
    20240131235959123      an index file: time of its creation, yyyyMMddHHmmssSSS in the machine's time zone

A consume queue, 20 bytes for each message of one topic and queue:

    COMMITLOGOFFSET 8 · SIZE 4 · TAGSCODE 8

Unit n is at byte 20 n of the logical file. A queue that does not begin at a file's first unit has blank units
before its first one. In queues that RocketMQ wrote with extensions, TAGSCODE may be the address of an
extension: the smallest int64 plus the offset of the extension.

An index file, from the hash of a key to places in the commit log:

    header 40          BEGINTIMESTAMP 8 · ENDTIMESTAMP 8 · BEGINOFFSET 8 · ENDOFFSET 8
                       · SLOTCOUNT 4 (slots in use) · INDEXCOUNT 4 (number of the next entry, from 1)
    slots 4 each       number of the slot's newest entry, 0 = empty
    entries 20 each    KEYHASH 4 · COMMITLOGOFFSET 8 · SECONDS 4 since BEGIN · PREVIOUS 4 entry of the slot

With 5,000,000 slots and 20,000,000 entries, as everywhere, a file has 420,000,040 bytes. A chain ends at
entry 0. What a crash leaves half written is rebuilt from the log, so only lengths are checked here; a reader
of a chain must bound it by INDEXCOUNT.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from struct import Struct

from engine.errors import BadInput, CorruptRecord

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


CQ_UNIT = Struct(">qiq")
CQ_UNIT_SIZE = CQ_UNIT.size
CQ_BLANK = CQ_UNIT.pack(0, 0x7FFF_FFFF, 0)
_INT32_MIN = -0x8000_0000


def is_ext_address(tags_code: int) -> bool:
    """Whether the tags code is the address of an extension: a hash is never below the int32 range."""
    return tags_code < _INT32_MIN


Buffer = bytes | bytearray | memoryview

INDEX_HEADER = Struct(">qqqqii")
INDEX_HEADER_SIZE = INDEX_HEADER.size
INDEX_SLOT = Struct(">i")
INDEX_SLOT_SIZE = INDEX_SLOT.size
INDEX_ENTRY = Struct(">iqii")
INDEX_ENTRY_SIZE = INDEX_ENTRY.size
INDEX_KEY = Struct(">iqq")
"""An entry before it has its place in a file: KEYHASH 4 · COMMITLOGOFFSET 8 · STORETIME 8."""
INDEX_KEY_SIZE = INDEX_KEY.size

INDEX_SLOTS = 5_000_000
INDEX_ENTRIES = 20_000_000
FIRST_ENTRY = 1


@dataclass(frozen=True, slots=True)
class IndexHeader:
    begin_timestamp: int = 0
    end_timestamp: int = 0
    begin_commit_log_offset: int = 0
    end_commit_log_offset: int = 0
    slot_count: int = 0
    index_count: int = FIRST_ENTRY


def encode_index_header(header: IndexHeader) -> bytes:
    return INDEX_HEADER.pack(
        header.begin_timestamp,
        header.end_timestamp,
        header.begin_commit_log_offset,
        header.end_commit_log_offset,
        header.slot_count,
        header.index_count,
    )


def decode_index_header(buffer: Buffer) -> IndexHeader:
    """The header; a file that was never written to (all zeros) has its first entry ahead of it."""
    if len(buffer) < INDEX_HEADER_SIZE:
        raise CorruptRecord("index header ends early", size_bytes=len(buffer))
    begin, end, begin_offset, end_offset, slot_count, index_count = INDEX_HEADER.unpack_from(buffer, 0)
    return IndexHeader(begin, end, begin_offset, end_offset, slot_count, max(index_count, FIRST_ENTRY))


def index_file_size(slots: int = INDEX_SLOTS, entries: int = INDEX_ENTRIES) -> int:
    return INDEX_HEADER_SIZE + slots * INDEX_SLOT_SIZE + entries * INDEX_ENTRY_SIZE

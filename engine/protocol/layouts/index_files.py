"""The hash index from message keys to places in the commit log.

    header 40            BEGINTIMESTAMP 8 · ENDTIMESTAMP 8 · BEGINOFFSET 8 · ENDOFFSET 8
                         · SLOTCOUNT 4 (slots in use) · INDEXCOUNT 4 (number of the next entry, from 1)
    slots 4 each         number of the slot's newest entry, 0 = empty
    entries 20 each      KEYHASH 4 · COMMITLOGOFFSET 8 · SECONDS 4 since BEGIN · PREVIOUS 4 of the slot

With 5,000,000 slots and 20,000,000 entries, as everywhere, a file has 420,000,040 bytes. A chain ends at
entry 0. What a crash leaves half written is rebuilt from the log, so only lengths are checked here; whoever
walks a chain must bound it by INDEXCOUNT.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from engine.errors import CorruptRecord

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

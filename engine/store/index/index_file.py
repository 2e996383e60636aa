"""One file of the hash index (layout: `layouts.store_files`).

Sparse at its full length (420 MB by default). Entries are written with pwrite; header and slots (20 MB) are
given their blocks with the first put and are written through a map, because a key costs one random slot. The
order is entries, slots, header: what a killed process leaves behind is at worst slots that point at entries
which the header does not count yet. Readers take no entry for more than a candidate, and recovery rebuilds
the slots from the entries (`cut`).

Commit log offsets never decrease from entry to entry. One thread; walks (`view`) go on in any.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from dataclasses import replace
from itertools import islice
from pathlib import Path
from zlib import crc32

from engine.durable_file import named, pwrite_all
from engine.protocol._index_cy import chain_entries, write_slots
from engine.protocol.layouts.store_files import (
    FIRST_ENTRY,
    INDEX_ENTRY,
    INDEX_ENTRY_SIZE,
    INDEX_HEADER_SIZE,
    INDEX_KEY,
    INDEX_KEY_SIZE,
    INDEX_SLOT,
    INDEX_SLOT_SIZE,
    IndexHeader,
    decode_index_header,
    encode_index_header,
    index_file_size,
)
from engine.store.index.index_seals import IndexSeal
from engine.store.index.index_walk import IndexView

_SLOT_PIECE = 4096
_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


class IndexFile:
    def __init__(self, path: Path, slots: int, entries: int) -> None:
        self.path = path
        self._slots = slots
        self._max_entries = entries
        self._entries_at = INDEX_HEADER_SIZE + slots * INDEX_SLOT_SIZE
        self._fd = os.open(path, _FLAGS | os.O_CREAT, 0o600)
        size = index_file_size(slots, entries)
        self.is_whole = os.fstat(self._fd).st_size in (0, size)
        """False for a file of another length: another configuration, or damage."""
        os.ftruncate(self._fd, size)
        self._map = mmap.mmap(self._fd, size, access=mmap.ACCESS_READ)
        self._slots_map: mmap.mmap | None = None
        self.header = decode_index_header(self._map[:INDEX_HEADER_SIZE])
        self._entries_crc = 0
        """Of the entries that the header counts: `agrees`, `adopt` and `cut` see to that."""
        self._settled: IndexSeal | None = None

    @property
    def is_full(self) -> bool:
        return self.header.index_count >= self._max_entries

    @property
    def is_believable(self) -> bool:
        header = self.header
        return (
            self.is_whole
            and FIRST_ENTRY <= header.index_count <= self._max_entries
            and 0 <= header.begin_commit_log_offset <= header.end_commit_log_offset
            and 0 <= header.begin_timestamp <= header.end_timestamp
        )

    def put(self, keys: bytes | bytearray) -> int:
        """Add as many as fit; how many that were."""
        header = self.header
        keys = keys[: (self._max_entries - header.index_count) * INDEX_KEY_SIZE]
        if not keys:
            return 0
        first = header.index_count
        _, begin_offset, begin_timestamp = INDEX_KEY.unpack_from(keys)
        if first > FIRST_ENTRY:
            begin_offset, begin_timestamp = header.begin_commit_log_offset, header.begin_timestamp
        if self._slots_map is None:
            self._slots_map = self._map_slots()
        slots = self._slots_map, INDEX_HEADER_SIZE, self._slots
        entries, used = chain_entries(keys, *slots, first, begin_timestamp)
        pwrite_all(self._fd, entries, self._entries_at + first * INDEX_ENTRY_SIZE)
        self._entries_crc = crc32(entries, self._entries_crc)
        self._settled = None
        write_slots(entries, *slots, first)
        _, last_offset, last_timestamp = INDEX_KEY.unpack_from(keys, len(keys) - INDEX_KEY_SIZE)
        count = len(keys) // INDEX_KEY_SIZE
        self._write_header(
            IndexHeader(
                begin_timestamp,
                last_timestamp,
                begin_offset,
                last_offset,
                header.slot_count + used,
                first + count,
            )
        )
        return count

    # Seals

    def seal(self, *, is_settled: bool) -> IndexSeal:
        """What the file holds now. Settled: nothing is added to it any more."""
        if self._settled is not None:
            return self._settled
        header = self.header
        seal = IndexSeal(
            self.path.name,
            header.index_count,
            self._entries_crc,
            header.begin_commit_log_offset,
            header.end_commit_log_offset,
        )
        if not is_settled:
            return seal
        self._settled = replace(seal, header=self._header_crc(), slots=self._slots_crc())
        return self._settled

    def agrees(self, seal: IndexSeal, *, is_settled: bool) -> bool:
        """Whether entries (and header, if settled) are what was sealed; wrong slots are made anew."""
        header = self.header
        if (
            header.index_count < seal.count
            or header.begin_commit_log_offset != seal.begin
            or self._crc_until(seal.count) != seal.entries
        ):
            return False
        if is_settled and seal.header is not None:
            if self._header_crc() != seal.header:
                return False
            if self._slots_crc() != seal.slots:
                self.cut(header.end_commit_log_offset + 1)
        return True

    def adopt(self) -> None:
        """Take the entries for good as they are; they will be sealed like this."""
        self._entries_crc = self._crc_until(self.header.index_count)

    def _crc_until(self, count: int) -> int:
        begin = self._entries_at + FIRST_ENTRY * INDEX_ENTRY_SIZE
        with memoryview(self._map) as view:
            return crc32(view[begin : self._entries_at + count * INDEX_ENTRY_SIZE])

    def _header_crc(self) -> int:
        return crc32(self._map[:INDEX_HEADER_SIZE])

    def _slots_crc(self) -> int:
        with memoryview(self._map) as view:
            return crc32(view[INDEX_HEADER_SIZE : self._entries_at])

    def _map_slots(self) -> mmap.mmap:
        """Blocks first: a write through a map onto a full disk would kill the process."""
        try:
            os.posix_fallocate(self._fd, 0, self._entries_at)
        except OSError as error:
            raise named(error, self._fd) from None
        return mmap.mmap(self._fd, self._entries_at)

    def _write_header(self, header: IndexHeader) -> None:
        pwrite_all(self._fd, encode_index_header(header), 0)
        self.header = header

    def view(self) -> IndexView:
        return IndexView(str(self.path), self.path.name, self._slots, self._max_entries, self.header)

    def find(self, key_hash: int, max_num: int, begin_ms: int, end_ms: int) -> list[int]:
        """Commit log offsets of the key's newest entries within the times."""
        entries = self.view().walk(self._fd, key_hash, begin_ms, end_ms)
        return list(islice((offset for _, offset in entries if offset is not None), max_num))

    def cut(self, commit_log_offset: int) -> None:
        """Forget entries from this place of the log on, and rebuild every slot from the entries that stay."""
        count = FIRST_ENTRY + bisect_left(
            range(FIRST_ENTRY, self.header.index_count), commit_log_offset, key=self._offset_of
        )
        slots = bytearray(self._slots * INDEX_SLOT_SIZE)
        used = 0
        for number in range(FIRST_ENTRY, count):
            slot_at = self._hash_of(number) % self._slots * INDEX_SLOT_SIZE
            used += INDEX_SLOT.unpack_from(slots, slot_at)[0] == 0
            INDEX_SLOT.pack_into(slots, slot_at, number)
        self._write_slots(slots)
        self._write_header(self._header_until(count, used))
        self._entries_crc = self._crc_until(count)
        self._settled = None

    def _write_slots(self, slots: bytearray) -> None:
        """Only what differs: pages that were never used stay without blocks."""
        for at in range(0, len(slots), _SLOT_PIECE):
            piece = bytes(slots[at : at + _SLOT_PIECE])
            start = INDEX_HEADER_SIZE + at
            if self._map[start : start + len(piece)] != piece:
                pwrite_all(self._fd, piece, start)

    def _header_until(self, count: int, used: int) -> IndexHeader:
        if count == FIRST_ENTRY:
            return IndexHeader()
        header = self.header
        last_at = self._entries_at + (count - 1) * INDEX_ENTRY_SIZE
        _, last_offset, seconds, _ = INDEX_ENTRY.unpack_from(self._map, last_at)
        end_timestamp = header.begin_timestamp + seconds * 1000 + 999
        return IndexHeader(
            header.begin_timestamp, end_timestamp, header.begin_commit_log_offset, last_offset, used, count
        )

    def _hash_of(self, number: int) -> int:
        key_hash: int = INDEX_ENTRY.unpack_from(self._map, self._entries_at + number * INDEX_ENTRY_SIZE)[0]
        return key_hash

    def _offset_of(self, number: int) -> int:
        offset: int = INDEX_ENTRY.unpack_from(self._map, self._entries_at + number * INDEX_ENTRY_SIZE)[1]
        return offset

    def close(self) -> None:
        self._map.close()
        if self._slots_map is not None:
            self._slots_map.close()
        os.close(self._fd)

    def delete(self) -> None:
        self.close()
        self.path.unlink(missing_ok=True)

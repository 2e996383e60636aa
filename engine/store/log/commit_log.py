"""The commit log: records of all topics, one behind the other, in segments of fixed size.

A record never crosses a segment: when it and a blank of 8 bytes do not fit, the blank ends the segment and
the record starts the next. The size of a record is written last, so that a process killed in the middle of an
append leaves a zero size, which is the end of the log: a record (or a batch, by the size of its first) is
there whole or not at all. Whatever lies behind the end is zeros (see `recovery`).

`readable_end` is the one gate of visibility: nothing else decides what may be read. A message is readable
once it is in the files, on disk when flushing is synchronous, and confirmed by replicas when the log is
replicated. Dispatch follows the log up to here, and everything a consumer can see follows dispatch.

Invariants: `end_offset` is a record boundary (on a slave: any byte); store times never decrease.
One writer, no locks.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Container
from struct import Struct

from engine.durable_file import pwrite_all
from engine.errors import BadInput, DiskFull, StoreError
from engine.protocol._records_cy import SCAN_BLANK, Derived, Row, derive_records, scan_records
from engine.protocol.record_layout import BLANK_SIZE
from engine.protocol.records import encode_blank
from engine.store.log.mapped_file import MappedFile
from engine.store.log.mapped_files import MappedFiles
from engine.store.log.next_segment import NextSegment
from engine.store.options import StoreOptions
from engine.store.results import QueueKey

_pack_size_into = Struct(">i").pack_into


class TransientPool:
    """The write buffer of `transientStorePoolEnable`: puts go to anonymous memory and reach the file later.

    Puts then never touch the page cache, so writeback cannot stall them. The price is a loss window: what is
    not yet committed dies with the process, also on kill -9: at most 200 ms of messages when the broker
    commits on time. Nothing uncommitted is readable, so no consumer sees what a crash takes back.

    One buffer serves all segments: a segment is committed in full before the next one begins.
    """

    def __init__(self, file_size: int) -> None:
        self.buffer = mmap.mmap(-1, file_size)
        self.committed_offset = 0

    def commit(self, file: MappedFile, end_offset: int) -> None:
        """Write what lies between the committed offset and `end_offset` (of this segment) into its file."""
        pos = self.committed_offset - file.base_offset
        end = end_offset - file.base_offset
        while pos < end:
            pos += os.pwrite(file.fd, self.buffer[pos:end], pos)
        self.committed_offset = max(self.committed_offset, end_offset)

    def close(self) -> None:
        self.buffer.close()


class CommitLog:
    def __init__(self, options: StoreOptions) -> None:
        """Nothing is opened yet."""
        size, directory = options.mapped_file_size_commit_log, options.commit_log_path
        self.files = MappedFiles(directory, size, options.max_mapped_segments)
        self.file_size = size
        self.next_segment = NextSegment(directory, size, options.pretouch_bytes)
        self.pool = TransientPool(size) if options.transient_store_pool_enable else None
        self._waits_for_flush = options.is_sync_flush
        self._hot_bytes = options.reads.hot_window_bytes
        self.flushed_offset = 0
        self.confirmed_offset: int | None = None
        """Set by replication; None means that the log is not replicated."""
        self.checked_from = 0
        """Records from here on were written or checked by this process."""
        self.end_offset = 0
        self.last_store_timestamp = 0
        self._target: mmap.mmap | None = None
        self._target_base = 0
        self.room_end = 0
        """Where a record must end that is to fit the segment being written."""

    @property
    def min_offset(self) -> int:
        return self.files.min_offset

    @property
    def written_end_offset(self) -> int:
        """The end of what is in the files: behind `end_offset` only while a transient pool holds the rest."""
        return self.end_offset if self.pool is None else self.pool.committed_offset

    @property
    def hot_from(self) -> int:
        """Records from here on are likely to be in memory."""
        return self.end_offset - self._hot_bytes

    def readable_end(self) -> int:
        end = self.end_offset if self.pool is None else self.pool.committed_offset
        if self._waits_for_flush and self.flushed_offset < end:
            end = self.flushed_offset
        if self.confirmed_offset is not None and self.confirmed_offset < end:
            end = self.confirmed_offset
        return end

    def start_at(self, end_offset: int) -> None:
        """Put the writing end where recovery found it."""
        self.end_offset = end_offset
        if self.pool is not None:
            self.pool.committed_offset = end_offset
        last = self.files.last
        if last is None or end_offset >= last.end_offset:
            self._target = None
            self.room_end = 0
        else:
            self._aim_at(last)

    def _aim_at(self, file: MappedFile) -> None:
        mapped = self.files.mapped(file)
        file.open()
        self._target = mapped if self.pool is None else self.pool.buffer
        self._target_base = file.base_offset
        # A blank must always fit behind the last record.
        self.room_end = file.end_offset - BLANK_SIZE

    def make_room(self, size: int) -> int:
        """The offset at which `size` bytes will be written, in one segment. Nothing of them is written
        yet."""
        if self.end_offset + size > self.room_end:
            self._roll(size)
        return self.end_offset

    def _roll(self, size: int) -> None:
        if size + BLANK_SIZE > self.file_size:
            raise BadInput(f"{size} bytes do not fit a segment of {self.file_size}")
        try:
            file = self.next_segment.take()
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull("no room for the next segment of the commit log") from error
            raise StoreError(f"no next segment of the commit log: {error}") from error
        # Only now, with the new segment in hand, may the old one be closed by its blank.
        self._finish_segment()
        base_offset = self.end_offset - self.end_offset % self.file_size
        self._aim_at(self.files.add(file, base_offset))

    def _finish_segment(self) -> None:
        last = self.files.last
        if last is None or self._target is None:
            return
        pos = self.end_offset - self._target_base
        if pos < self.file_size:
            self._target[pos : pos + BLANK_SIZE] = encode_blank(self.file_size - pos)
        if self.pool is not None:
            self.pool.commit(last, self._target_base + min(pos + BLANK_SIZE, self.file_size))
            self.pool.committed_offset = last.end_offset
        self.end_offset = last.end_offset

    def write(self, records: bytes, first_size: int) -> None:
        """Append at the offset that `make_room` gave. The size field of the first record comes as 0 and is
        written last: see above."""
        target = self._target
        assert target is not None
        pos = self.end_offset - self._target_base
        size = len(records)
        target[pos : pos + size] = records
        _pack_size_into(target, pos, first_size)
        self.end_offset += size

    def write_raw(self, data: bytes | memoryview) -> None:
        """Append a master's bytes as they are, blanks included; they may cross segments and cut records."""
        view = memoryview(data)
        while view:
            if self._target is None or self.end_offset >= self._target_base + self.file_size:
                self.commit()  # the pool's buffer is for one segment
                self._target = None
                self._roll(0)
            piece = view[: self._target_base + self.file_size - self.end_offset]
            self._write_piece(piece)
            view = view[len(piece) :]

    def _write_piece(self, piece: memoryview) -> None:
        """Not through the map: there, every fresh page costs a fault that first fills it with zeros."""
        pos, file = self.end_offset - self._target_base, self.files.last
        if self.pool is not None:
            self.pool.buffer[pos : pos + len(piece)] = piece
        else:
            assert file is not None
            pwrite_all(file.fd, piece, pos)
        self.end_offset += len(piece)

    def commit(self) -> None:
        """Transient pool: bring what was put so far into the file."""
        last = self.files.last
        if self.pool is not None and last is not None and self.pool.committed_offset < self.end_offset:
            self.pool.commit(last, self.end_offset)

    def read(self, commit_log_offset: int, size: int) -> bytes:
        """Up to `size` bytes of one segment; empty when the offset is not in the log."""
        file = self.files.at(commit_log_offset)
        if file is None or size <= 0 or commit_log_offset >= self.end_offset:
            return b""
        return file.read(commit_log_offset - file.base_offset, size)

    def scan(
        self, commit_log_offset: int, end_offset: int, max_records: int, *, check_crc: bool
    ) -> tuple[list[Row], int, int]:
        """Rows of one segment from the offset, where the scan goes on, and why it stopped (SCAN_…)."""
        file, mapped, pos, limit = self._stretch(commit_log_offset, end_offset)
        rows, pos, stop = scan_records(mapped, pos, limit, check_crc, max_records, file.base_offset)
        return rows, file.end_offset if stop == SCAN_BLANK else file.base_offset + pos, stop

    def derive(
        self,
        commit_log_offset: int,
        end_offset: int,
        max_records: int,
        *,
        check_crc: bool,
        only: Container[QueueKey] | None,
        delay_level_ms: tuple[int, ...],
        index_from: int,
    ) -> Derived:
        """What dispatch writes for the records of that scan; `next` is where it goes on in the log."""
        file, mapped, pos, limit = self._stretch(commit_log_offset, end_offset)
        base = file.base_offset
        # fmt: off
        derived = derive_records(
            mapped, pos, limit, check_crc, max_records, base, only, delay_level_ms, index_from
        )
        # fmt: on
        return derived._replace(next=file.end_offset if derived.stop == SCAN_BLANK else base + derived.next)

    def _stretch(self, commit_log_offset: int, end_offset: int) -> tuple[MappedFile, mmap.mmap, int, int]:
        """The segment that holds the offset, its map, and the part of it up to `end_offset`."""
        file = self.files.at(commit_log_offset)
        if file is None:
            raise StoreError(f"commit log has no offset {commit_log_offset}")
        mapped = file.map or self.files.mapped(file)
        limit = min(end_offset - file.base_offset, file.size)
        return file, mapped, commit_log_offset - file.base_offset, limit

    def cut(self, commit_log_offset: int) -> None:
        """Drop everything from here on, and go on here."""
        files = self.files
        files.drop_from(max(commit_log_offset, files.min_offset + 1))
        file = files.at(commit_log_offset)
        if file is not None:
            file.zero_from(commit_log_offset - file.base_offset)
        self.start_at(commit_log_offset)

    def close(self) -> None:
        self.next_segment.close()
        self.files.close()
        if self.pool is not None:
            self.pool.close()

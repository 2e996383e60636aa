"""Repairs damaged records of the log with the bytes that another member has of them.

Only bytes that are whole records with the right CRC, that say themselves that they lie at this offset, and
that fill the damaged range to the byte are written; a range ends where a record does, or with its segment.
The old bytes go to a file first:

    damaged/00000000000001048576-231    the 231 bytes that lay at that offset of the commit log (mode 0600)

RocketMQ does not look into that folder. A crash leaves the old bytes, the new ones, or a mix of both: the mix
is damage again, and is repaired again.

`write` runs on the loop, so that no cut of the log comes between its check and its write; everything else may
run in any thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.durable_file import pwrite_all
from engine.protocol._records_cy import SCAN_BLANK, scan_records
from engine.protocol.layouts.store_files import segment_name
from engine.store.log.commit_log import CommitLog
from engine.store.queues.dispatch import Dispatcher
from engine.store.queues.queue_repair import QueueRepair
from engine.store.reading.cold_reads import read_part
from engine.store.recovery.damaged_ranges import DamagedRanges
from engine.store.recovery.scrub import ScrubSlice, plan_scrub
from engine.store.results import Damage

MAX_PIECE_BYTES = 8 << 20
"""What one request between members may ask for: well below the largest frame."""
MAX_KEPT_FILES = 1_000
UNKNOWN_QUEUE = -1
_MANY = 1 << 30


def is_whole_range(data: bytes, commit_log_offset: int, size: int, *, ends_segment: bool) -> bool:
    """Whether the bytes are whole records, right behind each other, from the offset on to the last byte."""
    if len(data) != size or size <= 0:
        return False
    rows, pos, stop = scan_records(data, 0, size, True, _MANY, commit_log_offset)
    return (bool(rows) and pos == size) or (ends_segment and stop == SCAN_BLANK)


@dataclass(frozen=True, slots=True)
class LogRange:
    """A part of one segment, for a thread."""

    path: str
    base_offset: int
    commit_log_offset: int
    size: int
    ends_segment: bool

    @property
    def file(self) -> str:
        return os.path.basename(self.path)

    def read(self) -> bytes:
        """Empty when the segment is gone."""
        try:
            return read_part(self.path, self.commit_log_offset - self.base_offset, self.size)
        except FileNotFoundError:
            return b""

    def accepts(self, data: bytes) -> bool:
        return is_whole_range(data, self.commit_log_offset, self.size, ends_segment=self.ends_segment)

    def read_whole(self) -> bytes:
        """The bytes if they are whole records; else nothing."""
        data = self.read()
        return data if self.accepts(data) else b""


class RecordRepair:
    def __init__(
        self,
        log: CommitLog,
        damaged: DamagedRanges,
        queues: QueueRepair,
        dispatcher: Dispatcher,
        root: Path,
    ) -> None:
        self._log = log
        self._queues = queues
        self._dispatcher = dispatcher
        self._folder = root / "damaged"
        self.damaged = damaged
        self.mend_queue = queues.mend_unit

    def locate(self, commit_log_offset: int, size: int) -> LogRange | None:
        """None: the range is not all in one segment, or not all readable yet, or too large for a repair."""
        if size > MAX_PIECE_BYTES or commit_log_offset + size > self.settled_end:
            return None
        return self.find(commit_log_offset, size)

    def find(self, commit_log_offset: int, size: int) -> LogRange | None:
        """To be looked at, as it is. None: the range is not all in one segment."""
        end = commit_log_offset + size
        file = self._log.files.at(commit_log_offset)
        if file is None or size <= 0 or end > file.end_offset:
            return None
        return LogRange(
            str(file.path), file.base_offset, commit_log_offset, size, ends_segment=end == file.end_offset
        )

    def damage_at(self, commit_log_offset: int, size: int) -> Damage:
        """Of a record that was read without its queue."""
        file = segment_name(self.segment_start(commit_log_offset))
        return Damage("", UNKNOWN_QUEUE, UNKNOWN_QUEUE, commit_log_offset, size, file)

    def plan_scrub(self, start: int, max_bytes: int) -> ScrubSlice | None:
        """The next part of the log to check, from a record boundary on; `run` it in any thread."""
        return plan_scrub(self._log, start, min(self.settled_end, self._dispatcher.offset), max_bytes)

    def segment_start(self, commit_log_offset: int) -> int:
        """Where the segment of this offset begins; the log's start when it has none there."""
        file = self._log.files.at(commit_log_offset)
        return file.base_offset if file is not None else self._log.min_offset

    @property
    def settled_end(self) -> int:
        """What is on disk, confirmed, and in the queues: only this is ever given away or written over."""
        return min(self._log.flushed_offset, self._log.readable_end())

    def keep_aside(self, place: LogRange, old: bytes) -> None:
        """The damaged bytes, durable, before anything is written over them. Blocks."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        path = self._folder / f"{segment_name(place.commit_log_offset)}-{place.size}"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            pwrite_all(fd, old, 0)
            os.fsync(fd)
        finally:
            os.close(fd)
        self._drop_oldest()
        _sync_folder(self._folder)

    def _drop_oldest(self) -> None:
        entries = sorted(os.scandir(self._folder), key=lambda entry: entry.stat().st_mtime_ns)
        for entry in entries[:-MAX_KEPT_FILES]:
            os.unlink(entry.path)

    def write(self, place: LogRange, data: bytes) -> Callable[[], None] | None:
        """Put the good bytes in place, on the loop; what brings them to the disk is to be run in a thread.
        None: the log has not got the range any more, or the bytes are not what belongs there."""
        here = self.locate(place.commit_log_offset, place.size)
        if here != place or not place.accepts(data):
            return None
        fd = os.open(place.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            pwrite_all(fd, data, place.commit_log_offset - place.base_offset)
        except OSError:
            os.close(fd)
            raise

        def sync() -> None:
            try:
                os.fdatasync(fd)
            finally:
                os.close(fd)

        return sync

    def repaired(self, place: LogRange) -> None:
        """The range is whole, and on disk."""
        end = place.commit_log_offset + place.size
        self.damaged.discard(place.commit_log_offset, end)
        self._queues.mend_range(place.commit_log_offset, end)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

"""The front of the commit log: where it starts, what of it has expired, how it is deleted.

A segment has expired when fileReservedTime has passed since it was written last. Deleting goes by the file's
time, as in RocketMQ. Whether somebody *needs* a segment is judged more mildly: it has also expired when the
first record of the next segment is older than that, because the time of a copied file says when it was
copied, and all members of a group must come to one answer (docs/adr/0015).

Queue and index files follow the log. The active segment never goes, nor does anything that is not yet on disk
and dispatched. A crash between two deletions leaves a log that starts somewhere before the wanted offset.
Not thread safe.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.store.index.index import Index
from engine.store.log.commit_log import CommitLog
from engine.store.log.mapped_file import MappedFile
from engine.store.options import RetentionRules
from engine.store.queues.consume_queues import ConsumeQueues
from engine.store.queues.dispatch import Dispatcher
from engine.store.recovery.log_start import LogStart
from engine.store.retention import SegmentAge, expiry_limit_ms, plan_expiry

_STORE_TIME: Final = 7
_NEVER_MS: Final = 1 << 62
_COUNT_SLICE = 32
"""Queues that are searched in one go: a few milliseconds."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """What one round deleted."""

    paths: tuple[str, ...] = ()
    unexpired_segments: int = 0
    unexpired_from: int = 0
    unexpired_to: int = 0
    """Commit-log offsets of what was deleted before its time."""


@dataclass(slots=True)
class DeletedUnexpired:
    """What was deleted before its time since the store was opened; the offsets are those of the last time."""

    segments: int = 0
    size_bytes: int = 0
    from_offset: int = 0
    to_offset: int = 0
    at_ms: int = 0


class LogFront:
    def __init__(
        self,
        log: CommitLog,
        queues: ConsumeQueues,
        index: Index | None,
        dispatcher: Dispatcher,
        log_start: LogStart,
        rules: RetentionRules,
    ) -> None:
        self._log = log
        self._queues = queues
        self._index = index
        self._dispatcher = dispatcher
        self._log_start = log_start
        self.rules = rules
        """May be replaced while the store is open."""
        self._first_times_ms: dict[int, int] = {}
        """Segment's base offset: store time of its first record, which never changes."""
        self.deleted_unexpired = DeletedUnexpired()

    @property
    def directory(self) -> Path:
        """Of the commit log."""
        return self._log.files.directory

    def _settled(self) -> int:
        """What ends before this commit-log offset is on disk and dispatched."""
        return min(self._log.flushed_offset, self._dispatcher.offset)

    def plan(self, now_ms: int, *, hour: int, disk_usage_ratio: float, manual: bool = False) -> int:
        """The commit-log offset at which the log should start; it starts there when nothing may go."""
        files = self._log.files.files
        if not files:
            return 0
        ages = [SegmentAge(file.base_offset, file.end_offset, _modified_ms(file)) for file in files]
        count = plan_expiry(
            ages,
            self.rules,
            now_ms=now_ms,
            hour=hour,
            disk_usage_ratio=disk_usage_ratio,
            settled_offset=self._settled(),
            manual=manual,
        )
        return ages[count].base_offset

    def unexpired_from(self, now_ms: int) -> int:
        """Start of the oldest segment that has not expired; the log's end when all has."""
        files, limit_ms = self._log.files.files, expiry_limit_ms(self.rules, now_ms)
        for number, file in enumerate(files):
            if self._is_young(number, limit_ms):
                return file.base_offset
        return self._log.end_offset

    def needed_from(self, now_ms: int) -> int:
        """What a copy of this log must have: the same, but the active segment always."""
        files = self._log.files.files
        unexpired = self.unexpired_from(now_ms)
        return min(unexpired, files[-1].base_offset) if files else unexpired

    def lacks_only_expired(self, now_ms: int) -> bool:
        """Whether everything that was ever written before this log's start has expired by now."""
        files = self._log.files.files
        first_ms = self._first_time_ms(files[0]) if files else None
        return first_ms is not None and first_ms <= expiry_limit_ms(self.rules, now_ms)

    def count_messages(self, begin: int, end: int) -> Iterator[int]:
        """How many messages lie between two commit-log offsets, in slices that are to be added up: the caller
        lets others run in between."""
        queues = list(self._queues.table.values())
        for number in range(0, len(queues), _COUNT_SLICE):
            piece = queues[number : number + _COUNT_SLICE]
            yield sum(queue.count_between(begin, end) for queue in piece)

    def delete_to(self, commit_log_offset: int, now_ms: int) -> Deletion:
        """Delete the segments that end at or before the offset, as many as may go in one round."""
        files = self._log.files.files
        limit = min(commit_log_offset, self._settled())
        count = sum(file.end_offset <= limit for file in files[:-1][: self.rules.max_files_per_round])
        if count == 0:
            return Deletion()
        limit_ms = expiry_limit_ms(self.rules, now_ms)
        young = [files[number] for number in range(count) if self._is_young(number, limit_ms)]
        self._log_start.note_start(files[count].base_offset)  # before anything is deleted
        for file in files[:count]:
            self._first_times_ms.pop(file.base_offset, None)
        paths = [str(path) for path in self._log.files.drop_oldest(count)]
        log_min = self._log.min_offset
        paths += self._queues.drop_expired(log_min)
        paths += self._index.drop_expired(log_min) if self._index is not None else []
        if not young:
            return Deletion(tuple(paths))
        self._count_unexpired(young, now_ms)
        return Deletion(tuple(paths), len(young), young[0].base_offset, young[-1].end_offset)

    def _count_unexpired(self, young: list[MappedFile], now_ms: int) -> None:
        total = self.deleted_unexpired
        total.segments += len(young)
        total.size_bytes += sum(file.size for file in young)
        total.from_offset, total.to_offset = young[0].base_offset, young[-1].end_offset
        total.at_ms = now_ms

    def _is_young(self, number: int, limit_ms: int) -> bool:
        """By both times: see above."""
        files = self._log.files.files
        next_ms = self._first_time_ms(files[number + 1]) if number + 1 < len(files) else None
        if next_ms is not None and next_ms <= limit_ms:
            return False
        return _modified_ms(files[number]) > limit_ms

    def _first_time_ms(self, file: MappedFile) -> int | None:
        """None where no whole record begins the segment (yet)."""
        base_offset = file.base_offset
        known = self._first_times_ms.get(base_offset)
        if known is None and base_offset < self._log.written_end_offset:
            rows, _, _ = self._log.scan(base_offset, file.end_offset, 1, check_crc=False)
            if rows:
                known = self._first_times_ms[base_offset] = int(rows[0][_STORE_TIME])
        return known


def _modified_ms(file: MappedFile) -> int:
    """A file that somebody removed behind our back has no time, and is no reason to delete others."""
    try:
        return os.stat(file.path).st_mtime_ns // 1_000_000
    except FileNotFoundError:
        return _NEVER_MS

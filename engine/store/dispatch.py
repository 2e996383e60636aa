"""Follows the log up to the gate and builds what is derived from it: queue units and index entries.

Runs in slices on the writer's thread. One slice writes each touched queue once. Everything it writes is
placed by what the record says, so a slice that failed half way (disk full) is simply run again, and
replaying any part of the log any number of times ends in the same files.
"""

from __future__ import annotations

from collections import deque

from engine.errors import CorruptRecord
from engine.protocol._records_cy import Row
from engine.protocol.hashes import index_key_hash
from engine.protocol.layouts.queue_units import CQ_UNIT, CQ_UNIT_SIZE
from engine.protocol.names import SCHEDULE_TOPIC
from engine.protocol.sys_flags import (
    TRANSACTION_COMMIT,
    TRANSACTION_MASK,
    TRANSACTION_NONE,
    TRANSACTION_ROLLBACK,
)
from engine.store.commit_log import CommitLog
from engine.store.consume_queues import ConsumeQueues
from engine.store.gate import Gate
from engine.store.index import Index
from engine.store.queue_offsets import QueueKey
from engine.store.results import Arrival, StoreStats

_QUEUED = (TRANSACTION_NONE, TRANSACTION_COMMIT)
_pack_unit = CQ_UNIT.pack
_new_tuple = tuple.__new__
_SIZE_AND_MAGIC = 8
_MARKS = 4


class _Run:
    """Units of one queue with consecutive queue offsets, waiting for their one write."""

    __slots__ = ("first", "next", "units")

    def __init__(self, first: int) -> None:
        self.first = first
        self.next = first
        self.units = bytearray()


class Dispatcher:
    def __init__(
        self,
        log: CommitLog,
        gate: Gate,
        queues: ConsumeQueues,
        index: Index | None,
        stats: StoreStats,
        *,
        delay_level_ms: tuple[int, ...],
        verify_on_open_bytes: int,
    ) -> None:
        self._log = log
        self._gate = gate
        self._queues = queues
        self._index = index
        self._stats = stats
        self._delay_level_ms = delay_level_ms
        self._verify_bytes = verify_on_open_bytes
        self._marks: deque[int] = deque([0])
        self.offset = 0
        self.store_timestamp = 0
        """Store time of the newest record that queues and index know of."""

    @property
    def verify_from(self) -> int:
        """A record boundary some way behind the dispatched offset: the next open begins to check there."""
        return self._marks[0]

    def start_at(self, offset: int, verify_from: int) -> None:
        self.offset = offset
        self._marks.clear()
        self._marks.append(min(verify_from, offset))

    def has_work(self) -> bool:
        return self.offset < self._gate.readable_end()

    def step(self, max_records: int) -> list[Arrival]:
        """Dispatch up to `max_records`. OSError leaves the offset where it was, for another try."""
        end = self._gate.readable_end()
        arrivals: list[Arrival] = []
        # Again when there was only a segment's blank end: an empty answer must mean that there is no more.
        while not arrivals and self.offset < end:
            rows, next_offset, _ = self._log.scan(self.offset, end, max_records, check_crc=False)
            if next_offset == self.offset:
                if self._is_partial(next_offset, end):
                    break
                raise CorruptRecord(
                    f"the record at commit log offset {next_offset} cannot be read",
                    commit_log_offset=next_offset,
                )
            arrivals = self.apply(rows)
            self.offset = next_offset
            self._mark(next_offset)
        return arrivals

    def _mark(self, offset: int) -> None:
        """Remember a few record boundaries, the oldest `verify_on_open_bytes` behind or more."""
        marks = self._marks
        if offset - marks[-1] >= self._verify_bytes // _MARKS:
            marks.append(offset)
            while len(marks) > 1 and offset - marks[1] >= self._verify_bytes:
                marks.popleft()

    def _is_partial(self, commit_log_offset: int, end: int) -> bool:
        """On a slave the log may end in the middle of a record, whose rest is still to come."""
        head = self._log.read(commit_log_offset, _SIZE_AND_MAGIC)[: end - commit_log_offset]
        return len(head) < _SIZE_AND_MAGIC or commit_log_offset + int.from_bytes(head[:4], "big") > end

    def apply(
        self, rows: list[Row], *, index_from: int = 0, only: set[QueueKey] | None = None
    ) -> list[Arrival]:
        """Write the rows' units and index entries. Recovery narrows it: entries for records from `index_from`
        on, and units of the queues in `only`."""
        runs: dict[QueueKey, _Run] = {}
        arrivals: list[Arrival] = []
        # fmt: off
        for (
            _, size, topic, queue_id, queue_offset, offset, sys_flag, store_time, tags_code, _, _, _, level
        ) in rows:
            # fmt: on
            if sys_flag & TRANSACTION_MASK not in _QUEUED:
                continue
            key = (topic, queue_id)
            if only is not None and key not in only:
                continue
            if level and topic == SCHEDULE_TOPIC:
                tags_code = store_time + self._delay_ms(level)
            run = runs.get(key)
            if run is None or run.next != queue_offset:
                if run is not None:
                    self._write(key, run)
                run = runs[key] = _Run(queue_offset)
            run.units += _pack_unit(offset, size, tags_code)
            run.next = queue_offset = queue_offset + 1
            arrivals.append(_new_tuple(Arrival, (topic, queue_id, queue_offset, tags_code)))
        for key, run in runs.items():
            self._write(key, run)
        if self._index is not None:
            self._index.put(_index_entries(rows, index_from))
        if rows:
            self.store_timestamp = max(self.store_timestamp, rows[-1][7])
        self._stats.dispatched_count += len(rows)
        return arrivals

    def unit_of(self, row: Row) -> bytes:
        """The queue unit that a record leads to."""
        tags_code = row[8]
        if row[12] and row[2] == SCHEDULE_TOPIC:
            tags_code = row[7] + self._delay_ms(row[12])
        return _pack_unit(row[5], row[1], tags_code)

    def _delay_ms(self, level: int) -> int:
        levels = self._delay_level_ms
        return levels[min(level, len(levels)) - 1] if levels else 0

    def _write(self, key: QueueKey, run: _Run) -> None:
        queue = self._queues.get_or_make(*key)
        if queue is None:
            self._stats.unnamable_count += len(run.units) // CQ_UNIT_SIZE
        else:
            queue.write(run.first, run.units)


def _index_entries(rows: list[Row], index_from: int) -> list[tuple[int, int, int]]:
    """(key hash, commit log offset, store time) for the unique key and for each key of each record."""
    entries = []
    for _, _, topic, _, _, offset, sys_flag, store_timestamp, _, uniq_key, keys, _, _ in rows:
        if offset < index_from or sys_flag & TRANSACTION_MASK == TRANSACTION_ROLLBACK:
            continue
        if uniq_key:
            entries.append((index_key_hash(topic, uniq_key), offset, store_timestamp))
        if keys:
            for key in keys.split():
                entries.append((index_key_hash(topic, key), offset, store_timestamp))
    return entries

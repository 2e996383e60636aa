"""Searches by key and by time (`store.search`).

Planned on the writer's thread, where places become files and positions; what has a `run` needs nothing of the
store and may wait for the disk in any thread. A place that is gone or blank has the time -1.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from engine.protocol.layouts.store_files import CQ_UNIT, CQ_UNIT_SIZE
from engine.protocol.record_layout import STORE_TIMESTAMP_END, store_time_of
from engine.store.index.index import Index
from engine.store.index.key_search import KeySearch
from engine.store.log.commit_log import CommitLog
from engine.store.queues.consume_queue import BLANK_UNIT_SIZE, ConsumeQueue
from engine.store.queues.consume_queues import ConsumeQueues
from engine.store.reading.record_reads import LogView, OpenFiles, view_log
from engine.store.results import QueryResult

UNKNOWN_MS = -1
Place = tuple[str, int, int]
"""Topic, queue id, queue offset."""


@dataclass(frozen=True, slots=True)
class StoreTimes:
    """Store times of messages here and there, read in one go."""

    places: tuple[Place, ...]
    units: tuple[tuple[str, int] | None, ...]
    """For each place the queue's file and the position in it; None: the queue does not have it."""
    log: LogView

    def run(self) -> list[int]:
        files = OpenFiles()
        try:
            return [UNKNOWN_MS if unit is None else self._read(files, *unit) for unit in self.units]
        finally:
            files.close()

    def _read(self, files: OpenFiles, path: str, pos: int) -> int:
        # Not through `files`: there may be as many queue files as places.
        queue_files = OpenFiles()
        try:
            fd = queue_files.get(path)
            data = os.pread(fd, CQ_UNIT_SIZE, pos) if fd >= 0 else b""
        finally:
            queue_files.close()
        if len(data) < CQ_UNIT_SIZE:
            return UNKNOWN_MS
        commit_log_offset, size, _ = CQ_UNIT.unpack(data)
        if not 0 < size < BLANK_UNIT_SIZE:
            return UNKNOWN_MS
        found = self.log.store_time_ms(files, commit_log_offset)
        return UNKNOWN_MS if found is None else found


class MessageSearch:
    def __init__(self, log: CommitLog, queues: ConsumeQueues, index: Index | None) -> None:
        self._log = log
        self._queues = queues
        self._index = index

    def plan(
        self, topic: str, key: str, max_num: int, begin_ms: int, end_ms: int, continuation: str | None = None
    ) -> KeySearch:
        """A search by key: `run` it in any thread."""
        index = self._index
        return KeySearch(
            topic,
            key,
            max_num,
            begin_ms,
            end_ms,
            continuation,
            index.views() if index is not None else (),
            view_log(self._log),
            index.last_update if index is not None and max_num > 0 else (0, 0),
        )

    def query(self, topic: str, key: str, max_num: int, begin_ms: int, end_ms: int) -> QueryResult:
        """The messages with this key, at once."""
        return self.plan(topic, key, max_num, begin_ms, end_ms).run()

    def offset_by_time(self, topic: str, queue_id: int, timestamp_ms: int, upper: bool = False) -> int:
        """Lower: the first message stored at or after the time (the end when there is none). Upper: the last
        one stored at or before it (0 when there is none)."""
        queue = self._queues.get(topic, queue_id)
        if queue is None:
            return 0
        low = queue.min_offset(self._log.min_offset)
        border = timestamp_ms + 1 if upper else timestamp_ms
        first = queue.search(low, lambda unit: (self._store_time(unit[0]) or 0) >= border)
        if upper:
            return first - 1 if first > low else 0
        return first

    def earliest_store_time(self, topic: str, queue_id: int) -> int:
        """Store time of the queue's first message; -1 when it has none."""
        queue = self._queues.get(topic, queue_id)
        return UNKNOWN_MS if queue is None else self._time_at(queue, queue.min_offset(self._log.min_offset))

    def store_time_at(self, topic: str, queue_id: int, queue_offset: int) -> int:
        queue = self._queues.get(topic, queue_id)
        return UNKNOWN_MS if queue is None else self._time_at(queue, queue_offset)

    def plan_store_times(self, places: Sequence[Place]) -> StoreTimes:
        """`store_time_at` of many places: `run` it in any thread."""
        units = []
        for topic, queue_id, queue_offset in places:
            queue = self._queues.get(topic, queue_id)
            units.append(queue.unit_place(queue_offset) if queue is not None else None)
        return StoreTimes(tuple(places), tuple(units), view_log(self._log))

    def _time_at(self, queue: ConsumeQueue, queue_offset: int) -> int:
        unit = queue.unit(queue_offset)
        found = self._store_time(unit[0]) if unit is not None else None
        return UNKNOWN_MS if found is None else found

    def _store_time(self, commit_log_offset: int) -> int | None:
        """Store time of the record at a place that a queue gave."""
        return store_time_of(self._log.read(commit_log_offset, STORE_TIMESTAMP_END))

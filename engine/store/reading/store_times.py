"""Store times of messages here and there, read in one go.

Planned on the writer's thread, where a place becomes a file and a position; `run` needs nothing of the store
and may wait for the disk in any thread. A place that is gone or blank has the time -1.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from engine.protocol.layouts.store_files import CQ_UNIT, CQ_UNIT_SIZE
from engine.store.queues.consume_queue import BLANK_UNIT_SIZE
from engine.store.queues.consume_queues import ConsumeQueues
from engine.store.reading.record_reads import LogView, OpenFiles

UNKNOWN_MS = -1
Place = tuple[str, int, int]
"""Topic, queue id, queue offset."""


@dataclass(frozen=True, slots=True)
class StoreTimes:
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


def plan_store_times(queues: ConsumeQueues, log: LogView, places: Sequence[Place]) -> StoreTimes:
    units = []
    for topic, queue_id, queue_offset in places:
        queue = queues.get(topic, queue_id)
        units.append(queue.unit_place(queue_offset) if queue is not None else None)
    return StoreTimes(tuple(places), tuple(units), log)

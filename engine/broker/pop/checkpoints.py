"""Pops whose messages are not all acknowledged: the open messages of each, and when they are revived.

A copy in memory of the revive log; a change is appended to the log first. A checkpoint is closed when its
last message was acknowledged or put into the retry topic. The first open checkpoint of each revive queue is
where a start must begin to read. Pure: `now_ms` is passed in. Loop thread only.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from engine.protocol.bodies.pop import CheckpointKey, PopCheckpoint

BACK_OFF_S = (10, 20, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)


@dataclass(slots=True, eq=False)
class OpenCheckpoint:
    """`unacked` are queue offsets, ascending; a dict as an ordered set."""

    key: CheckpointKey
    unacked: dict[int, None]
    due_ms: int
    revive_queue_id: int
    revive_offset: int
    failures: int = 0

    @property
    def topic(self) -> str:
        return self.key[0]

    @property
    def group(self) -> str:
        return self.key[1]

    @property
    def queue_id(self) -> int:
        return self.key[2]


class Checkpoints:
    def __init__(self) -> None:
        self._by_key: dict[CheckpointKey, OpenCheckpoint] = {}
        self._by_place: dict[int, dict[int, OpenCheckpoint]] = {}
        self._due: list[tuple[int, int, OpenCheckpoint]] = []
        self._noted = 0

    def __len__(self) -> int:
        return len(self._by_key)

    def clear(self) -> None:
        self._by_key.clear()
        self._by_place.clear()
        self._due.clear()

    def find(self, key: CheckpointKey) -> OpenCheckpoint | None:
        return self._by_key.get(key)

    def open(self) -> list[OpenCheckpoint]:
        return list(self._by_key.values())

    def at(self, revive_queue_id: int, revive_offset: int) -> OpenCheckpoint | None:
        """The checkpoint at this place of the log."""
        return self._by_place.get(revive_queue_id, {}).get(revive_offset)

    def note(self, checkpoint: PopCheckpoint, revive_queue_id: int, revive_offset: int, due_ms: int) -> None:
        """A checkpoint at this place of the log. The log may hold it twice: the first counts."""
        if checkpoint.key in self._by_key:
            return
        unacked = dict.fromkeys(checkpoint.offsets())
        if unacked:
            entry = OpenCheckpoint(checkpoint.key, unacked, due_ms, revive_queue_id, revive_offset)
            self._by_key[entry.key] = entry
            self._by_place.setdefault(revive_queue_id, {})[revive_offset] = entry
            self._schedule(entry)

    def unacked_of(self, key: CheckpointKey, queue_offsets: Iterable[int]) -> list[int]:
        """Those that are still open."""
        entry = self._by_key.get(key)
        return [] if entry is None else [offset for offset in queue_offsets if offset in entry.unacked]

    def ack(self, key: CheckpointKey, queue_offsets: Iterable[int]) -> None:
        entry = self._by_key.get(key)
        if entry is None:
            return
        for offset in queue_offsets:
            entry.unacked.pop(offset, None)
        if not entry.unacked:
            del self._by_key[key]
            self._by_place[entry.revive_queue_id].pop(entry.revive_offset, None)

    def take_due(self, now_ms: int, limit: int) -> list[OpenCheckpoint]:
        """Checkpoints that are due. The caller either acknowledges or `put_off`s each of them."""
        taken: list[OpenCheckpoint] = []
        due = self._due
        while due and due[0][0] <= now_ms and len(taken) < limit:
            entry = heapq.heappop(due)[2]
            if entry.unacked:
                taken.append(entry)
        return taken

    def put_off(self, entry: OpenCheckpoint, now_ms: int) -> None:
        """It could not be revived: retried later, with a growing delay."""
        entry.due_ms = now_ms + 1000 * BACK_OFF_S[min(entry.failures, len(BACK_OFF_S) - 1)]
        entry.failures += 1
        self._schedule(entry)

    def first_open(self, revive_queue_id: int) -> int | None:
        """Offset of the oldest open checkpoint of this revive queue; None: all are closed."""
        return next(iter(self._by_place.get(revive_queue_id, ())), None)

    def _schedule(self, entry: OpenCheckpoint) -> None:
        self._noted += 1
        heapq.heappush(self._due, (entry.due_ms, self._noted, entry))

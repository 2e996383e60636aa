"""All consume queues of the store, found by topic and queue id.

A topic becomes a folder here, so a queue is only ever made for a name that `protocol.names` allows, whether
the name came from a send, from a replica or from a record found during recovery.
"""

from __future__ import annotations

import contextlib
import os
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path

from engine.protocol.layouts.store_files import CQ_UNIT_SIZE
from engine.protocol.names import is_valid_topic
from engine.store.flushing.file_sync import FileSync
from engine.store.queues.consume_queue import ConsumeQueue
from engine.store.queues.descriptors import Descriptors
from engine.store.queues.queue_survey import survey_queues
from engine.store.results import QueueKey

_ID = attrgetter("queue_id")


class ConsumeQueues:
    def __init__(self, directory: Path, file_size: int, max_open_files: int) -> None:
        self._directory = str(directory)
        self._file_units = file_size // CQ_UNIT_SIZE
        self.descriptors = Descriptors(max_open_files)
        self.file_sync = FileSync(self._directory)
        self.dirty: set[str] = set()
        """Files with bytes that no sync has covered yet."""
        self.table: dict[QueueKey, ConsumeQueue] = {}
        self._of_topic: dict[str, list[ConsumeQueue]] = {}
        """The same queues, by id: one look-up for all queues of a topic."""
        self.when_made: Callable[[str], object] = lambda topic: None
        """Called with the topic of a queue that was not there before."""

    def load(self) -> list[QueueKey]:
        """Find the queues on disk; the keys of those whose files contradict each other (now empty)."""
        os.makedirs(self._directory, exist_ok=True)
        self.file_sync.open()
        damaged = []
        for topic, queue_id, found in survey_queues(self._directory, self._file_units):
            queue = self._make(topic, queue_id)
            if found is None:
                queue.delete()
                damaged.append((topic, queue_id))
            else:
                queue.take_survey(found)
            self._add(queue)
        return damaged

    def _make(self, topic: str, queue_id: int) -> ConsumeQueue:
        return ConsumeQueue(
            topic,
            queue_id,
            f"{self._directory}/{topic}/{queue_id}",
            file_units=self._file_units,
            descriptors=self.descriptors,
            dirty=self.dirty,
        )

    def get(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        return self.table.get((topic, queue_id))

    def get_or_make(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        """The queue; None when the name cannot be a folder. The folder appears with the first unit."""
        queue = self.table.get((topic, queue_id))
        if queue is None and queue_id >= 0 and is_valid_topic(topic):
            queue = self._make(topic, queue_id)
            self._add(queue)
            self.when_made(topic)
        return queue

    def _add(self, queue: ConsumeQueue) -> None:
        self.table[queue.topic, queue.queue_id] = queue
        insort(self._of_topic.setdefault(queue.topic, []), queue, key=_ID)

    def delete(self, queue: ConsumeQueue) -> None:
        del self.table[queue.topic, queue.queue_id]
        of_topic = self._of_topic[queue.topic]
        of_topic.remove(queue)
        if not of_topic:
            del self._of_topic[queue.topic]
        queue.delete()
        with contextlib.suppress(OSError):  # another queue is still in it
            os.rmdir(f"{self._directory}/{queue.topic}")

    def ends(self) -> Iterator[tuple[QueueKey, int]]:
        return ((key, queue.end) for key, queue in self.table.items())

    def drop_expired(self, log_min_offset: int) -> list[str]:
        return [path for queue in self.table.values() for path in queue.drop_expired(log_min_offset)]

    def of_topic(self, topic: str) -> Sequence[ConsumeQueue]:
        return self._of_topic.get(topic, ())

    def topics(self) -> list[str]:
        return sorted(self._of_topic)

    def close(self) -> None:
        self.descriptors.close()
        self.file_sync.close()

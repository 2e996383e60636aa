"""All consume queues of the store, found by topic and queue id.

A topic becomes a folder here, so a queue is only ever made for a name that `protocol.names` allows, whether
the name came from a send, from a replica or from a record found during recovery.
"""

from __future__ import annotations

import os
from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path

from engine.protocol.layouts.store_files import CQ_UNIT_SIZE
from engine.protocol.names import is_valid_topic
from engine.store.flushing.file_sync import FileSync
from engine.store.queues.consume_queue import ConsumeQueue
from engine.store.queues.descriptors import Descriptors
from engine.store.queues.queue_offsets import QueueKey
from engine.store.queues.queue_survey import survey_queues

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
        """The same queues, by id: one look-up for who wants all of a topic."""
        self.when_made: Callable[[str], object] = _nobody
        """Told the topic of a queue that was not there before."""

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

    def _delete(self, queue: ConsumeQueue) -> None:
        del self.table[queue.topic, queue.queue_id]
        of_topic = self._of_topic[queue.topic]
        of_topic.remove(queue)
        if not of_topic:
            del self._of_topic[queue.topic]
        queue.delete()

    def ends(self) -> Iterator[tuple[QueueKey, int]]:
        return ((key, queue.end) for key, queue in self.table.items())

    def bounds(self, topics: Iterable[str], log_min_offset: int) -> list[list[tuple[int, int, int]]]:
        """For each topic: id, lowest offset and end of its queues, those that hold or held a message."""
        of_topic = self._of_topic.get
        if not log_min_offset:  # before the log has lost its beginning, so has no queue
            return [[(q.queue_id, 0, q.end) for q in of_topic(topic, ()) if q.end] for topic in topics]
        return [
            [(q.queue_id, q.min_offset(log_min_offset), q.end) for q in of_topic(topic, ()) if q.end]
            for topic in topics
        ]

    def queue_ids(self) -> dict[str, list[int]]:
        return {
            topic: [queue.queue_id for queue in self._of_topic[topic]] for topic in sorted(self._of_topic)
        }

    def delete_topic(self, topic: str) -> int:
        """Delete the topic's queues and folder; how many there were."""
        queues = list(self._of_topic.get(topic, ()))
        for queue in queues:
            self._delete(queue)
        if queues:
            _remove_empty_folder(f"{self._directory}/{topic}")
        return len(queues)

    def drop_expired(self, log_min_offset: int) -> list[str]:
        return [path for queue in self.table.values() for path in queue.drop_expired(log_min_offset)]

    def delete_dead(self, log_min_offset: int) -> list[QueueKey]:
        """Delete queues of which the log holds nothing any more; their offsets live on in the caller's
        table."""
        dead = [
            queue
            for queue in self.table.values()
            if queue.end > queue.first and queue.min_offset(log_min_offset) >= queue.end
        ]
        for queue in dead:
            self._delete(queue)
            _remove_empty_folder(f"{self._directory}/{queue.topic}")
        return [(queue.topic, queue.queue_id) for queue in dead]

    def close(self) -> None:
        self.descriptors.close()
        self.file_sync.close()


def _nobody(topic: str) -> None:
    """Nobody wants to know."""


def _remove_empty_folder(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        return  # another queue is still in it

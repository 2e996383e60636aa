"""Message queues as consumers see them (`store.queues`): pulls, dispatch, bounds, single units, deletion.

A queue exists from its first message on and keeps its offsets when retention has deleted all its messages;
one that does not exist has the offsets 0 and 0. One thread; only `read_cold` may run in others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from engine.protocol.layouts.store_files import CQ_UNIT
from engine.store.log.commit_log import CommitLog
from engine.store.log.message_log import QueueOffsets
from engine.store.queues.consume_queue import ConsumeQueue
from engine.store.queues.consume_queues import ConsumeQueues
from engine.store.queues.dispatch import Dispatcher
from engine.store.reading.reader import Reader
from engine.store.results import QueueKey, QueueUnit


class MessageQueues:
    def __init__(
        self,
        log: CommitLog,
        table: ConsumeQueues,
        offsets: QueueOffsets,
        dispatcher: Dispatcher,
        reader: Reader,
    ) -> None:
        self._log = log
        self._table = table
        self._offsets = offsets
        self._dispatcher = dispatcher
        # The hot path calls these without a method of ours in between.
        self.get = reader.get
        self.wanted_at = reader.wanted_at
        self.read_cold = reader.read_cold
        self.dispatch = dispatcher.dispatch
        self.has_undispatched = dispatcher.has_work

    @property
    def dispatched_offset(self) -> int:
        """Commit-log offset up to which messages are in their queues and in the index."""
        return self._dispatcher.offset

    def take_touched(self) -> set[QueueKey]:
        """The queues that messages came to since the last call."""
        touched, self._dispatcher.touched = self._dispatcher.touched, set()
        return touched

    def when_made(self, notify: Callable[[str], object]) -> None:
        """`notify` is called with the topic of each new queue."""
        self._table.when_made = notify

    def is_hot(self, topic: str, queue_id: int, queue_offset: int) -> bool:
        """Whether the message is likely to be in memory."""
        queue = self._table.get(topic, queue_id)
        unit = queue.unit(queue_offset) if queue is not None else None
        return unit is not None and unit[0] >= self._log.hot_from

    # Bounds and units

    def min_offset(self, topic: str, queue_id: int) -> int:
        queue = self._table.get(topic, queue_id)
        return queue.min_offset(self._log.min_offset) if queue is not None else 0

    def max_offset(self, topic: str, queue_id: int) -> int:
        queue = self._table.get(topic, queue_id)
        return queue.end if queue is not None else 0

    def bounds(self, topics: Iterable[str]) -> list[list[tuple[int, int, int]]]:
        """For each topic: id, lowest offset and end of its queues, those that hold or held a message."""
        of_topic, log_min = self._table.of_topic, self._log.min_offset
        if not log_min:  # while the log has its beginning, every queue has its own
            return [[(q.queue_id, 0, q.end) for q in of_topic(topic) if q.end] for topic in topics]
        return [
            [(q.queue_id, q.min_offset(log_min), q.end) for q in of_topic(topic) if q.end] for topic in topics
        ]

    def units(self, topic: str, queue_id: int, queue_offset: int, count: int) -> list[QueueUnit]:
        """Units from the offset on, as many as one file holds of them."""
        queue = self._table.get(topic, queue_id)
        data = queue.read(queue_offset, count) if queue is not None else b""
        return [
            QueueUnit(number, *unit) for number, unit in enumerate(CQ_UNIT.iter_unpack(data), queue_offset)
        ]

    def ids_by_topic(self) -> dict[str, list[int]]:
        table = self._table
        return {topic: [queue.queue_id for queue in table.of_topic(topic)] for topic in table.topics()}

    # Deletion

    def delete_topic(self, topic: str) -> int:
        """Delete the topic's queues at once; its records go with their segments. The number of queues."""
        self._offsets.forget_topic(topic)
        return self._delete(list(self._table.of_topic(topic)))

    def delete_expired(self) -> list[QueueKey]:
        """Delete the queues of which the log holds nothing any more; their offsets go on."""
        log_min = self._log.min_offset
        expired = [
            queue
            for queue in self._table.table.values()
            if queue.end > queue.first and queue.min_offset(log_min) >= queue.end
        ]
        self._delete(expired)
        return [(queue.topic, queue.queue_id) for queue in expired]

    def _delete(self, queues: list[ConsumeQueue]) -> int:
        for queue in queues:
            self._table.delete(queue)
        return len(queues)

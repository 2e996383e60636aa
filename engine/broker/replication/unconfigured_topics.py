"""Topics that a slave knows by the log alone: their messages were copied before their configuration was.

A slave asks for topics by the clock. A master that dies in between would leave acknowledged messages in a
topic that nobody knows. So the first message of such a topic has the master asked at once; and where there is
no master to ask (it is gone, or this broker becomes one) the topic is made here, with as many queues as its
messages lie in. Loop thread only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from engine.broker.topics.topic_table import MAX_QUEUES_PER_TOPIC, TOPICS_FILE, TopicTable
from engine.protocol.bodies.topics import TopicConfig

log = logging.getLogger(__name__)


class Strangers:
    def __init__(
        self,
        topics: TopicTable,
        queue_ids: Callable[[], Mapping[str, list[int]]],
        *,
        save: Callable[[str], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._topics = topics
        self._queue_ids = queue_ids
        self._save = save
        self._now_ms = now_ms
        self._names: set[str] = set()

    def note(self, topic: str) -> bool:
        """A queue of this topic was made; whether the topic is one of them."""
        if topic in self._topics:
            return False
        self._names.add(topic)
        return True

    def names(self) -> frozenset[str]:
        return frozenset(self._names)

    def forget(self, names: frozenset[str]) -> None:
        """The master was asked after these were noted: its table has them, or they were deleted."""
        self._names -= names

    def adopt(self) -> None:
        """There is nobody to ask. A later answer of a master replaces what was made."""
        unknown = [topic for topic in self._names if topic not in self._topics]
        self._names.clear()
        if not unknown:
            return
        ids, now_ms = self._queue_ids(), self._now_ms()
        for topic in sorted(unknown):
            queues = min(max(ids.get(topic, ()), default=-1) + 1, MAX_QUEUES_PER_TOPIC)
            if queues:
                self._topics.put(TopicConfig(topic, queues, queues), now_ms)
                log.warning(
                    "topic %s is known by its messages alone: made with %d queues, set what is wanted with "
                    "updateTopic",
                    topic,
                    queues,
                )
        self._save(TOPICS_FILE)

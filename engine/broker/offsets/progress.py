"""How far groups are behind on the queues of a topic (208, 303, 317, metrics), and since when.

Reads the tables and the store's queue ends; decides nothing. Only topics that the group has offsets of are
looked at, never all topics of the broker.

`UnreadTimes` are the store times of the oldest unread message of each group and queue. These messages lie
anywhere in the log, so a thread reads them; until then a time is unknown. One round reads a bounded number,
in the order of asking; the others wait for the next. Loop thread only, but for the plan that `take_wanted`
returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.broker.admin.table_pages import SLICE
from engine.broker.clients.client_tables import ConsumerTable
from engine.broker.offsets.offset_table import ConsumerOffsets
from engine.broker.stats.broker_stats import BrokerStats
from engine.broker.topics.topic_table import TopicTable
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.stats import OffsetWrapper, QueueTimeSpan
from engine.protocol.bodies.topics import TopicConfig
from engine.store.queues.message_queues import MessageQueues
from engine.store.reading.message_search import MessageSearch, StoreTimes


@dataclass(eq=False, repr=False)
class ConsumeProgress:
    broker_name: str
    topics: TopicTable
    offsets: ConsumerOffsets
    consumers: ConsumerTable[Any]
    queues: MessageQueues
    search: MessageSearch
    stats: BrokerStats

    def topics_of(self, group: str, names: Iterable[str] = ()) -> list[TopicConfig]:
        """`names`, or all topics that it has offsets of, without those that an online group unsubscribed."""
        online = self.consumers.group(group)
        found = (self.topics.get(topic) for topic in names or self.offsets.topics_of(group))
        return [
            topic
            for topic in found
            if topic is not None
            and (online is None or not online.subscriptions or topic.topic_name in online.subscriptions)
        ]

    def gather(
        self, group: str, topic: TopicConfig, table: dict[MessageQueue, OffsetWrapper]
    ) -> Iterator[None]:
        """Fill `table` with the topic's queues; stops after every slice, so that others may run."""
        for queue_id in range(topic.read_queue_nums):
            queue = MessageQueue(topic.topic_name, self.broker_name, queue_id)
            table[queue] = self._progress(group, topic.topic_name, queue_id)
            if queue_id % SLICE == SLICE - 1:
                yield

    def rate(self, group: str, topics: Iterable[TopicConfig], now_ms: int) -> float:
        """Messages per second that the group takes from these topics."""
        return sum(self.stats.get_rate(topic.topic_name, group, now_ms) for topic in topics)

    def _progress(self, group: str, topic: str, queue_id: int) -> OffsetWrapper:
        consumed = self.offsets.committed(topic, group, queue_id) or 0
        consumed_ms = self.search.store_time_at(topic, queue_id, consumed - 1) if consumed else 0
        return OffsetWrapper(
            broker_offset=max(0, self.queues.max_offset(topic, queue_id)),
            consumer_offset=consumed,
            pull_offset=self.offsets.pulled(topic, group, queue_id),
            last_timestamp=max(0, consumed_ms),
        )

    def lags(self) -> Iterator[tuple[str, str, int]]:
        """(group, topic, messages not consumed yet) of all that ever committed; never reads a record."""
        for topic, group in self.offsets.pairs():
            config = self.topics.get(topic)
            if config is not None:
                lag = sum(
                    max(0, self.queues.max_offset(topic, queue_id) - max(0, queue_offset))
                    for queue_id, queue_offset in self.offsets.queues(topic, group).items()
                )
                yield group, topic, lag

    def time_spans(self, group: str, topic: TopicConfig, now_ms: int) -> list[QueueTimeSpan]:
        return [
            self._time_span(group, topic.topic_name, queue_id, now_ms)
            for queue_id in range(topic.write_queue_nums)
        ]

    def _time_span(self, group: str, topic: str, queue_id: int, now_ms: int) -> QueueTimeSpan:
        """Store times of the queue's first and last message and of the last one consumed (−1: none)."""
        first_ms = self.search.earliest_store_time(topic, queue_id)
        end = self.queues.max_offset(topic, queue_id)
        consumed = self.offsets.committed(topic, group, queue_id) or 0
        consumed_ms = self.search.store_time_at(topic, queue_id, consumed - 1) if consumed > 0 else first_ms
        waiting_ms = self.search.store_time_at(topic, queue_id, consumed) if consumed < end else -1
        return QueueTimeSpan(
            message_queue=MessageQueue(topic, self.broker_name, queue_id),
            min_time_stamp=first_ms,
            max_time_stamp=self.search.store_time_at(topic, queue_id, end - 1) if end > 0 else -1,
            consume_time_stamp=consumed_ms,
            delay_time=max(0, now_ms - waiting_ms) if waiting_ms > 0 else 0,
        )


MAX_READS = 2_000
"""Of one round: some tens of milliseconds, nearly all of it in system calls."""
MAX_KNOWN_OF_TOPIC = 1_000

Pair = tuple[str, str]
"""(topic, group)"""
QueuePlace = tuple[int, int]
"""Queue id and queue offset."""
_NOTHING: dict[QueuePlace, int] = {}


class UnreadTimes:
    def __init__(self, search: MessageSearch) -> None:
        self._search = search
        self._known: dict[str, dict[QueuePlace, int]] = {}
        self._wanted: dict[Pair, list[QueuePlace]] = {}
        self._wanted_count = 0
        self._unfinished: dict[Pair, None] = {}
        """Pairs that did not fit into the round, in the order of asking."""

    def known_of(self, topic: str) -> Mapping[QueuePlace, int]:
        """Store times by place; negative: it could not be read."""
        return self._known.get(topic, _NOTHING)

    def forget(self, topic: str) -> None:
        self._known.pop(topic, None)

    @property
    def is_full(self) -> bool:
        return self._wanted_count >= MAX_READS

    def postpone(self, pairs: Iterable[Pair]) -> None:
        """To be looked at again in a later round."""
        self._unfinished.update(dict.fromkeys(pairs))

    def want(self, pair: Pair, places: list[QueuePlace]) -> None:
        """The places to read for this pair; they replace earlier ones."""
        if self._wanted_count >= MAX_READS:
            self.postpone((pair,))
        else:
            self._wanted_count += len(places) - len(self._wanted.get(pair, ()))
            self._wanted[pair] = places

    def take_unfinished(self) -> list[Pair]:
        """Pairs to be looked at again, because more was missing than one round reads."""
        return [self._unfinished.popitem()[0] for _ in range(min(len(self._unfinished), MAX_READS // 2))]

    def take_wanted(self) -> tuple[StoreTimes, set[Pair]] | None:
        """What to read next, in any thread, and the pairs that it is for; None: nothing is missing."""
        if not self._wanted:
            return None
        wanted, self._wanted, self._wanted_count = self._wanted, {}, 0
        places = dict.fromkeys((pair[0], *place) for pair, missing in wanted.items() for place in missing)
        return self._search.plan_store_times(list(places)), set(wanted)

    def note(self, read: StoreTimes, times_ms: list[int]) -> None:
        """What was read; negative: it could not be."""
        for (topic, queue_id, queue_offset), time_ms in zip(read.places, times_ms, strict=True):
            known = self._known.get(topic)
            if known is None or len(known) >= MAX_KNOWN_OF_TOPIC:
                # Read again if a group is still at these offsets.
                known = self._known[topic] = {}
            known[queue_id, queue_offset] = time_ms

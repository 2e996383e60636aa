"""Who consumes what, and how far: 208 and 317 progress, 303 times, 300, 343 and 345 topics and groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from engine.broker.admin.table_pages import SLICE, gathered, table_reply
from engine.broker.clients.client_tables import ConsumerTable
from engine.broker.groups.group_table import SubscriptionGroupTable
from engine.broker.offsets.offset_table import ConsumerOffsets
from engine.broker.offsets.progress import ConsumeProgress
from engine.broker.topics.topic_rules import no_such_topic
from engine.broker.topics.topic_table import TopicTable
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply
from engine.protocol.bodies.basics import GroupList, MessageQueue, TopicList
from engine.protocol.bodies.groups import QuerySubscriptionResponseBody
from engine.protocol.bodies.stats import (
    ConsumeStats,
    ConsumeStatsList,
    OffsetWrapper,
    QueryConsumeTimeSpanBody,
)
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.groups import QuerySubscriptionByConsumerRequest, QueryTopicsByConsumerRequest
from engine.protocol.headers.offsets import (
    GetBrokerConsumeStatsRequest,
    GetConsumeStatsRequest,
    QueryConsumeTimeSpanRequest,
)
from engine.protocol.headers.topics import QueryTopicConsumeByWhoRequest


class ProgressHandlers:
    def __init__(
        self,
        broker_address: str,
        progress: ConsumeProgress,
        topics: TopicTable,
        groups: SubscriptionGroupTable,
        offsets: ConsumerOffsets,
        consumers: ConsumerTable[Connection],
        *,
        now_ms: Callable[[], int],
    ) -> None:
        self._broker_address = broker_address
        self._progress = progress
        self._topics = topics
        self._groups = groups
        self._offsets = offsets
        self._consumers = consumers
        self._now_ms = now_ms

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.GET_CONSUME_STATS: self.group_progress,
            RequestCode.GET_BROKER_CONSUME_STATS: self.broker_progress,
            RequestCode.QUERY_CONSUME_TIME_SPAN: self.time_spans,
            RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: self.groups_of_topic,
            RequestCode.QUERY_TOPICS_BY_CONSUMER: self.topics_of_group,
            RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER: self.subscription,
        }

    def group_progress(self, request: Command, client: Connection) -> Outcome:
        header = GetConsumeStatsRequest.decode(request.fields)
        group = header.consumer_group
        topics = self._progress.topics_of(group, header.topics)
        table: dict[MessageQueue, OffsetWrapper] = {}

        def finish() -> Outcome:
            rate = self._progress.rate(group, topics, self._now_ms())
            return table_reply(ConsumeStats(table, rate), len(table))

        slices = (None for topic in topics for _ in self._progress.gather(group, topic, table))
        return gathered(slices, finish)

    def broker_progress(self, request: Command, client: Connection) -> Outcome:
        """Every group on every topic it has offsets of; with is_order only the ordered topics."""
        only_ordered = GetBrokerConsumeStatsRequest.decode(request.fields).is_order
        found: dict[str, list[ConsumeStats]] = {}

        def finish() -> Outcome:
            stats = [one for several in found.values() for one in several]
            body = ConsumeStatsList(
                tuple({group: tuple(several)} for group, several in found.items()),
                self._broker_address,
                sum(one.total_lag for one in stats),
                sum(one.total_inflight for one in stats),
            )
            return table_reply(body, sum(len(one.offset_table) for one in stats))

        return gathered(self._gather_groups(only_ordered, found), finish)

    def _gather_groups(self, only_ordered: bool, found: dict[str, list[ConsumeStats]]) -> Iterator[None]:
        entries = 0
        for group in self._groups.names():
            for topic in self._progress.topics_of(group):
                if only_ordered and not topic.order:
                    continue
                table: dict[MessageQueue, OffsetWrapper] = {}
                yield from self._progress.gather(group, topic, table)
                rate = self._progress.rate(group, [topic], self._now_ms())
                found.setdefault(group, []).append(ConsumeStats(table, rate))
                entries += len(table)
                if entries >= SLICE:
                    entries = 0
                    yield

    def time_spans(self, request: Command, client: Connection) -> Outcome:
        header = QueryConsumeTimeSpanRequest.decode(request.fields)
        topic = self._topics.get(header.topic)
        if topic is None:
            raise no_such_topic(header.topic)
        spans = self._progress.time_spans(header.group, topic, self._now_ms())
        return table_reply(QueryConsumeTimeSpanBody(tuple(spans)), len(spans))

    def groups_of_topic(self, request: Command, client: Connection) -> Outcome:
        """Those online and those that left an offset."""
        topic = QueryTopicConsumeByWhoRequest.decode(request.fields).topic
        groups = {*self._consumers.groups_reading(topic), *self._offsets.groups_of(topic)}
        return Reply(body=GroupList(tuple(sorted(groups))).encode())

    def topics_of_group(self, request: Command, client: Connection) -> Outcome:
        group = QueryTopicsByConsumerRequest.decode(request.fields).group
        return Reply(body=TopicList(tuple(sorted(self._offsets.topics_of(group)))).encode())

    def subscription(self, request: Command, client: Connection) -> Outcome:
        """What the group's online members subscribe to; nothing when nobody is online."""
        header = QuerySubscriptionByConsumerRequest.decode(request.fields)
        data = self._consumers.subscription(header.group, header.topic or "")
        return Reply(body=QuerySubscriptionResponseBody(header.group, header.topic, data).encode())

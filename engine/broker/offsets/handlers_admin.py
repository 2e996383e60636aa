"""Offsets and progress for administrators: 222 reset, 308 correct, 314 clone, 43 and 45 whole tables; 208 and
317 progress, 303 times, 300, 343 and 345 topics and groups.

A reset is done here, not by the clients: the offset is written and marked, and the group's next pull of that
queue is sent to it, a held one at once; so it works for groups that are offline too. With
useServerSideResetOffset=false the members online are asked to reset (220), and nothing is written here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from engine.broker.admin.table_pages import SLICE, gathered, table_reply
from engine.broker.clients.client_tables import ConsumerTable
from engine.broker.delivery.delay_levels import DelayOffsets
from engine.broker.groups.group_table import SubscriptionGroupTable
from engine.broker.offsets.offset_table import OFFSETS_FILE, ConsumerOffsets
from engine.broker.offsets.progress import ConsumeProgress
from engine.broker.pulling.long_polls import ALL_QUEUES
from engine.broker.settings.options import LiveOptions
from engine.broker.topics.topic_rules import found_topic, no_such_group
from engine.broker.topics.topic_table import TopicTable
from engine.errors import BadRequest, NotFound, Refused
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Persist, Reply
from engine.protocol.bodies.basics import GroupList, MessageQueue, TopicList
from engine.protocol.bodies.groups import QuerySubscriptionResponseBody
from engine.protocol.bodies.offsets import (
    ConsumerOffsetSerializeWrapper,
    QueryCorrectionOffsetBody,
    ResetOffsetBody,
)
from engine.protocol.bodies.stats import (
    ConsumeStats,
    ConsumeStatsList,
    OffsetWrapper,
    QueryConsumeTimeSpanBody,
)
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import LanguageCode, RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.groups import QuerySubscriptionByConsumerRequest, QueryTopicsByConsumerRequest
from engine.protocol.headers.offsets import (
    CloneGroupOffsetRequest,
    GetBrokerConsumeStatsRequest,
    GetConsumeStatsRequest,
    QueryConsumeTimeSpanRequest,
    QueryCorrectionOffsetRequest,
    ResetOffsetRequest,
)
from engine.protocol.headers.topics import QueryTopicConsumeByWhoRequest
from engine.protocol.names import check_group
from engine.store.queues.message_queues import MessageQueues
from engine.store.reading.message_search import MessageSearch

log = logging.getLogger(__name__)

TO_THE_END = -1
_ALL_QUEUES = -1
_NO_OFFSET = -1
NOT_COMPARABLE = 0x7FFFFFFFFFFFFFFF
_RESETTABLE_SINCE = 28
"""Clients before version 3.0.7 do not understand the request to reset."""


@dataclass(eq=False, repr=False)
class OffsetAdminHandlers:
    broker_name: str
    broker_address: str
    topics: TopicTable
    groups: SubscriptionGroupTable
    offsets: ConsumerOffsets
    consumers: ConsumerTable[Connection]
    queues: MessageQueues
    search: MessageSearch
    live: LiveOptions
    delays: DelayOffsets
    progress: ConsumeProgress
    wake: Callable[[Hashable], None]
    now_ms: Callable[[], int]

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: self.reset,
            RequestCode.QUERY_CORRECTION_OFFSET: self.correct,
            RequestCode.CLONE_GROUP_OFFSET: self.clone,
            RequestCode.GET_ALL_CONSUMER_OFFSET: self.all_offsets,
            RequestCode.GET_ALL_DELAY_OFFSET: self.delay_offsets,
            RequestCode.GET_CONSUME_STATS: self.group_progress,
            RequestCode.GET_BROKER_CONSUME_STATS: self.broker_progress,
            RequestCode.QUERY_CONSUME_TIME_SPAN: self.time_spans,
            RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: self.groups_of_topic,
            RequestCode.QUERY_TOPICS_BY_CONSUMER: self.topics_of_group,
            RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER: self.subscription,
        }

    # -- reset ----------------------------------------------------------------------------------------------

    def reset(self, request: Command, client: Connection) -> Outcome:
        header = ResetOffsetRequest.decode(request.fields)
        topic = found_topic(self.topics, header.topic)
        if not self.live.use_server_side_reset_offset:
            return self._reset_by_clients(header, topic, request.language)
        if header.group not in self.groups:
            raise no_such_group(header.group)
        wanted = self._wanted_offsets(header, topic)
        log.info("%s reset %s on %d queues of %s", client.peer_name, header.group, len(wanted), header.topic)
        for queue_id, queue_offset in wanted.items():
            self.offsets.reset(header.topic, header.group, queue_id, queue_offset)
            self.wake((header.topic, queue_id))
        self.wake((header.topic, ALL_QUEUES))
        return Persist(OFFSETS_FILE, Reply(body=self._reset_body(header.topic, wanted).encode()))

    def _wanted_offsets(self, header: ResetOffsetRequest, topic: TopicConfig) -> dict[int, int]:
        if header.queue_id == _ALL_QUEUES:
            return {
                queue_id: self._offset_at(header.topic, queue_id, header.timestamp)
                for queue_id in range(topic.read_queue_nums)
            }
        queue_id = header.queue_id
        if not 0 <= queue_id < max(topic.read_queue_nums, topic.write_queue_nums):
            raise BadRequest(f"{header.topic} has no queue {queue_id}")
        if header.offset is None or header.offset == _NO_OFFSET:
            return {queue_id: self._offset_at(header.topic, queue_id, header.timestamp)}
        queues = self.queues
        low, high = queues.min_offset(header.topic, queue_id), queues.max_offset(header.topic, queue_id)
        if not max(0, low) <= header.offset <= high + 1:
            raise BadRequest(
                f"the offset {header.offset} is outside {max(0, low)}..{high + 1} of queue {queue_id}"
            )
        return {queue_id: header.offset}

    def _offset_at(self, topic: str, queue_id: int, timestamp_ms: int) -> int:
        if timestamp_ms == TO_THE_END:
            return max(0, self.queues.max_offset(topic, queue_id))
        return max(0, self.search.offset_by_time(topic, queue_id, timestamp_ms))

    def _reset_body(self, topic: str, offsets: dict[int, int]) -> ResetOffsetBody:
        return ResetOffsetBody(
            {
                MessageQueue(topic, self.broker_name, queue_id): queue_offset
                for queue_id, queue_offset in offsets.items()
            }
        )

    def _reset_by_clients(self, header: ResetOffsetRequest, topic: TopicConfig, language: int) -> Outcome:
        """Sent to all members online, or refused before anything is sent."""
        online = self.consumers.group(header.group)
        if online is None:
            raise NotFound(
                f"no consumer of {header.group:.200} is online, so nobody can reset its offsets",
                code=ResponseCode.CONSUMER_NOT_ONLINE,
            )
        for info in online.clients.values():
            if info.version < _RESETTABLE_SINCE:
                raise Refused(f"the client {info.client_id:.200} is too old to reset its offsets")
        offsets = {
            queue_id: legacy_reset_offset(
                self.offsets.committed(header.topic, header.group, queue_id),
                self._offset_at(header.topic, queue_id, header.timestamp),
                header.is_force,
            )
            for queue_id in range(topic.write_queue_nums)
        }
        body = self._reset_body(header.topic, offsets)
        data = body.encode_list_form() if language == LanguageCode.CPP else body.encode()
        fields = {"topic": header.topic, "group": header.group, "timestamp": str(header.timestamp)}
        for member in list(online.clients):
            member.send_oneway(
                Command(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, fields=dict(fields), body=data)
            )
        return Reply(body=body.encode())

    # -- copies and tables ----------------------------------------------------------------------------------

    def correct(self, request: Command, client: Connection) -> Outcome:
        header = QueryCorrectionOffsetRequest.decode(request.fields)
        ignored = {name for name in (header.filter_groups or "").split(",") if name}
        others = [
            self.offsets.queues(header.topic, group)
            for group in self.offsets.groups_of(header.topic)
            if group not in ignored
        ]
        offsets = correction_offsets(others, self.offsets.queues(header.topic, header.compare_group))
        return Reply(body=QueryCorrectionOffsetBody(offsets).encode())

    def clone(self, request: Command, client: Connection) -> Outcome:
        """The topics of the source that still exist and, unless it is offline, are still subscribed to."""
        header = CloneGroupOffsetRequest.decode(request.fields)
        check_group(header.src_group)
        check_group(header.dest_group)
        topics = [header.topic] if header.topic else self.offsets.topics_of(header.src_group)
        online = None if header.offline else self.consumers.group(header.src_group)
        for topic in topics:
            is_left = online is not None and online.subscriptions and topic not in online.subscriptions
            if topic in self.topics and not is_left:
                self.offsets.clone(header.src_group, header.dest_group, topic)
        return Persist(OFFSETS_FILE, Reply())

    def all_offsets(self, request: Command, client: Connection) -> Outcome:
        table = {
            f"{topic}@{group}": self.offsets.queues(topic, group) for topic, group in self.offsets.pairs()
        }
        return table_reply(ConsumerOffsetSerializeWrapper(table, self.offsets.version), len(table))

    def delay_offsets(self, request: Command, client: Connection) -> Outcome:
        return Reply(body=self.delays.wrapper().encode())

    # -- progress -------------------------------------------------------------------------------------------

    def group_progress(self, request: Command, client: Connection) -> Outcome:
        header = GetConsumeStatsRequest.decode(request.fields)
        group = header.consumer_group
        topics = self.progress.topics_of(group, header.topics)
        table: dict[MessageQueue, OffsetWrapper] = {}

        def finish() -> Outcome:
            rate = self.progress.rate(group, topics, self.now_ms())
            return table_reply(ConsumeStats(table, rate), len(table))

        slices = (None for topic in topics for _ in self.progress.gather(group, topic, table))
        return gathered(slices, finish)

    def broker_progress(self, request: Command, client: Connection) -> Outcome:
        """Every group on every topic it has offsets of; with is_order only the ordered topics."""
        only_ordered = GetBrokerConsumeStatsRequest.decode(request.fields).is_order
        found: dict[str, list[ConsumeStats]] = {}

        def finish() -> Outcome:
            stats = [one for several in found.values() for one in several]
            body = ConsumeStatsList(
                tuple({group: tuple(several)} for group, several in found.items()),
                self.broker_address,
                sum(one.total_lag for one in stats),
                sum(one.total_inflight for one in stats),
            )
            return table_reply(body, sum(len(one.offset_table) for one in stats))

        return gathered(self._gather_groups(only_ordered, found), finish)

    def _gather_groups(self, only_ordered: bool, found: dict[str, list[ConsumeStats]]) -> Iterator[None]:
        entries = 0
        for group in self.groups.names():
            for topic in self.progress.topics_of(group):
                if only_ordered and not topic.order:
                    continue
                table: dict[MessageQueue, OffsetWrapper] = {}
                yield from self.progress.gather(group, topic, table)
                rate = self.progress.rate(group, [topic], self.now_ms())
                found.setdefault(group, []).append(ConsumeStats(table, rate))
                entries += len(table)
                if entries >= SLICE:
                    entries = 0
                    yield

    def time_spans(self, request: Command, client: Connection) -> Outcome:
        header = QueryConsumeTimeSpanRequest.decode(request.fields)
        topic = found_topic(self.topics, header.topic)
        spans = self.progress.time_spans(header.group, topic, self.now_ms())
        return table_reply(QueryConsumeTimeSpanBody(tuple(spans)), len(spans))

    def groups_of_topic(self, request: Command, client: Connection) -> Outcome:
        """Groups online and groups with an offset."""
        topic = QueryTopicConsumeByWhoRequest.decode(request.fields).topic
        groups = {*self.consumers.groups_reading(topic), *self.offsets.groups_of(topic)}
        return Reply(body=GroupList(tuple(sorted(groups))).encode())

    def topics_of_group(self, request: Command, client: Connection) -> Outcome:
        group = QueryTopicsByConsumerRequest.decode(request.fields).group
        return Reply(body=TopicList(tuple(sorted(self.offsets.topics_of(group)))).encode())

    def subscription(self, request: Command, client: Connection) -> Outcome:
        """What the group's online members subscribe to; nothing when nobody is online."""
        header = QuerySubscriptionByConsumerRequest.decode(request.fields)
        data = self.consumers.subscription(header.group, header.topic or "")
        return Reply(body=QuerySubscriptionResponseBody(header.group, header.topic, data).encode())


def legacy_reset_offset(committed: int | None, wanted: int, is_force: bool) -> int:
    """Without force, an offset is only moved back, never forward over unconsumed messages."""
    return wanted if is_force or committed is None or wanted < committed else committed


def correction_offsets(groups: Iterable[Mapping[int, int]], compared: Mapping[int, int]) -> dict[int, int]:
    """Queue to the smallest offset of all groups; if `compared` is behind all of them, there is none."""
    smallest: dict[int, int] = {}
    for queues in groups:
        for queue_id, queue_offset in queues.items():
            if queue_offset >= 0:
                smallest[queue_id] = min(queue_offset, smallest.get(queue_id, NOT_COMPARABLE))
    for queue_id, queue_offset in compared.items():
        if smallest.get(queue_id, NOT_COMPARABLE) > queue_offset:
            smallest[queue_id] = NOT_COMPARABLE
    return smallest

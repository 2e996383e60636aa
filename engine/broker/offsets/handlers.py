"""Offsets of groups and queues: 14 query, 15 commit, 29 by time, 30 max, 31 min, 32 earliest store time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.groups.group_table import GroupAdmission
from engine.broker.offsets.offset_table import ConsumerOffsets
from engine.broker.topics.topic_rules import no_such_topic
from engine.broker.topics.topic_table import MAX_QUEUES_PER_TOPIC, TopicTable
from engine.errors import NotFound, Refused
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.offsets import (
    GetEarliestMsgStoretimeRequest,
    GetMaxOffsetRequest,
    GetMinOffsetRequest,
    QueryConsumerOffsetRequest,
    SearchOffsetRequest,
    UpdateConsumerOffsetRequest,
)
from engine.store.queues.message_queues import MessageQueues
from engine.store.reading.message_search import MessageSearch


@dataclass(eq=False, repr=False)
class OffsetHandlers:
    topics: TopicTable
    groups: GroupAdmission
    offsets: ConsumerOffsets
    queues: MessageQueues
    message_search: MessageSearch
    now_ms: Callable[[], int]

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.QUERY_CONSUMER_OFFSET: self.query,
            RequestCode.UPDATE_CONSUMER_OFFSET: self.update,
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: self.search,
            RequestCode.GET_MAX_OFFSET: self.max_offset,
            RequestCode.GET_MIN_OFFSET: self.min_offset,
            RequestCode.GET_EARLIEST_MSG_STORETIME: self.earliest,
        }

    def query(self, request: Command, client: Connection) -> Outcome:
        """A group without an offset starts at 0 if the queue's first message is still in memory."""
        header = QueryConsumerOffsetRequest.decode(request.fields)
        topic, queue_id = header.topic, header.queue_id
        queue_offset = self.offsets.committed(topic, header.consumer_group, queue_id)
        if queue_offset is not None:
            return _offset(queue_offset)
        if header.set_zero_if_not_found is not False and self._has_hot_start(topic, queue_id):
            return _offset(0)
        raise NotFound(
            f"Not found, {header.consumer_group:.200} has no offset of {topic:.200} queue {queue_id}",
            code=ResponseCode.QUERY_NOT_FOUND,
        )

    def _has_hot_start(self, topic: str, queue_id: int) -> bool:
        """Whether the queue's very first message is still in memory."""
        if topic not in self.topics or self.queues.min_offset(topic, queue_id) > 0:
            return False
        return self.queues.is_hot(topic, queue_id, 0)

    def update(self, request: Command, client: Connection) -> Outcome:
        header = UpdateConsumerOffsetRequest.decode(request.fields)
        if header.topic not in self.topics:
            raise no_such_topic(header.topic)
        if header.consumer_group not in self.groups.table:
            self.groups.admit(header.consumer_group, self.now_ms(), client.remote[0])
        if not 0 <= header.queue_id < MAX_QUEUES_PER_TOPIC:
            raise Refused(f"queue id {header.queue_id} is illegal", code=ResponseCode.INVALID_PARAMETER)
        # Until the consumer's next pull takes the reset, its commits are outdated.
        if not self.offsets.has_reset(header.topic, header.consumer_group, header.queue_id):
            self.offsets.commit(header.topic, header.consumer_group, header.queue_id, header.commit_offset)
        return Reply()

    def search(self, request: Command, client: Connection) -> Outcome:
        header = SearchOffsetRequest.decode(request.fields)
        if header.topic not in self.topics:
            return _offset(0)
        return _offset(
            self.message_search.offset_by_time(
                header.topic, header.queue_id, header.timestamp, upper=header.wants_upper
            )
        )

    def max_offset(self, request: Command, client: Connection) -> Outcome:
        header = GetMaxOffsetRequest.decode(request.fields)
        known = header.topic in self.topics
        return _offset(self.queues.max_offset(header.topic, header.queue_id) if known else 0)

    def min_offset(self, request: Command, client: Connection) -> Outcome:
        header = GetMinOffsetRequest.decode(request.fields)
        known = header.topic in self.topics
        return _offset(self.queues.min_offset(header.topic, header.queue_id) if known else 0)

    def earliest(self, request: Command, client: Connection) -> Outcome:
        header = GetEarliestMsgStoretimeRequest.decode(request.fields)
        known = header.topic in self.topics
        time_ms = self.message_search.earliest_store_time(header.topic, header.queue_id) if known else -1
        return Reply(fields={"timestamp": str(time_ms)})


def _offset(queue_offset: int) -> Reply:
    return Reply(fields={"offset": str(queue_offset)})

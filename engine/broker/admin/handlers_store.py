"""The store as administrators see it: 306 and 316 clean queues, 329 deletes segments, 321 shows a queue."""

from __future__ import annotations

from collections.abc import Callable

from engine.broker.clients.client_tables import ConsumerTable
from engine.broker.pulling.filters import is_tag_type, tag_filter
from engine.broker.topics.topic_table import TopicTable
from engine.errors import BadRequest, NotFound, Refused
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply
from engine.protocol.bodies.clients import SubscriptionData
from engine.protocol.bodies.stats import ConsumeQueueData, QueryConsumeQueueResponseBody
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.pull import QueryConsumeQueueRequest
from engine.store.message_store import MessageStore

_MAX_UNITS = 1_024


class StoreAdminHandlers:
    def __init__(
        self,
        topics: TopicTable,
        consumers: ConsumerTable[Connection],
        store: MessageStore,
        *,
        delete_expired_soon: Callable[[], None],
        cleaning_refusal: Callable[[], str],
    ) -> None:
        self._topics = topics
        self._consumers = consumers
        self._store = store
        self._delete_expired_soon = delete_expired_soon
        self._cleaning_refusal = cleaning_refusal
        """Why nothing may be cleaned by hand here; empty where it may."""

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: self.clean_queues,
            RequestCode.CLEAN_UNUSED_TOPIC: self.clean_topics,
            RequestCode.DELETE_EXPIRED_COMMITLOG: self.delete_segments,
            RequestCode.QUERY_CONSUME_QUEUE: self.show_queue,
        }

    def clean_queues(self, request: Command, client: Connection) -> Outcome:
        self._check_cleaning()
        self._store.clean_expired_queues()
        return Reply()

    def clean_topics(self, request: Command, client: Connection) -> Outcome:
        """Queues of topics that no longer exist."""
        for topic in self._store.queue_table():
            if topic not in self._topics:
                self._store.delete_topic_queues(topic)
        return Reply()

    def delete_segments(self, request: Command, client: Connection) -> Outcome:
        """At the next cleaning, whatever the hour; what is too young stays."""
        self._check_cleaning()
        self._delete_expired_soon()
        return Reply()

    def _check_cleaning(self) -> None:
        if refusal := self._cleaning_refusal():
            raise Refused(refusal)

    def show_queue(self, request: Command, client: Connection) -> Outcome:
        """Units of a queue, and whether a group's subscription would let them through."""
        header = QueryConsumeQueueRequest.decode(request.fields)
        topic, queue_id = header.topic, header.queue_id
        config = self._topics.get(topic)
        if config is None or not 0 <= queue_id < max(config.read_queue_nums, config.write_queue_nums):
            raise NotFound(f"{queue_id}@{topic:.200} is not exist!")
        if header.index < 0 or header.count < 0:
            raise BadRequest("index and count must not be negative")
        subscription = None
        if header.consumer_group:
            subscription = self._consumers.subscription(header.consumer_group, topic)
        units = self._store.queue_units(topic, queue_id, header.index, min(header.count, _MAX_UNITS))
        body = QueryConsumeQueueResponseBody(
            subscription_data=subscription,
            queue_data=tuple(
                ConsumeQueueData(
                    unit.commit_log_offset,
                    unit.size,
                    unit.tags_code,
                    eval=_wants(subscription, unit.tags_code),
                )
                for unit in units
            ),
            max_queue_index=self._store.max_offset(topic, queue_id),
            min_queue_index=self._store.min_offset(topic, queue_id),
        )
        return Reply(body=body.encode())


def _wants(subscription: SubscriptionData | None, tags_code: int) -> bool:
    if subscription is None or not is_tag_type(subscription.expression_type):
        return True
    matches = tag_filter(subscription.sub_string).matches
    return matches is None or matches(tags_code)

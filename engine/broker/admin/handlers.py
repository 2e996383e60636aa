"""Broker settings (25, 26), runtime info (28) and statistics (315); 306 and 316 clean queues, 329 deletes
segments, 321 shows a queue; and the codes that are known and refused (`refused_codes`).

A client that is refused knows that nothing happened: a consumer keeps the message and retries it itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.admin.refused_codes import REFUSALS
from engine.broker.clients.client_tables import ConsumerTable
from engine.broker.pulling.filters import is_tag_type, tag_filter
from engine.broker.settings.config_changes import CHANGES_FILE, ConfigChanges
from engine.broker.settings.options import BrokerOptions, options_text
from engine.broker.stats.broker_stats import BrokerStats
from engine.broker.topics.topic_table import TopicTable
from engine.errors import BadRequest, NotFound, Refused
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Persist, Reply
from engine.protocol.bodies.basics import KVTable
from engine.protocol.bodies.clients import SubscriptionData
from engine.protocol.bodies.stats import ConsumeQueueData, QueryConsumeQueueResponseBody
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.brokers import GetBrokerConfigResponse, ViewBrokerStatsDataRequest
from engine.protocol.headers.pull import QueryConsumeQueueRequest
from engine.store.queues.message_queues import MessageQueues

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class BrokerAdminHandlers:
    options: BrokerOptions
    changes: ConfigChanges
    stats: BrokerStats
    runtime_info: Callable[[], dict[str, str]]
    now_ms: Callable[[], int]

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.UPDATE_BROKER_CONFIG: self.update_config,
            RequestCode.GET_BROKER_CONFIG: self.config,
            RequestCode.GET_BROKER_RUNTIME_INFO: self.show_runtime_info,
            RequestCode.VIEW_BROKER_STATS_DATA: self.view_stats,
        }

    def update_config(self, request: Command, client: Connection) -> Outcome:
        settings = self.changes.plan(bytes(request.body))
        if not settings:
            return Reply()
        log.warning("%s changes settings: %s", client.peer_name, settings)
        self.changes.stage(settings, self.now_ms())
        return Persist(CHANGES_FILE, Reply(remark=f"kept in config/{CHANGES_FILE}"))

    def config(self, request: Command, client: Connection) -> Outcome:
        fields = GetBrokerConfigResponse(self.changes.version.encode().decode()).encode()
        return Reply(fields=fields, body=options_text(self.options).encode())

    def show_runtime_info(self, request: Command, client: Connection) -> Outcome:
        return Reply(body=KVTable(self.runtime_info()).encode())

    def view_stats(self, request: Command, client: Connection) -> Outcome:
        header = ViewBrokerStatsDataRequest.decode(request.fields)
        data = self.stats.view(header.stats_name, header.stats_key, self.now_ms())
        if data is None:
            raise NotFound(f"the stats <{header.stats_name:.80}> <{header.stats_key:.400}> not exist")
        return Reply(body=data.encode())


_MAX_UNITS = 1_024


@dataclass(eq=False, repr=False)
class StoreAdminHandlers:
    topics: TopicTable
    consumers: ConsumerTable[Connection]
    queues: MessageQueues
    delete_expired_soon: Callable[[], None]
    cleaning_refusal: Callable[[], str]
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
        self.queues.delete_expired()
        return Reply()

    def clean_topics(self, request: Command, client: Connection) -> Outcome:
        """Queues of topics that no longer exist."""
        for topic in self.queues.ids_by_topic():
            if topic not in self.topics:
                self.queues.delete_topic(topic)
        return Reply()

    def delete_segments(self, request: Command, client: Connection) -> Outcome:
        """Expired segments, at the next cleaning, whatever the hour."""
        self._check_cleaning()
        self.delete_expired_soon()
        return Reply()

    def _check_cleaning(self) -> None:
        if refusal := self.cleaning_refusal():
            raise Refused(refusal)

    def show_queue(self, request: Command, client: Connection) -> Outcome:
        """Units of a queue, and whether a group's subscription would let them through."""
        header = QueryConsumeQueueRequest.decode(request.fields)
        topic, queue_id = header.topic, header.queue_id
        config = self.topics.get(topic)
        if config is None or not 0 <= queue_id < max(config.read_queue_nums, config.write_queue_nums):
            raise NotFound(f"{queue_id}@{topic:.200} is not exist!")
        if header.index < 0 or header.count < 0:
            raise BadRequest("index and count must not be negative")
        subscription = None
        if header.consumer_group:
            subscription = self.consumers.subscription(header.consumer_group, topic)
        units = self.queues.units(topic, queue_id, header.index, min(header.count, _MAX_UNITS))
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
            max_queue_index=self.queues.max_offset(topic, queue_id),
            min_queue_index=self.queues.min_offset(topic, queue_id),
        )
        return Reply(body=body.encode())


def _wants(subscription: SubscriptionData | None, tags_code: int) -> bool:
    if subscription is None or not is_tag_type(subscription.expression_type):
        return True
    matches = tag_filter(subscription.sub_string).matches
    return matches is None or matches(tags_code)


class RefusalHandlers:
    def routes(self) -> dict[int, Handler]:
        return dict.fromkeys(REFUSALS, self.refuse)

    def refuse(self, request: Command, client: Connection) -> Outcome:
        reason = REFUSALS[RequestCode(request.code)]
        text = f"request type {request.code} not supported: {reason}"
        return Reply(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, text)

"""Topic administration: 17, 18 create, 215 deletes, 21, 351, 305 show, 202 offsets.

Everything is checked before anything changes; a list is accepted as a whole or not at all. Changes are
answered once topics.json holds them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from engine.broker.admin.table_pages import SLICE, TablePages, gathered, table_reply
from engine.broker.offsets.offset_table import OFFSETS_FILE, ConsumerOffsets
from engine.broker.stats.broker_stats import BrokerStats
from engine.broker.stats.traffic import Traffic
from engine.broker.topics.topic_rules import TopicRules, found_topic
from engine.broker.topics.topic_table import TOPICS_FILE, TopicTable
from engine.net.connection import Connection
from engine.net.outcomes import Announce, Handler, Outcome, Reply
from engine.protocol.bodies.basics import MessageQueue, TopicList
from engine.protocol.bodies.stats import TopicOffset, TopicStatsTable
from engine.protocol.bodies.topics import (
    CreateTopicListRequestBody,
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
)
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.topics import (
    CreateTopicRequest,
    DeleteTopicRequest,
    GetAllTopicConfigRequest,
    GetAllTopicConfigResponse,
    GetTopicConfigRequest,
    GetTopicStatsInfoRequest,
)
from engine.protocol.names import RETRY_PREFIX, pop_retry_topic_v1
from engine.store.queues.message_queues import MessageQueues
from engine.store.reading.message_search import MessageSearch

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class TopicAdminHandlers:
    broker_name: str
    rules: TopicRules
    topics: TopicTable
    offsets: ConsumerOffsets
    traffic: Traffic
    stats: BrokerStats
    queues: MessageQueues
    search: MessageSearch
    now_ms: Callable[[], int]
    save: Callable[[str], None]
    _pages: TablePages = field(default_factory=TablePages, init=False)

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.UPDATE_AND_CREATE_TOPIC: self.put,
            RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: self.put_list,
            RequestCode.DELETE_TOPIC_IN_BROKER: self.delete,
            RequestCode.GET_ALL_TOPIC_CONFIG: self.all_configs,
            RequestCode.GET_TOPIC_CONFIG: self.config,
            RequestCode.GET_TOPIC_STATS_INFO: self.topic_offsets,
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: self.system_topics,
        }

    # -- changing -------------------------------------------------------------------------------------------

    def put(self, request: Command, client: Connection) -> Outcome:
        asked = CreateTopicRequest.decode(request.fields)
        return self._put_all([self.rules.from_header(asked, self.topics.get(asked.topic))], client)

    def put_list(self, request: Command, client: Connection) -> Outcome:
        asked = CreateTopicListRequestBody.decode(request.body).topic_config_list
        return self._put_all(
            [self.rules.from_body(topic, self.topics.get(topic.topic_name)) for topic in asked], client
        )

    def _put_all(self, configs: Iterable[TopicConfig], client: Connection) -> Outcome:
        now_ms = self.now_ms()
        for config in configs:
            if self.topics.put(config, now_ms):
                log.info("%s set topic %s", client.peer_name, config)
        # Also when nothing changed: an earlier equal request may still wait for the disk.
        return Announce(TOPICS_FILE, Reply())

    def delete(self, request: Command, client: Connection) -> Outcome:
        """With its offsets and queues, and the retry topics of POP groups for it."""
        topic = DeleteTopicRequest.decode(request.fields).topic
        self.rules.check_name(topic)
        suffix = f"+{topic}"
        gone = {
            name for name in self.topics.names() if name.startswith(RETRY_PREFIX) and name.endswith(suffix)
        }
        # The older names are ambiguous: only those of groups that have read the topic are deleted.
        older = {pop_retry_topic_v1(group, topic) for group in self.offsets.groups_of(topic)}
        gone |= {name for name in older if name in self.topics}
        log.info("%s deleted topic %s", client.peer_name, topic)
        for name in (topic, *gone):
            self.topics.delete(name, self.now_ms())
            self.offsets.forget_topic(name)
            self.traffic.forget_topic(name)
            self.queues.delete_topic(name)
        self.save(OFFSETS_FILE)
        return Announce(TOPICS_FILE, Reply())

    # -- showing --------------------------------------------------------------------------------------------

    def all_configs(self, request: Command, client: Connection) -> Outcome:
        asked = GetAllTopicConfigRequest.decode(request.fields)
        topics = self.topics
        fields = GetAllTopicConfigResponse(len(topics)).encode()
        if asked == GetAllTopicConfigRequest():
            shown = topics.configs()
        else:
            shown = self._pages.page(topics, asked.topic_seq, asked.data_version, asked.max_topic_num)
        return table_reply(TopicConfigAndMappingSerializeWrapper(shown, topics.version), len(shown), fields)

    def config(self, request: Command, client: Connection) -> Outcome:
        """`lo` asks for the mapping of a static topic, which this broker does not support."""
        topic = GetTopicConfigRequest.decode(request.fields).topic
        return Reply(body=found_topic(self.topics, topic).encode())

    def topic_offsets(self, request: Command, client: Connection) -> Outcome:
        config = found_topic(self.topics, GetTopicStatsInfoRequest.decode(request.fields).topic)
        topic = config.topic_name
        table: dict[MessageQueue, TopicOffset] = {}

        def finish() -> Outcome:
            rate = self.stats.put_rate(topic, self.now_ms())
            return table_reply(TopicStatsTable(table, rate), len(table))

        return gathered(self._gather_queues(config, table), finish)

    def _gather_queues(self, config: TopicConfig, table: dict[MessageQueue, TopicOffset]) -> Iterator[None]:
        topic = config.topic_name
        for queue_id in range(max(config.read_queue_nums, config.write_queue_nums)):
            queue = MessageQueue(topic, self.broker_name, queue_id)
            table[queue] = self._queue_offsets(topic, queue_id)
            if queue_id % SLICE == SLICE - 1:
                yield

    def _queue_offsets(self, topic: str, queue_id: int) -> TopicOffset:
        queues = self.queues
        low, high = queues.min_offset(topic, queue_id), queues.max_offset(topic, queue_id)
        last_ms = self.search.store_time_at(topic, queue_id, high - 1) if high > low else 0
        return TopicOffset(max(0, low), max(0, high), max(0, last_ms))

    def system_topics(self, request: Command, client: Connection) -> Outcome:
        names = sorted(name for name in self.topics.names() if self.rules.is_system(name))
        return Reply(body=TopicList(tuple(names)).encode())

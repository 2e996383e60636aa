"""What admins and collectors read about queues and rates: progress of topics and groups, time spans, contents
of queues, and snapshots of a broker (30001; docs/collector.md describes the sections).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from msgspec import Struct, field

from engine.errors import ProtocolError
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import SubscriptionData
from engine.protocol.wire import Body, Int32, Int64


class TopicOffset(Body, frozen=True):
    min_offset: Int64 = 0
    max_offset: Int64 = 0
    last_update_timestamp: Int64 = 0


class TopicStatsTable(Body, frozen=True):
    """Answer to 202."""

    offset_table: dict[MessageQueue, TopicOffset] = field(default_factory=dict)
    topic_put_tps: float = 0.0


class OffsetWrapper(Body, frozen=True):
    """Progress of a group on one queue; last_timestamp is the store time of the last message consumed."""

    broker_offset: Int64 = 0
    consumer_offset: Int64 = 0
    pull_offset: Int64 = 0
    last_timestamp: Int64 = 0

    @property
    def lag(self) -> int:
        return self.broker_offset - self.consumer_offset

    @property
    def inflight(self) -> int:
        return self.pull_offset - self.consumer_offset


class ConsumeStats(Body, frozen=True):
    """Answer to 208."""

    offset_table: dict[MessageQueue, OffsetWrapper] = field(default_factory=dict)
    consume_tps: float = 0.0

    @property
    def total_lag(self) -> int:
        return sum(wrapper.lag for wrapper in self.offset_table.values())

    @property
    def total_inflight(self) -> int:
        return sum(wrapper.inflight for wrapper in self.offset_table.values())


class ConsumeStatsList(Body, frozen=True):
    """Answer to 317; each item is {group: one ConsumeStats per topic}."""

    consume_stats_list: tuple[dict[str, tuple[ConsumeStats, ...]], ...] = ()
    broker_addr: str = ""
    total_diff: Int64 = 0
    total_inflight_diff: Int64 = 0


class BrokerStatsItem(Body, frozen=True):
    sum: Int64 = 0
    tps: float = 0.0
    avgpt: float = 0.0


class BrokerStatsData(Body, frozen=True):
    """Answer to 315."""

    stats_minute: BrokerStatsItem = BrokerStatsItem()
    stats_hour: BrokerStatsItem = BrokerStatsItem()
    stats_day: BrokerStatsItem = BrokerStatsItem()


class QueueTimeSpan(Body, frozen=True):
    """Times in milliseconds. Java also writes each as text and never reads that back, so we leave it out."""

    message_queue: MessageQueue | None = None
    min_time_stamp: Int64 = 0
    max_time_stamp: Int64 = 0
    consume_time_stamp: Int64 = 0
    delay_time: Int64 = 0


class QueryConsumeTimeSpanBody(Body, frozen=True):
    """Answer to 303."""

    consume_time_span_set: tuple[QueueTimeSpan, ...] = ()


class ConsumeQueueData(Body, frozen=True):
    """One unit of a consume queue."""

    physic_offset: Int64 = 0
    physic_size: Int32 = 0
    tags_code: Int64 = 0
    extend_data_json: str | None = None
    bit_map: str | None = None
    eval: bool = False
    msg: str | None = None


class QueryConsumeQueueResponseBody(Body, frozen=True):
    """Answer to 321."""

    subscription_data: SubscriptionData | None = None
    filter_data: str | None = None
    queue_data: tuple[ConsumeQueueData, ...] = ()
    max_queue_index: Int64 = 0
    min_queue_index: Int64 = 0


NAMED_SECTIONS = frozenset(("topics", "groups", "offsets"))


class BrokerSnapshot(Struct, frozen=True):
    """`version` is to be handed back with the next question; `is_full` says that nothing older counts."""

    version: str
    is_full: bool
    sections: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, version: str, is_full: bool, body: bytes) -> BrokerSnapshot:
        if not body:
            return cls(version, is_full)
        try:
            sections = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ProtocolError(f"a snapshot cannot be read: {error}") from None
        if not isinstance(sections, dict):
            raise ProtocolError("a snapshot is a JSON object")
        return cls(version, is_full, sections)

    def onto(self, before: BrokerSnapshot | None) -> BrokerSnapshot:
        """Everything that is known now."""
        known = {} if before is None or self.is_full else dict(before.sections)
        for name, value in self.sections.items():
            if name in NAMED_SECTIONS:
                merged = {**known.get(name, {}), **value}
                known[name] = {key: one for key, one in merged.items() if one is not None}
            else:
                known[name] = value
        return BrokerSnapshot(self.version, True, known)

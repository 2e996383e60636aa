"""The tables of a broker that are kept on disk, as they were read at the start. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.broker.clients.queue_assignment import RequestModes
from engine.broker.delivery.delay_levels import DelayOffsets
from engine.broker.delivery.timed_messages import TimerCounts
from engine.broker.groups.group_table import SubscriptionGroupTable
from engine.broker.offsets.offset_table import ConsumerOffsets
from engine.broker.pop.orders import OrderTable
from engine.broker.topics.topic_table import TopicTable

Image = tuple[int, int]
"""Size and CRC of the bytes of a table's file."""


@dataclass(frozen=True, slots=True)
class Found:
    image: Image | None = None
    """None when there was no file, or its .bak was read instead."""
    has_changes: bool = False


@dataclass(frozen=True, slots=True)
class Tables:
    topics: TopicTable
    groups: SubscriptionGroupTable
    offsets: ConsumerOffsets
    delays: DelayOffsets
    timer_counts: TimerCounts
    orders: OrderTable
    modes: RequestModes
    found: Mapping[str, Found] = field(default_factory=dict)
    """For files that may have changes beside them: what was found at the start."""

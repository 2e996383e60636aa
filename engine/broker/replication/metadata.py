"""What a slave takes from its master besides the log, and how it is put in place. Pure. Loop thread only.

Topics, groups and request modes are applied as they come, as RocketMQ's slaves do. How far delays,
timers, transactions, pops and consumers are (`Progress`) depends on messages: it is applied only when
this broker's log has reached the end that the master's had when it was asked. Otherwise a promotion could
count a delivery that never reached this member, or skip messages whose pop it does not know.

`ReplicaFiles` are the files that our slaves ask for besides what RocketMQ's ask for (30020). A table that
must survive a promotion adds a `ReplicaFile` under its file's name.

A slave asks for topics every few seconds. A master that dies in between would leave acknowledged messages
in a topic without configuration. So the first message of such a topic makes the slave ask at once; where
there is no master to ask, `UnconfiguredTopics` creates the topic with as many queues as its messages lie
in.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.broker.clients.queue_assignment import REQUEST_MODES_FILE
from engine.broker.delivery.delay_levels import DELAY_OFFSETS_FILE
from engine.broker.delivery.timed_messages import TIMER_METRICS_FILE
from engine.broker.groups.group_table import GROUPS_FILE
from engine.broker.offsets.offset_table import OFFSETS_FILE
from engine.broker.pop.orders import ORDER_FILE, OrderInfoWrapper, OrderTable
from engine.broker.state.tables import Tables
from engine.broker.topics.topic_table import MAX_QUEUES_PER_TOPIC, TOPICS_FILE, TopicTable
from engine.protocol.bodies.groups import MessageRequestModeSerializeWrapper, SubscriptionGroupWrapper
from engine.protocol.bodies.offsets import ConsumerOffsetSerializeWrapper, DelayOffsetSerializeWrapper
from engine.protocol.bodies.topics import TopicConfig, TopicConfigSerializeWrapper

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Metadata:
    """One round; None where the master does not have it, or has nothing new."""

    topics: TopicConfigSerializeWrapper | None = None
    groups: SubscriptionGroupWrapper | None = None
    modes: MessageRequestModeSerializeWrapper | None = None
    timer_counts: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """What the master had processed when its log ended at `log_end`."""

    log_end: int
    delays: DelayOffsetSerializeWrapper | None = None
    timer_read_ms: int | None = None
    offsets: ConsumerOffsetSerializeWrapper | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Applied:
    """The files to save, and the topics that the master no longer has."""

    files: frozenset[str]
    removed_topics: tuple[str, ...] = ()


def apply_metadata(metadata: Metadata, tables: Tables, is_own_topic: Callable[[str], bool]) -> Applied:
    files: set[str] = set()
    removed: tuple[str, ...] = ()
    if metadata.topics is not None and metadata.topics.data_version != tables.topics.version:
        removed = _take_topics(metadata.topics, tables, is_own_topic)
        files.add(TOPICS_FILE)
    if metadata.groups is not None and metadata.groups.data_version != tables.groups.version:
        for group in tables.groups.adopt(metadata.groups):
            tables.offsets.forget_group(group)
        files.add(GROUPS_FILE)
    if metadata.modes is not None and metadata.modes != tables.modes.snapshot():
        tables.modes.adopt(metadata.modes)
        files.add(REQUEST_MODES_FILE)
    if metadata.timer_counts is not None and tables.timer_counts.adopt(metadata.timer_counts):
        files.add(TIMER_METRICS_FILE)
    return Applied(frozenset(files), removed)


def _take_topics(
    wrapper: TopicConfigSerializeWrapper, tables: Tables, is_own_topic: Callable[[str], bool]
) -> tuple[str, ...]:
    """Topics that this broker needs itself stay, even if the master (an older RocketMQ) lacks them."""
    topics = tables.topics
    own = {name: config for name, config in topics.configs().items() if is_own_topic(name)}
    removed = topics.adopt({**own, **wrapper.topic_config_table}, wrapper.data_version)
    for topic in removed:
        tables.offsets.forget_topic(topic)
    return tuple(removed)


def apply_progress(progress: Progress, tables: Tables) -> frozenset[str]:
    """The files to save. Timers and `files` are applied by their owners."""
    files: set[str] = set()
    if progress.delays is not None and tables.delays.adopt(progress.delays):
        files.add(DELAY_OFFSETS_FILE)
    given = progress.offsets
    if given is not None and tables.offsets.adopt(given.offset_table, given.data_version):
        files.add(OFFSETS_FILE)
    return frozenset(files)


@dataclass(frozen=True, slots=True)
class ReplicaFile:
    take: Callable[[], bytes]
    adopt: Callable[[bytes], None]


ReplicaFiles = dict[str, ReplicaFile]


def order_file(orders: OrderTable, save: Callable[[str], None]) -> ReplicaFile:
    """How far groups have popped in order."""

    def adopt(data: bytes) -> None:
        if orders.adopt(OrderInfoWrapper.decode(data)):
            save(ORDER_FILE)

    return ReplicaFile(lambda: orders.wrapper().encode(), adopt)


@dataclass(eq=False, repr=False)
class UnconfiguredTopics:
    """Topics that a slave knows by their messages alone."""

    topics: TopicTable
    queue_ids: Callable[[], Mapping[str, list[int]]]
    save: Callable[[str], None]
    now_ms: Callable[[], int]
    _names: set[str] = field(default_factory=set, init=False)

    def note(self, topic: str) -> bool:
        """A queue of this topic was made; whether the topic is one of them."""
        if topic in self.topics:
            return False
        self._names.add(topic)
        return True

    def names(self) -> frozenset[str]:
        return frozenset(self._names)

    def forget(self, names: frozenset[str]) -> None:
        """The master was asked after these were noted: its table has them, or they were deleted."""
        self._names -= names

    def adopt(self) -> None:
        """There is no master to ask. A later answer of a master replaces what is created here."""
        unknown = [topic for topic in self._names if topic not in self.topics]
        self._names.clear()
        if not unknown:
            return
        ids, now_ms = self.queue_ids(), self.now_ms()
        for topic in sorted(unknown):
            queues = min(max(ids.get(topic, ()), default=-1) + 1, MAX_QUEUES_PER_TOPIC)
            if queues:
                self.topics.put(TopicConfig(topic, queues, queues), now_ms)
                log.warning(
                    "topic %s has messages and no configuration: created with %d queues; change it with "
                    "updateTopic if needed",
                    topic,
                    queues,
                )
        self.save(TOPICS_FILE)

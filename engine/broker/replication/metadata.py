"""What a slave takes from its master besides the log: what is taken at once, and what waits for the log.

Topics, groups and request modes are taken as they come, as RocketMQ's slaves do. How far delays, timers,
transactions, pops and consumers are (`Progress`) rests on messages: it counts only once this broker has the
log up to where the master's ended when it was asked. Otherwise a promotion could believe a delivery that
never reached it, or skip messages whose pop it does not know. Pure. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.broker.clients.queue_assignment import REQUEST_MODES_FILE, RequestModes
from engine.broker.delivery.delay_levels import DELAY_OFFSETS_FILE
from engine.broker.delivery.timed_messages import TIMER_METRICS_FILE
from engine.broker.groups.group_table import GROUPS_FILE
from engine.broker.offsets.offset_table import OFFSETS_FILE
from engine.broker.state.tables import Tables
from engine.broker.topics.topic_table import TOPICS_FILE
from engine.protocol.bodies.groups import MessageRequestModeSerializeWrapper, SubscriptionGroupWrapper
from engine.protocol.bodies.offsets import ConsumerOffsetSerializeWrapper, DelayOffsetSerializeWrapper
from engine.protocol.bodies.topics import TopicConfigSerializeWrapper


@dataclass(frozen=True, slots=True)
class Metadata:
    """One round; None where the master has not got it, or nothing new."""

    topics: TopicConfigSerializeWrapper | None = None
    groups: SubscriptionGroupWrapper | None = None
    modes: MessageRequestModeSerializeWrapper | None = None
    timer_counts: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """What the master was done with when its log ended at `log_end`."""

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


def apply_metadata(
    metadata: Metadata, tables: Tables, modes: RequestModes, is_own_topic: Callable[[str], bool]
) -> Applied:
    files: set[str] = set()
    removed: tuple[str, ...] = ()
    if metadata.topics is not None and metadata.topics.data_version != tables.topics.version:
        removed = _take_topics(metadata.topics, tables, is_own_topic)
        files.add(TOPICS_FILE)
    if metadata.groups is not None and metadata.groups.data_version != tables.groups.version:
        for group in tables.groups.adopt(metadata.groups):
            tables.offsets.forget_group(group)
        files.add(GROUPS_FILE)
    if metadata.modes is not None and metadata.modes != modes.snapshot():
        modes.adopt(metadata.modes)
        files.add(REQUEST_MODES_FILE)
    if metadata.timer_counts is not None and tables.timer_counts.adopt(metadata.timer_counts):
        files.add(TIMER_METRICS_FILE)
    return Applied(frozenset(files), removed)


def _take_topics(
    wrapper: TopicConfigSerializeWrapper, tables: Tables, is_own_topic: Callable[[str], bool]
) -> tuple[str, ...]:
    """What this broker needs itself stays, whatever the master (an older RocketMQ) has."""
    topics = tables.topics
    own = {name: config for name, config in topics.configs().items() if is_own_topic(name)}
    removed = topics.adopt({**own, **wrapper.topic_config_table}, wrapper.data_version)
    for topic in removed:
        tables.offsets.forget_topic(topic)
    return tuple(removed)


def apply_progress(progress: Progress, tables: Tables) -> frozenset[str]:
    """The files to save. Timers and `files` are their owners' to take."""
    files: set[str] = set()
    if progress.delays is not None and tables.delays.adopt(progress.delays):
        files.add(DELAY_OFFSETS_FILE)
    given = progress.offsets
    if given is not None and tables.offsets.adopt(given.offset_table, given.data_version):
        files.add(OFFSETS_FILE)
    return frozenset(files)

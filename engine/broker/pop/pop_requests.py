"""A pop as admitted: its checks and their codes, its queues, how long it waits, and its retry topics.

Pure, but for the group that is created when first seen.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from engine.broker.delivery.parked_messages import draft_of
from engine.broker.groups.group_table import GroupAdmission
from engine.broker.pulling.long_polls import ALL_QUEUES
from engine.broker.settings.options import LiveOptions
from engine.broker.topics.topic_rules import (
    check_broker_readable,
    check_group_enabled,
    check_topic_readable,
    invalid,
    no_such_topic,
)
from engine.broker.topics.topic_table import TopicTable
from engine.errors import NotPermitted, Refused
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.names import is_retry_topic, pop_retry_topic, pop_retry_topic_v1
from engine.protocol.properties import Property, encode_properties
from engine.protocol.records import Record
from engine.store.results import MessageDraft

Place = tuple[str, int]
"""(topic, queue id)"""

RETRY_FIRST_PERCENT = 20
_MARGIN_MS = 50
"""An empty answer leaves this long before the client's own time is up."""
_MAX_POLL_MS = 60_000


ALL_POPS = ("pops",)
"""What all long polls are counted under."""


def waiting_key(topic: str, group: str, queue_id: int) -> Hashable:
    """What the long polls of one group for one queue (-1: all) are counted and woken under."""
    return "pop", topic, group, queue_id


def poll_deadline_ms(poll_ms: int, now_ms: int) -> int:
    """By the broker's clock: the client's may be wrong."""
    return now_ms + min(poll_ms, _MAX_POLL_MS) - _MARGIN_MS


def retry_topics(topic: str, group: str) -> tuple[str, ...]:
    """Where messages of this topic may have come back for this group."""
    if is_retry_topic(topic):
        return ()
    return pop_retry_topic_v1(group, topic), pop_retry_topic(group, topic)


def waited_for(topic: str, group: str, queue_id: int) -> tuple[Place, ...]:
    """What a long poll is parked under: one queue or all of the topic, and its retry topics."""
    return (topic, queue_id if queue_id >= 0 else ALL_QUEUES), *((t, 0) for t in retry_topics(topic, group))


def queues_of(topic: str, queue_id: int, queue_nums: int, first: int = 0) -> list[Place]:
    if queue_id >= 0:
        return [(topic, queue_id)]
    return [(topic, (first + number) % queue_nums) for number in range(queue_nums)]


def places_of(
    topic: str, queue_id: int, queue_nums: int, retries: list[Place], draw: Callable[[int], int]
) -> list[Place]:
    """The queues in the order in which they are read: from a random one on, retry topics usually last."""
    dice = draw(100)
    places = queues_of(topic, queue_id, queue_nums, dice)
    return retries + places if dice < RETRY_FIRST_PERCENT else places + retries


MAX_POPPED = 32
MAX_INVISIBLE_MS = 3 * 86_400_000
"""The limit of RocketMQ's timers, which could not revive a later checkpoint."""

MAX_ATTEMPT_LENGTH = 256
"""Clients send a UUID."""


@dataclass(eq=False, repr=False)
class PopAdmission:
    topics: TopicTable
    groups: GroupAdmission
    live: LiveOptions
    now_ms: Callable[[], int]

    def admit(self, topic: str, queue_id: int, group: str, host: str, count: int = 1) -> TopicConfig:
        """Queue -1: all of the topic. `host`: where the client is."""
        check_broker_readable(self.live.broker_permission)
        if count > MAX_POPPED:
            raise invalid(f"{count} messages are more than the {MAX_POPPED} that one pop may give")
        config = self.topics.get(topic)
        if config is None:
            raise no_such_topic(topic)
        check_topic_readable(config)
        if not -1 <= queue_id < config.read_queue_nums:
            raise invalid(f"queueId[{queue_id}] is illegal, {topic} has {config.read_queue_nums} queues")
        found = self.groups.admit(group, self.now_ms(), host)
        check_group_enabled(found)
        if self.groups.table.is_read_forbidden(group, topic):
            raise NotPermitted(f"the consumer group {group} may not read {topic}")
        return config


def check_invisible(invisible_ms: int) -> None:
    if not 0 < invisible_ms <= MAX_INVISIBLE_MS:
        raise Refused(f"an invisible time of {invisible_ms} ms is outside 1..{MAX_INVISIBLE_MS}")


def admitted_attempt(attempt_id: str | None, *, is_ordered: bool) -> str | None:
    """Only a pop in order has one. It is stored with the waiting pop and with its messages."""
    if not is_ordered or attempt_id is None:
        return None
    if len(attempt_id) > MAX_ATTEMPT_LENGTH:
        raise invalid(f"an attemptId of {len(attempt_id)} characters, at most {MAX_ATTEMPT_LENGTH}")
    return attempt_id


def retry_draft(record: Record, topic: str, pop_time_ms: int) -> MessageDraft:
    """The message once more, in the retry topic, all its properties kept."""
    properties: dict[str, str | None] = {**record.properties}
    properties.setdefault(Property.FIRST_POP_TIME, str(pop_time_ms))
    draft = draft_of(record, topic, 0, encode_properties(properties).encode())
    return draft._replace(reconsume_times=record.reconsume_times + 1)


def comes_back_in(topic: str, group: str, *, is_v2: bool) -> str:
    """The retry topic of a message that was popped from `topic`; a message of a retry topic stays in it."""
    if is_retry_topic(topic):
        return topic
    return pop_retry_topic(group, topic) if is_v2 else pop_retry_topic_v1(group, topic)

"""May this group pop this topic? The order of checks and the codes are RocketMQ's. Pure, but for the group
that makes itself when first seen."""

from __future__ import annotations

from collections.abc import Callable

from engine.broker.groups.group_table import SubscriptionGroupTable
from engine.broker.settings.options import LiveOptions
from engine.broker.state.table_files import GROUPS_FILE
from engine.broker.topics.topic_rules import (
    check_broker_readable,
    check_group_enabled,
    check_topic_readable,
    no_such_group,
    no_such_topic,
)
from engine.broker.topics.topic_table import TopicTable
from engine.errors import NotPermitted, Refused
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import ResponseCode

MAX_POPPED = 32
MAX_INVISIBLE_MS = 3 * 86_400_000
"""What RocketMQ's timers bear: a checkpoint for later is not stored, so nothing is given."""

MAX_ATTEMPT_LENGTH = 256
"""Clients send a UUID."""


class PopAdmission:
    def __init__(
        self,
        topics: TopicTable,
        groups: SubscriptionGroupTable,
        live: LiveOptions,
        *,
        now_ms: Callable[[], int],
        save: Callable[[str], None],
    ) -> None:
        self._topics = topics
        self._groups = groups
        self._live = live
        self._now_ms = now_ms
        self._save = save

    def admit(self, topic: str, queue_id: int, group: str, host: str, count: int = 1) -> TopicConfig:
        """Queue -1: all of the topic. `host`: where the client is."""
        check_broker_readable(self._live.broker_permission)
        if count > MAX_POPPED:
            raise _invalid(f"{count} messages are more than the {MAX_POPPED} that one pop may give")
        config = self._topics.get(topic)
        if config is None:
            raise no_such_topic(topic)
        check_topic_readable(config)
        if not -1 <= queue_id < config.read_queue_nums:
            raise _invalid(f"queueId[{queue_id}] is illegal, {topic} has {config.read_queue_nums} queues")
        self._admit_group(group, topic, host)
        return config

    def _admit_group(self, name: str, topic: str, host: str) -> None:
        group, is_new = self._groups.find_or_create(
            name, self._live.auto_create_subscription_group, self._now_ms(), host
        )
        if group is None:
            raise no_such_group(name)
        if is_new:
            self._save(GROUPS_FILE)
        check_group_enabled(group)
        if self._groups.is_read_forbidden(name, topic):
            raise NotPermitted(f"the consumer group {name} may not read {topic}")


def check_invisible(invisible_ms: int) -> None:
    if not 0 < invisible_ms <= MAX_INVISIBLE_MS:
        raise Refused(f"an invisible time of {invisible_ms} ms is outside 1..{MAX_INVISIBLE_MS}")


def admitted_attempt(attempt_id: str | None, *, is_ordered: bool) -> str | None:
    """Only a pop in order has one. It is kept while the pop waits, and with what it was given."""
    if not is_ordered or attempt_id is None:
        return None
    if len(attempt_id) > MAX_ATTEMPT_LENGTH:
        raise _invalid(f"an attemptId of {len(attempt_id)} characters, at most {MAX_ATTEMPT_LENGTH}")
    return attempt_id


def _invalid(text: str) -> Refused:
    return Refused(text, code=ResponseCode.INVALID_PARAMETER)

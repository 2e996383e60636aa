"""Which topic configurations an administrator may set, and what permission bits allow. Pure.

Attributes travel as changes (`+message.type=FIFO,-reserve.time`). Those that would need another engine behind
the topic (BatchCQ queues, compaction) are refused: a topic that only looks like one would lose messages.
As in RocketMQ, a topic becomes one of mixed messages only where enableMixedMessageType is set; unlike there,
a topic that already is one may be changed further.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from engine.broker.topics.topic_table import MAX_QUEUES_PER_TOPIC, TopicTable
from engine.errors import BadRequest, NotFound, NotPermitted, Refused
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import PERM_PRIORITY, PERM_READ, PERM_WRITE, TopicConfig, TopicFilterType
from engine.protocol.codes import ResponseCode
from engine.protocol.headers.pull import ForbiddenType
from engine.protocol.headers.topics import CreateTopicRequest, parse_attribute_changes
from engine.protocol.names import check_topic, is_system_topic

_MESSAGE_TYPES = ("UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED")
_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "queue.type": ("SimpleCQ",),
    "cleanup.policy": ("DELETE",),
    "message.type": _MESSAGE_TYPES,
    "reserve.time": (),
}
_TYPE, _MIXED = "message.type", "MIXED"
_MILLISECONDS = re.compile(r"-1|[0-9]{1,18}")
_UNCHANGEABLE = ("queue.type",)
_TOPIC_FLAGS = 0x3


@dataclass(eq=False, repr=False)
class TopicRules:
    """Checks against the system names of this broker and its cluster."""

    cluster: str
    broker: str
    may_be_mixed: Callable[[], bool]

    def check_name(self, topic: str) -> None:
        check_topic(topic)
        if self.is_system(topic):
            raise invalid(f"the topic {topic} is a system topic")

    def is_system(self, topic: str) -> bool:
        return is_system_topic(topic, self.cluster, self.broker)

    def from_header(self, asked: CreateTopicRequest, current: TopicConfig | None) -> TopicConfig:
        self.check_name(asked.topic)
        if asked.topic_filter_type not in TopicFilterType.__members__:
            raise invalid(
                f"topicFilterType {asked.topic_filter_type:.80} is neither SINGLE_TAG nor MULTI_TAG"
            )
        config = TopicConfig(
            topic_name=asked.topic,
            read_queue_nums=asked.read_queue_nums,
            write_queue_nums=asked.write_queue_nums,
            perm=asked.perm,
            topic_filter_type=TopicFilterType[asked.topic_filter_type],
            topic_sys_flag=asked.topic_sys_flag or 0,
            order=asked.order,
            attributes=self._changed(current, parse_attribute_changes(asked.attributes)),
        )
        _check_numbers(config)
        return config

    def from_body(self, asked: TopicConfig, current: TopicConfig | None) -> TopicConfig:
        """A whole configuration, as the list request has it; its attributes are changes as well."""
        self.check_name(asked.topic_name)
        _check_numbers(asked)
        changes = parse_attribute_changes(
            ",".join(
                name if name.startswith("-") else f"+{name.removeprefix('+')}={value}"
                for name, value in asked.attributes.items()
            )
        )
        return replace(asked, attributes=self._changed(current, changes))

    def _changed(self, current: TopicConfig | None, changes: Mapping[str, str | None]) -> dict[str, str]:
        is_mixed = current is not None and current.attributes.get(_TYPE) == _MIXED
        if changes.get(_TYPE) == _MIXED and not is_mixed and not self.may_be_mixed():
            raise invalid("MIXED message type is not supported.")
        return changed_attributes(current, changes)


def changed_attributes(current: TopicConfig | None, changes: Mapping[str, str | None]) -> dict[str, str]:
    attributes = dict(current.attributes) if current is not None else {}
    for name, value in changes.items():
        _check_attribute(name, value, current)
        if value is None:
            attributes.pop(name, None)
        else:
            attributes[name] = value
    return attributes


def _check_attribute(name: str, value: str | None, current: TopicConfig | None) -> None:
    allowed = _ATTRIBUTES.get(name)
    if allowed is None:
        raise BadRequest(f"unknown topic attribute {name:.80}; known are {', '.join(_ATTRIBUTES)}")
    if value is None:
        if current is None:
            raise BadRequest(f"a new topic has no attribute {name} that could be removed")
        if name in _UNCHANGEABLE:
            raise BadRequest(f"the attribute {name} cannot be changed")
    elif name == "reserve.time":
        if _MILLISECONDS.fullmatch(value) is None:
            raise BadRequest(f"reserve.time={value:.40} is not a number of milliseconds")
    elif value not in allowed:
        raise BadRequest(f"{name}={value:.80} is not supported; allowed is {', '.join(allowed)}")


def _check_numbers(config: TopicConfig) -> None:
    for name, count in (
        ("readQueueNums", config.read_queue_nums),
        ("writeQueueNums", config.write_queue_nums),
    ):
        if not 1 <= count <= MAX_QUEUES_PER_TOPIC:
            raise invalid(f"{name} {count} is outside 1..{MAX_QUEUES_PER_TOPIC}")
    if not 0 <= config.perm < PERM_PRIORITY:
        raise invalid(f"perm {config.perm} is outside 0..{PERM_PRIORITY - 1}")
    if config.topic_sys_flag & ~_TOPIC_FLAGS:
        raise invalid(f"topicSysFlag {config.topic_sys_flag} has unknown bits")


def invalid(text: str) -> Refused:
    return Refused(text, code=ResponseCode.INVALID_PARAMETER)


def check_broker_readable(permission: int) -> None:
    if not permission & PERM_READ:
        raise forbidden("this broker is not readable", ForbiddenType.BROKER)


def check_broker_takes(permission: int, topic: TopicConfig | None) -> None:
    """A broker without write permission still accepts unordered topics: clients avoid it by its route."""
    if not permission & PERM_WRITE and topic is not None and topic.order:
        raise NotPermitted("this broker is not writable and the topic is ordered")


def check_group_enabled(group: SubscriptionGroupConfig) -> None:
    if not group.consume_enable:
        raise forbidden(
            f"the consumer group {group.group_name} is not permitted to consume", ForbiddenType.GROUP
        )


def check_topic_readable(topic: TopicConfig) -> None:
    if not topic.is_readable:
        raise forbidden(f"the topic {topic.topic_name} is not readable", ForbiddenType.TOPIC)


def check_queue_readable(topic: TopicConfig, queue_id: int) -> None:
    if not 0 <= queue_id < topic.read_queue_nums:
        raise Refused(
            f"queue id {queue_id} of {topic.topic_name} is outside 0..{topic.read_queue_nums - 1}",
            code=ResponseCode.INVALID_PARAMETER,
        )


def forbidden(text: str, kind: ForbiddenType) -> NotPermitted:
    return NotPermitted(text, forbidden_type=int(kind))


def found_topic(topics: TopicTable, name: str) -> TopicConfig:
    topic = topics.get(name)
    if topic is None:
        raise no_such_topic(name)
    return topic


def no_such_topic(topic: str) -> NotFound:
    return NotFound(f"topic[{topic:.300}] not exist, apply first please!", code=ResponseCode.TOPIC_NOT_EXIST)


def no_such_group(group: str) -> NotFound:
    return NotFound(
        f"subscription group [{group:.300}] does not exist", code=ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    )

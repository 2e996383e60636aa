"""What the broker's and a topic's permission bits allow. Pure decisions; refusals carry RocketMQ's codes."""

from __future__ import annotations

from engine.errors import NotFound, NotPermitted, Refused
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import PERM_READ, PERM_WRITE, TopicConfig
from engine.protocol.codes import ResponseCode
from engine.protocol.headers.pull import ForbiddenType


def check_broker_readable(permission: int) -> None:
    if not permission & PERM_READ:
        raise forbidden("this broker is not readable", ForbiddenType.BROKER)


def check_broker_takes(permission: int, topic: TopicConfig | None) -> None:
    """A broker that is closed for writing still takes what is not ordered: clients avoid it by its route."""
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


def no_such_topic(topic: str) -> NotFound:
    return NotFound(f"topic[{topic:.300}] not exist, apply first please!", code=ResponseCode.TOPIC_NOT_EXIST)


def no_such_group(group: str) -> NotFound:
    return NotFound(
        f"subscription group [{group:.300}] does not exist", code=ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    )

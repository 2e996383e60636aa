"""Names of topics and groups: which are allowed, which are the system's, how retry and DLQ names are made.

A name becomes a folder of the store, so every entry (send, pull, heartbeat, create, replicated record, file)
checks it here first. Allowed are `% | a-z A-Z 0-9 _ -`: no dot, no separator, no control character can pass.
Only pop retry topics also hold a `+` between group and topic. Lengths count characters, which are bytes here.
"""

from __future__ import annotations

import re

from engine.errors import Refused
from engine.protocol.codes import ResponseCode

MAX_TOPIC_LENGTH = 127
MAX_RETRY_OR_DLQ_TOPIC_LENGTH = 255
MAX_GROUP_LENGTH = 248
"""As long as `%RETRY%<group>` allows: 4.9 and 5.3 brokers take longer groups than new clients (120) make."""

RETRY_PREFIX = "%RETRY%"
DLQ_PREFIX = "%DLQ%"
SYSTEM_TOPIC_PREFIX = "rmq_sys_"
SYSTEM_GROUP_PREFIX = "CID_RMQ_SYS_"
REPLY_TOPIC_SUFFIX = "_REPLY_TOPIC"

DEFAULT_TOPIC = "TBW102"
SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
BENCHMARK_TOPIC = "BenchmarkTest"
TRANS_HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
TRANS_OP_HALF_TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
TRANS_CHECK_MAX_TIME_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"
TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"
SELF_TEST_TOPIC = "SELF_TEST_TOPIC"
OFFSET_MOVED_EVENT = "OFFSET_MOVED_EVENT"
CHECKPOINT_TOPIC = "CHECKPOINT_TOPIC"
TIMER_TOPIC = "rmq_sys_wheel_timer"

TRANS_GROUP = "CID_RMQ_SYS_TRANS"
TOOLS_GROUP = "TOOLS_CONSUMER"

SEND_FORBIDDEN_TOPICS = frozenset(
    {
        SCHEDULE_TOPIC,
        TRANS_HALF_TOPIC,
        TRANS_OP_HALF_TOPIC,
        TRANS_CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_EVENT,
    }
)
REVIVE_TOPIC_PREFIX = "rmq_sys_REVIVE_LOG_"
"""Forbidden for sends too: an acknowledgement forged there would take others' messages away."""
SYSTEM_TOPICS = SEND_FORBIDDEN_TOPICS | {DEFAULT_TOPIC, BENCHMARK_TOPIC, TRACE_TOPIC, CHECKPOINT_TOPIC}
SYSTEM_GROUPS = frozenset(
    {
        TOOLS_GROUP,
        "FILTERSRV_CONSUMER",
        "SELF_TEST_C_GROUP",
        "CID_ONS-HTTP-PROXY",
        "CID_ONSAPI_PULL",
        "CID_ONSAPI_PERMISSION",
        "CID_ONSAPI_OWNER",
        TRANS_GROUP,
    }
)

_ALLOWED = re.compile(r"[%|a-zA-Z0-9_-]+")
_ALLOWED_IN_RETRY = re.compile(r"[%|a-zA-Z0-9_+-]+")


def topic_fault(name: str | None) -> str | None:
    """What is wrong with a topic name; None when nothing is."""
    if not name or name.isspace():
        return "the topic name is blank"
    limit = MAX_RETRY_OR_DLQ_TOPIC_LENGTH if name.startswith((RETRY_PREFIX, DLQ_PREFIX)) else MAX_TOPIC_LENGTH
    if len(name) > limit:
        return f"the topic name is {len(name)} characters long, {limit} are allowed"
    allowed = _ALLOWED_IN_RETRY if name.startswith(RETRY_PREFIX) else _ALLOWED
    if allowed.fullmatch(name) is None:
        return f"the topic name {name!r} has characters other than %|a-zA-Z0-9_-"
    return None


def group_fault(name: str | None) -> str | None:
    """What is wrong with a group name; None when nothing is."""
    if not name or name.isspace():
        return "the group name is blank"
    if len(name) > MAX_GROUP_LENGTH:
        return f"the group name is {len(name)} characters long, {MAX_GROUP_LENGTH} are allowed"
    if _ALLOWED.fullmatch(name) is None:
        return f"the group name {name!r} has characters other than %|a-zA-Z0-9_-"
    return None


def check_topic(name: str | None) -> None:
    fault = topic_fault(name)
    if fault is not None:
        raise Refused(fault, code=ResponseCode.INVALID_PARAMETER)


def check_group(name: str | None) -> None:
    fault = group_fault(name)
    if fault is not None:
        raise Refused(fault, code=ResponseCode.INVALID_PARAMETER)


def is_valid_topic(name: str | None) -> bool:
    return topic_fault(name) is None


def is_valid_group(name: str | None) -> bool:
    return group_fault(name) is None


def retry_topic(group: str) -> str:
    return RETRY_PREFIX + group


def dlq_topic(group: str) -> str:
    return DLQ_PREFIX + group


def pop_retry_topic(group: str, topic: str) -> str:
    """Pop retry, version 2."""
    return f"{RETRY_PREFIX}{group}+{topic}"


def pop_retry_topic_v1(group: str, topic: str) -> str:
    """Pop retry, version 1: ambiguous when names hold underscores, kept for stores that have it."""
    return f"{RETRY_PREFIX}{group}_{topic}"


def reply_topic(cluster: str) -> str:
    return cluster + REPLY_TOPIC_SUFFIX


def revive_topic(cluster: str) -> str:
    return REVIVE_TOPIC_PREFIX + cluster


def sync_member_topic(broker: str) -> str:
    return f"{SYSTEM_TOPIC_PREFIX}SYNC_BROKER_MEMBER_{broker}"


def is_retry_topic(name: str) -> bool:
    return name.startswith(RETRY_PREFIX)


def is_dlq_topic(name: str) -> bool:
    return name.startswith(DLQ_PREFIX)


def group_of(topic: str) -> str | None:
    """The group behind a retry or DLQ topic; None for any other topic."""
    if topic.startswith(RETRY_PREFIX):
        return topic[len(RETRY_PREFIX) :].partition("+")[0]
    return topic[len(DLQ_PREFIX) :] if topic.startswith(DLQ_PREFIX) else None


def is_system_topic(name: str, cluster: str, broker: str) -> bool:
    """Topics that admins may neither create nor delete; a cluster and its brokers own a topic each."""
    if name in SYSTEM_TOPICS or name.startswith(SYSTEM_TOPIC_PREFIX):
        return True
    return name in (cluster, broker, reply_topic(cluster))


def is_system_group(name: str) -> bool:
    return name in SYSTEM_GROUPS or name.startswith(SYSTEM_GROUP_PREFIX)

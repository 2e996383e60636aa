"""Retries and dead letters: where a message goes that a group could not consume.

A consumer sends a stored message back with 36; if that fails, it sends the message itself to %RETRY%group.
Pure, but for the group that is created when first seen. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from engine.broker.clients.queue_assignment import QueueLocks
from engine.broker.delivery.parked_messages import draft_of
from engine.broker.groups.group_table import GroupAdmission
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.headers.send import ConsumerSendMsgBackRequest, SendMessageRequest
from engine.protocol.names import RETRY_PREFIX, dlq_topic, retry_topic
from engine.protocol.properties import Property, decode_properties, encode_properties
from engine.protocol.records import Record
from engine.store.results import MessageDraft

DLQ_QUEUES = 1
FIRST_RETRY_LEVEL = 3
_SINCE_VERSION = 121
"""V3_4_9: the maxReconsumeTimes of older clients is ignored."""


@dataclass(frozen=True, slots=True)
class SendBackPlan:
    """The message to append, and the queue count of its topic if that must be created."""

    draft: MessageDraft
    queue_nums: int


def plan_send_back(
    record: Record,
    group: SubscriptionGroupConfig,
    header: ConsumerSendMsgBackRequest,
    client_version: int,
    draw: Callable[[int], int],
) -> SendBackPlan:
    """The message with its first topic and id kept and its reconsume count raised."""
    properties: dict[str, str | None] = {
        name: value for name, value in record.properties.items() if name != Property.DELAY
    }
    properties.setdefault(Property.RETRY_TOPIC, record.topic)
    properties.setdefault(Property.ORIGIN_MESSAGE_ID, record.offset_msg_id)
    properties[Property.WAIT] = "false"
    times = record.reconsume_times
    allowed = header.max_reconsume_times
    if allowed is None or client_version < _SINCE_VERSION:
        allowed = group.retry_max_times
    if times >= allowed or header.delay_level < 0:
        topic, queue_nums = dlq_topic(group.group_name), DLQ_QUEUES
    else:
        topic, queue_nums = retry_topic(group.group_name), group.retry_queue_nums
        properties[Property.DELAY] = str(header.delay_level or FIRST_RETRY_LEVEL + times)
    draft = draft_of(record, topic, draw(queue_nums), encode_properties(properties).encode())
    return SendBackPlan(draft._replace(reconsume_times=times + 1), queue_nums)


def retrying_group(topic: str) -> str:
    """The group of a retry topic; retry topics of pops have "+" and the first topic after the group."""
    return topic.removeprefix(RETRY_PREFIX).partition("+")[0]


@dataclass(eq=False, repr=False)
class RetryRule:
    """The rule for sends to a retry topic."""

    groups: GroupAdmission
    locks: QueueLocks

    def dead_letter(self, header: SendMessageRequest, now_ms: int, host: str) -> SendMessageRequest | None:
        """The send to the dead letter queue that replaces this one; None: there are retries left. A group
        that consumes in order has used up its retries before it sends a message here."""
        if not header.topic.startswith(RETRY_PREFIX):
            return None
        name = retrying_group(header.topic)
        config = self.groups.admit(name, now_ms, host)
        asked = header.max_reconsume_times
        allowed = config.retry_max_times if asked is None else asked
        if (header.reconsume_times or 0) <= allowed and not self.locks.has_live_lease(name, now_ms):
            return None
        kept = decode_properties(header.properties or "")
        kept.pop(Property.DELAY, None)
        return replace(header, topic=dlq_topic(name), queue_id=0, properties=encode_properties(dict(kept)))

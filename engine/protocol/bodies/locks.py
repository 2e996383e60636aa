"""Queue locks of orderly consumers (41, 42) and who consumes what by the broker's choice (400–402)."""

from __future__ import annotations

from enum import IntEnum

from msgspec import field

from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.heartbeats import MessageModel
from engine.protocol.wire import Body, Int32


class MessageRequestMode(IntEnum):
    PULL = 0
    POP = 1


class LockBatchRequestBody(Body, frozen=True):
    """41; C++ leaves only_this_broker out."""

    consumer_group: str = ""
    client_id: str = ""
    mq_set: tuple[MessageQueue, ...] = ()
    only_this_broker: bool = False


class LockBatchResponseBody(Body, frozen=True):
    lock_ok_mq_set: tuple[MessageQueue, ...] = field(default=(), name="lockOKMQSet")


class QueryAssignmentRequestBody(Body, frozen=True):
    """400."""

    topic: str = ""
    consumer_group: str = ""
    client_id: str = ""
    strategy_name: str = ""
    message_model: MessageModel = MessageModel.CLUSTERING


class MessageQueueAssignment(Body, frozen=True):
    message_queue: MessageQueue | None = None
    mode: MessageRequestMode = MessageRequestMode.PULL
    attachments: dict[str, str] | None = None


class QueryAssignmentResponseBody(Body, frozen=True):
    message_queue_assignments: tuple[MessageQueueAssignment, ...] = ()


class SetMessageRequestModeRequestBody(Body, frozen=True):
    """401."""

    topic: str = ""
    consumer_group: str = ""
    mode: MessageRequestMode = MessageRequestMode.PULL
    pop_share_queue_num: Int32 = 0


class MessageRequestModeSerializeWrapper(Body, frozen=True):
    """Answer to 402, and messageRequestMode.json: {topic: {group: mode}}."""

    message_request_mode_map: dict[str, dict[str, SetMessageRequestModeRequestBody]] = field(
        default_factory=dict
    )

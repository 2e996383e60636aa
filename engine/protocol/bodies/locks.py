"""Queue locks of orderly consumers (41, 42) and who consumes what by the broker's choice (400–402)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.heartbeats import MessageModel
from engine.protocol.wire import Body, Int32, named


class MessageRequestMode(IntEnum):
    PULL = 0
    POP = 1


@dataclass(frozen=True, slots=True)
class LockBatchRequestBody(Body):
    """41; C++ leaves only_this_broker out."""

    consumer_group: str = ""
    client_id: str = ""
    mq_set: tuple[MessageQueue, ...] = ()
    only_this_broker: bool = False


UnlockBatchRequestBody = LockBatchRequestBody


@dataclass(frozen=True, slots=True)
class LockBatchResponseBody(Body):
    lock_ok_mq_set: tuple[MessageQueue, ...] = field(default=(), metadata=named("lockOKMQSet"))


@dataclass(frozen=True, slots=True)
class QueryAssignmentRequestBody(Body):
    """400."""

    topic: str = ""
    consumer_group: str = ""
    client_id: str = ""
    strategy_name: str = ""
    message_model: MessageModel = MessageModel.CLUSTERING


@dataclass(frozen=True, slots=True)
class MessageQueueAssignment(Body):
    message_queue: MessageQueue | None = None
    mode: MessageRequestMode = MessageRequestMode.PULL
    attachments: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class QueryAssignmentResponseBody(Body):
    message_queue_assignments: tuple[MessageQueueAssignment, ...] = ()


@dataclass(frozen=True, slots=True)
class SetMessageRequestModeRequestBody(Body):
    """401."""

    topic: str = ""
    consumer_group: str = ""
    mode: MessageRequestMode = MessageRequestMode.PULL
    pop_share_queue_num: Int32 = 0


@dataclass(frozen=True, slots=True)
class MessageRequestModeSerializeWrapper(Body):
    """Answer to 402, and messageRequestMode.json: {topic: {group: mode}}."""

    message_request_mode_map: dict[str, dict[str, SetMessageRequestModeRequestBody]] = field(
        default_factory=dict
    )

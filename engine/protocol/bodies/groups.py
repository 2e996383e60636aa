"""Consumer groups: their configuration as brokers keep it (its wrapper also shapes subscriptionGroup.json),
queue locks of orderly consumers (41, 42), and the assignment of queues by the broker (400 to 402).
"""

from __future__ import annotations

from enum import IntEnum

from msgspec import field

from engine.protocol.bodies.basics import DataVersion, MessageQueue
from engine.protocol.bodies.clients import MessageModel, SubscriptionData
from engine.protocol.wire import Body, Int32, Int64

FORBIDDEN_READ_BIT = 2
"""Bit number in `forbidden_table` that forbids a group to read a topic."""


class GroupRetryPolicyType(IntEnum):
    EXPONENTIAL = 0
    CUSTOMIZED = 1


class CustomizedRetryPolicy(Body, frozen=True):
    """Milliseconds before each redelivery."""

    next: tuple[Int64, ...] = ()


class ExponentialRetryPolicy(Body, frozen=True):
    initial: Int64 = 5_000
    max: Int64 = 7_200_000
    multiplier: Int64 = 2


class GroupRetryPolicy(Body, frozen=True):
    type: GroupRetryPolicyType = GroupRetryPolicyType.CUSTOMIZED
    exponential_retry_policy: ExponentialRetryPolicy | None = None
    customized_retry_policy: CustomizedRetryPolicy | None = None


class SimpleSubscriptionData(Body, frozen=True):
    """One fixed subscription of a group."""

    topic: str = ""
    expression_type: str = "TAG"
    expression: str = "*"
    version: Int64 = 0


class SubscriptionGroupConfig(Body, frozen=True):
    group_name: str = ""
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    consume_message_orderly: bool = False
    retry_queue_nums: Int32 = 1
    retry_max_times: Int32 = 16
    group_retry_policy: GroupRetryPolicy = GroupRetryPolicy()
    broker_id: Int64 = 0
    which_broker_when_consume_slowly: Int64 = 1
    notify_consumer_ids_changed_enable: bool = True
    group_sys_flag: Int32 = 0
    consume_timeout_minute: Int32 = 15
    subscription_data_set: tuple[SimpleSubscriptionData, ...] | None = None
    attributes: dict[str, str] = field(default_factory=dict)


class SubscriptionGroupWrapper(Body, frozen=True):
    """Answer to 201, and subscriptionGroup.json; forbidden_table is {group: {topic: bits}}."""

    subscription_group_table: dict[str, SubscriptionGroupConfig] = field(default_factory=dict)
    forbidden_table: dict[str, dict[str, Int32]] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)


class SubscriptionGroupList(Body, frozen=True):
    """225."""

    group_config_list: tuple[SubscriptionGroupConfig, ...] = ()


class GroupForbidden(Body, frozen=True):
    """Answer to 353."""

    group: str = ""
    topic: str = ""
    readable: bool | None = None


class QuerySubscriptionResponseBody(Body, frozen=True):
    """Answer to 345."""

    group: str = ""
    topic: str | None = None
    subscription_data: SubscriptionData | None = None


class GetConsumerListByGroupResponseBody(Body, frozen=True):
    """Answer to 38."""

    consumer_id_list: tuple[str, ...] = ()


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

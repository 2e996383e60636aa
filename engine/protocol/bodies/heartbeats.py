"""What clients announce of themselves: groups, subscriptions, modes (34, 46).

C++ sends the enums as ordinals, `subVersion` as a string, leaves empty sets out, and fills `codeSet` with
garbage: take the codes from the tags, never from here.
"""

from __future__ import annotations

from enum import IntEnum

from msgspec import field

from engine.protocol.wire import Body, Int32, Int64

ALL_TAGS = "*"
TAG_EXPRESSION = "TAG"
SQL92_EXPRESSION = "SQL92"


class ConsumeType(IntEnum):
    CONSUME_ACTIVELY = 0
    CONSUME_PASSIVELY = 1
    CONSUME_POP = 2


class MessageModel(IntEnum):
    BROADCASTING = 0
    CLUSTERING = 1


class ConsumeFromWhere(IntEnum):
    CONSUME_FROM_LAST_OFFSET = 0
    CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST = 1
    CONSUME_FROM_MIN_OFFSET = 2
    CONSUME_FROM_MAX_OFFSET = 3
    CONSUME_FROM_FIRST_OFFSET = 4
    CONSUME_FROM_TIMESTAMP = 5


class SubscriptionData(Body, frozen=True):
    topic: str = ""
    sub_string: str = ALL_TAGS
    tags_set: frozenset[str] = frozenset()
    code_set: frozenset[Int32] = frozenset()
    sub_version: Int64 = 0
    expression_type: str = TAG_EXPRESSION
    class_filter_mode: bool = False


class ConsumerData(Body, frozen=True):
    group_name: str = ""
    consume_type: ConsumeType = ConsumeType.CONSUME_PASSIVELY
    message_model: MessageModel = MessageModel.CLUSTERING
    consume_from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    subscription_data_set: tuple[SubscriptionData, ...] = ()
    unit_mode: bool = False


class ProducerData(Body, frozen=True):
    group_name: str = ""


class HeartbeatData(Body, frozen=True):
    """34; a V2 heartbeat that changes nothing has `without_sub` and a fingerprint, no subscriptions."""

    client_id: str = field(default="", name="clientID")
    producer_data_set: tuple[ProducerData, ...] = ()
    consumer_data_set: tuple[ConsumerData, ...] = ()
    heartbeat_fingerprint: Int32 = 0
    without_sub: bool = False


class CheckClientRequestBody(Body, frozen=True):
    """46."""

    client_id: str = ""
    group: str = ""
    namespace: str | None = None
    subscription_data: SubscriptionData | None = None

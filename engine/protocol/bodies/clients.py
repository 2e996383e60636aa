"""Clients: what they announce of themselves (34, 46), who is connected (203, 204, 328), and what a consumer
answers when the broker relays an admin's question (307, 309).

C++ sends the enums as ordinals, `subVersion` as a string, leaves empty sets out, and fills `codeSet` with
garbage: take the codes from the tags, never from here. `droped` is the protocol's spelling.
"""

from __future__ import annotations

from enum import IntEnum

from msgspec import field

from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.codes import LanguageCode
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


class Connection(Body, frozen=True):
    """client_addr is `ip:port`, version an MQVersion ordinal."""

    client_id: str = ""
    client_addr: str = ""
    language: LanguageCode = LanguageCode.OTHER
    version: Int32 = 0


class ConsumerConnection(Body, frozen=True):
    """Answer to 203."""

    connection_set: tuple[Connection, ...] = ()
    subscription_table: dict[str, SubscriptionData] = field(default_factory=dict)
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None


class ProducerConnection(Body, frozen=True):
    """Answer to 204."""

    connection_set: tuple[Connection, ...] = ()


class ProducerInfo(Body, frozen=True):
    client_id: str = ""
    remote_ip: str = field(default="", name="remoteIP")
    language: LanguageCode = LanguageCode.OTHER
    version: Int32 = 0
    last_update_timestamp: Int64 = 0


class ProducerTableInfo(Body, frozen=True):
    """Answer to 328: producers by group."""

    data: dict[str, tuple[ProducerInfo, ...]] = field(default_factory=dict)


PROP_NAMESERVER_ADDR = "PROP_NAMESERVER_ADDR"
PROP_THREADPOOL_CORE_SIZE = "PROP_THREADPOOL_CORE_SIZE"
PROP_CONSUME_ORDERLY = "PROP_CONSUMEORDERLY"
PROP_CONSUME_TYPE = "PROP_CONSUME_TYPE"
PROP_CLIENT_VERSION = "PROP_CLIENT_VERSION"
PROP_CONSUMER_START_TIMESTAMP = "PROP_CONSUMER_START_TIMESTAMP"


class ConsumeResult(IntEnum):
    CR_SUCCESS = 0
    CR_LATER = 1
    CR_ROLLBACK = 2
    CR_COMMIT = 3
    CR_THROW_EXCEPTION = 4
    CR_RETURN_NULL = 5


class ProcessQueueInfo(Body, frozen=True):
    """A consumer's local copy of one queue; all offsets are queue offsets."""

    commit_offset: Int64 = 0
    cached_msg_min_offset: Int64 = 0
    cached_msg_max_offset: Int64 = 0
    cached_msg_count: Int32 = 0
    cached_msg_size_in_mib: Int32 = field(default=0, name="cachedMsgSizeInMiB")
    transaction_msg_min_offset: Int64 = 0
    transaction_msg_max_offset: Int64 = 0
    transaction_msg_count: Int32 = 0
    locked: bool = False
    try_unlock_times: Int64 = 0
    last_lock_timestamp: Int64 = 0
    dropped: bool = field(default=False, name="droped")
    last_pull_timestamp: Int64 = 0
    last_consume_timestamp: Int64 = 0


class PopProcessQueueInfo(Body, frozen=True):
    wait_ack_count: Int32 = 0
    dropped: bool = field(default=False, name="droped")
    last_pop_timestamp: Int64 = 0


class ConsumeStatus(Body, frozen=True):
    """Rates of one topic: per second, and milliseconds per pull or message."""

    pull_rt: float = field(default=0.0, name="pullRT")
    pull_tps: float = field(default=0.0, name="pullTPS")
    consume_rt: float = field(default=0.0, name="consumeRT")
    consume_ok_tps: float = field(default=0.0, name="consumeOKTPS")
    consume_failed_tps: float = field(default=0.0, name="consumeFailedTPS")
    consume_failed_msgs: Int64 = 0


class ConsumerRunningInfo(Body, frozen=True):
    """Answer to 307."""

    properties: dict[str, str] = field(default_factory=dict)
    subscription_set: tuple[SubscriptionData, ...] = ()
    mq_table: dict[MessageQueue, ProcessQueueInfo] = field(default_factory=dict)
    mq_pop_table: dict[MessageQueue, PopProcessQueueInfo] = field(default_factory=dict)
    status_table: dict[str, ConsumeStatus] = field(default_factory=dict)
    user_consumer_info: dict[str, str] = field(default_factory=dict)
    jstack: str | None = None


class ConsumeMessageDirectlyResult(Body, frozen=True):
    """Answer to 309."""

    order: bool = False
    auto_commit: bool = True
    consume_result: ConsumeResult | None = None
    remark: str | None = None
    spent_time_mills: Int64 = 0

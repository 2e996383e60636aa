"""Headers of reads: PULL_MESSAGE (11) and LITE_PULL_MESSAGE (361) with the bits of their system flag, and
queries for stored messages and queue contents.
"""

from __future__ import annotations

from enum import IntEnum

from msgspec import field

from engine.protocol.wire import Header, Int32, Int64

PULL_COMMIT_OFFSET = 0x1
PULL_SUSPEND = 0x2
PULL_SUBSCRIPTION = 0x4


class ForbiddenType(IntEnum):
    """What a NO_PERMISSION answer to a pull forbids."""

    BROKER = 1
    GROUP = 2
    TOPIC = 3
    BROADCASTING = 4
    SUBSCRIPTION = 5


class PullMessageRequest(Header, frozen=True):
    """11, 361; request_source: -1 client, 0 proxy ordered, 1 proxy broadcast, 2 proxy stream."""

    consumer_group: str
    topic: str
    queue_id: Int32
    queue_offset: Int64
    max_msg_nums: Int32
    sys_flag: Int32
    commit_offset: Int64
    suspend_timeout_millis: Int64
    sub_version: Int64
    subscription: str | None = None
    expression_type: str | None = None
    max_msg_bytes: Int32 | None = None
    request_source: Int32 | None = None
    # The misspelling is the protocol's.
    proxy_forward_client_id: str | None = field(default=None, name="proxyFrowardClientId")

    @property
    def commits_offset(self) -> bool:
        return bool(self.sys_flag & PULL_COMMIT_OFFSET)

    @property
    def may_suspend(self) -> bool:
        return bool(self.sys_flag & PULL_SUSPEND)

    @property
    def has_subscription(self) -> bool:
        return bool(self.sys_flag & PULL_SUBSCRIPTION)


class PullMessageResponse(Header, frozen=True):
    """Must accompany 0, 19, 20 and 21: the C++ client throws without it."""

    suggest_which_broker_id: Int64
    next_begin_offset: Int64
    min_offset: Int64
    max_offset: Int64
    offset_delta: Int64 | None = None
    topic_sys_flag: Int32 | None = None
    group_sys_flag: Int32 | None = None
    forbidden_type: Int32 | None = None


FROM_THE_NEWEST = "newest"


class QueryMessageRequest(Header, frozen=True):
    """12; with unique_key_query the key is a message's unique key and the broker picks the number.

    `continuation` is our own, and ignored by RocketMQ: FROM_THE_NEWEST asks for one, the answer's goes on
    behind it.
    """

    topic: str
    key: str
    max_num: Int32
    begin_timestamp: Int64
    end_timestamp: Int64
    unique_key_query: bool = field(default=False, name="_UNIQUE_KEY_QUERY")
    continuation: str | None = field(default=None, name="signalboxContinuation")


class QueryMessageResponse(Header, frozen=True):
    index_last_update_timestamp: Int64 = 0
    index_last_update_phyoffset: Int64 = 0
    continuation: str | None = field(default=None, name="signalboxContinuation")


class ViewMessageRequest(Header, frozen=True):
    """33; `offset` is a commit-log offset."""

    offset: Int64
    topic: str | None = None


class QueryConsumeQueueRequest(Header, frozen=True):
    """321."""

    topic: str
    queue_id: Int32
    index: Int64 = 0
    count: Int32 = 0
    consumer_group: str | None = None

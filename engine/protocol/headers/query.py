"""Headers of queries for stored messages and queue contents."""

from __future__ import annotations

from msgspec import field

from engine.protocol.wire import Header, Int32, Int64

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

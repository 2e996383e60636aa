"""Headers about offsets of queues and groups: query, commit, search by time, reset, clone.

`offset` is always a queue offset here.
"""

from __future__ import annotations

from msgspec import field

from engine.protocol.wire import Header, Int32, Int64


class QueryConsumerOffsetRequest(Header, frozen=True):
    """14; absent set_zero_if_not_found means true."""

    consumer_group: str
    topic: str
    queue_id: Int32
    set_zero_if_not_found: bool | None = None


class OffsetResponse(Header, frozen=True):
    """The answer of 14, 29, 30 and 31."""

    offset: Int64


class UpdateConsumerOffsetRequest(Header, frozen=True):
    """15; ali-ons commits -1 for a queue whose offset it does not know."""

    consumer_group: str
    topic: str
    queue_id: Int32
    commit_offset: Int64


class SearchOffsetRequest(Header, frozen=True):
    """29; the boundary is the lower one unless boundary_type spells "upper"."""

    topic: str
    queue_id: Int32
    timestamp: Int64
    boundary_type: str | None = None

    @property
    def wants_upper(self) -> bool:
        return self.boundary_type is not None and self.boundary_type.lower() == "upper"


class GetMaxOffsetRequest(Header, frozen=True):
    """30."""

    topic: str
    queue_id: Int32
    committed: bool = True


class GetMinOffsetRequest(Header, frozen=True):
    """31."""

    topic: str
    queue_id: Int32


class GetEarliestMsgStoretimeRequest(Header, frozen=True):
    """32."""

    topic: str
    queue_id: Int32


class GetEarliestMsgStoretimeResponse(Header, frozen=True):
    """-1 when the queue holds nothing."""

    timestamp: Int64


class ResetOffsetRequest(Header, frozen=True):
    """222 from admins, 220 to clients; queue -1 means all queues, timestamp -1 the end of the queue."""

    topic: str
    group: str
    timestamp: Int64
    queue_id: Int32 = -1
    offset: Int64 | None = None
    is_force: bool = False


class GetConsumerStatusRequest(Header, frozen=True):
    """223 from admins, 221 to clients."""

    topic: str
    group: str
    client_addr: str | None = None


class QueryCorrectionOffsetRequest(Header, frozen=True):
    """308; filter_groups is joined by commas."""

    topic: str
    compare_group: str
    filter_groups: str | None = None


class CloneGroupOffsetRequest(Header, frozen=True):
    """314."""

    src_group: str
    dest_group: str
    topic: str | None = None
    offline: bool = False


class QueryConsumeTimeSpanRequest(Header, frozen=True):
    """303."""

    topic: str
    group: str


class GetConsumeStatsRequest(Header, frozen=True):
    """208; topic_list is joined by semicolons."""

    consumer_group: str
    topic: str | None = None
    topics_text: str | None = field(default=None, name="topicList")

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics asked for in either form; empty means all."""
        listed = tuple(name for name in (self.topics_text or "").split(";") if name)
        return listed or ((self.topic,) if self.topic else ())


class GetBrokerConsumeStatsRequest(Header, frozen=True):
    """317."""

    is_order: bool = False

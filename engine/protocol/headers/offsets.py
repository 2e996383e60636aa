"""Headers about offsets of queues and groups: query, commit, search by time, reset, clone.

`offset` is always a queue offset here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.protocol.wire import Header, Int32, Int64, named


@dataclass(frozen=True, slots=True)
class QueryConsumerOffsetRequest(Header):
    """14; absent set_zero_if_not_found means true."""

    consumer_group: str
    topic: str
    queue_id: Int32
    set_zero_if_not_found: bool | None = None


@dataclass(frozen=True, slots=True)
class OffsetResponse(Header):
    """The answer of 14, 29, 30 and 31."""

    offset: Int64


QueryConsumerOffsetResponse = OffsetResponse
SearchOffsetResponse = OffsetResponse
GetMaxOffsetResponse = OffsetResponse
GetMinOffsetResponse = OffsetResponse


@dataclass(frozen=True, slots=True)
class UpdateConsumerOffsetRequest(Header):
    """15; ali-ons commits -1 for a queue whose offset it does not know."""

    consumer_group: str
    topic: str
    queue_id: Int32
    commit_offset: Int64


@dataclass(frozen=True, slots=True)
class SearchOffsetRequest(Header):
    """29; the boundary is the lower one unless boundary_type spells "upper"."""

    topic: str
    queue_id: Int32
    timestamp: Int64
    boundary_type: str | None = None

    @property
    def wants_upper(self) -> bool:
        return self.boundary_type is not None and self.boundary_type.lower() == "upper"


@dataclass(frozen=True, slots=True)
class GetMaxOffsetRequest(Header):
    """30."""

    topic: str
    queue_id: Int32
    committed: bool = True


@dataclass(frozen=True, slots=True)
class GetMinOffsetRequest(Header):
    """31."""

    topic: str
    queue_id: Int32


@dataclass(frozen=True, slots=True)
class GetEarliestMsgStoretimeRequest(Header):
    """32."""

    topic: str
    queue_id: Int32


@dataclass(frozen=True, slots=True)
class GetEarliestMsgStoretimeResponse(Header):
    """-1 when the queue holds nothing."""

    timestamp: Int64


@dataclass(frozen=True, slots=True)
class ResetOffsetRequest(Header):
    """222 from admins, 220 to clients; queue -1 means all queues, timestamp -1 the end of the queue."""

    topic: str
    group: str
    timestamp: Int64
    queue_id: Int32 = -1
    offset: Int64 | None = None
    is_force: bool = False


@dataclass(frozen=True, slots=True)
class GetConsumerStatusRequest(Header):
    """223 from admins, 221 to clients."""

    topic: str
    group: str
    client_addr: str | None = None


@dataclass(frozen=True, slots=True)
class QueryCorrectionOffsetRequest(Header):
    """308; filter_groups is joined by commas."""

    topic: str
    compare_group: str
    filter_groups: str | None = None


@dataclass(frozen=True, slots=True)
class CloneGroupOffsetRequest(Header):
    """314."""

    src_group: str
    dest_group: str
    topic: str | None = None
    offline: bool = False


@dataclass(frozen=True, slots=True)
class QueryConsumeTimeSpanRequest(Header):
    """303."""

    topic: str
    group: str


@dataclass(frozen=True, slots=True)
class GetConsumeStatsRequest(Header):
    """208; topic_list is joined by semicolons."""

    consumer_group: str
    topic: str | None = None
    topics_text: str | None = field(default=None, metadata=named("topicList"))

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics asked for in either form; empty means all."""
        listed = tuple(name for name in (self.topics_text or "").split(";") if name)
        return listed or ((self.topic,) if self.topic else ())


@dataclass(frozen=True, slots=True)
class GetBrokerConsumeStatsRequest(Header):
    """317."""

    is_order: bool = False

"""Headers of consumer-group administration on a broker."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol.wire import Header, Int32


@dataclass(frozen=True, slots=True)
class GetAllSubscriptionGroupRequest(Header):
    """201; all absent asks for everything, else for one page of the sorted table."""

    group_seq: Int32 | None = None
    data_version: str | None = None
    max_group_num: Int32 | None = None


@dataclass(frozen=True, slots=True)
class GetAllSubscriptionGroupResponse(Header):
    total_group_num: Int32 | None = None


@dataclass(frozen=True, slots=True)
class GetSubscriptionGroupConfigRequest(Header):
    """352."""

    group: str


@dataclass(frozen=True, slots=True)
class DeleteSubscriptionGroupRequest(Header):
    """207."""

    group_name: str
    clean_offset: bool = False


@dataclass(frozen=True, slots=True)
class UpdateGroupForbiddenRequest(Header):
    """353; without `readable` it only asks."""

    group: str
    topic: str
    readable: bool | None = None


@dataclass(frozen=True, slots=True)
class QueryTopicsByConsumerRequest(Header):
    """343."""

    group: str


@dataclass(frozen=True, slots=True)
class QuerySubscriptionByConsumerRequest(Header):
    """345."""

    group: str
    topic: str | None = None

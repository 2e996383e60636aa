"""Headers of consumer-group administration on a broker."""

from __future__ import annotations

from engine.protocol.wire import Header, Int32


class GetAllSubscriptionGroupRequest(Header, frozen=True):
    """201; all absent asks for everything, else for one page of the sorted table."""

    group_seq: Int32 | None = None
    data_version: str | None = None
    max_group_num: Int32 | None = None


class GetAllSubscriptionGroupResponse(Header, frozen=True):
    total_group_num: Int32 | None = None


class GetSubscriptionGroupConfigRequest(Header, frozen=True):
    """352."""

    group: str


class DeleteSubscriptionGroupRequest(Header, frozen=True):
    """207."""

    group_name: str
    clean_offset: bool = False


class UpdateGroupForbiddenRequest(Header, frozen=True):
    """353; without `readable` it only asks."""

    group: str
    topic: str
    readable: bool | None = None


class QueryTopicsByConsumerRequest(Header, frozen=True):
    """343."""

    group: str


class QuerySubscriptionByConsumerRequest(Header, frozen=True):
    """345."""

    group: str
    topic: str | None = None

"""Headers about consumer groups and connected clients: group settings, leaving, listing, and the requests
that the broker relays to a client.
"""

from __future__ import annotations

from msgspec import field

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


class HeartbeatResponse(Header, frozen=True):
    """Answer to 34."""

    is_support_heart_beat_v2: bool = field(default=True, name="IS_SUPPORT_HEART_BEAT_V2")
    is_sub_change: bool = field(default=False, name="IS_SUB_CHANGE")


class UnregisterClientRequest(Header, frozen=True):
    """35; C++ sends an empty string for the group that does not apply, which reads as None."""

    client_id: str = field(name="clientID")
    producer_group: str | None = None
    consumer_group: str | None = None


class GetConsumerListByGroupRequest(Header, frozen=True):
    """38."""

    consumer_group: str


class NotifyConsumerIdsChangedRequest(Header, frozen=True):
    """40, broker to client."""

    consumer_group: str


class GetConsumerConnectionListRequest(Header, frozen=True):
    """203."""

    consumer_group: str


class GetProducerConnectionListRequest(Header, frozen=True):
    """204."""

    producer_group: str


class GetConsumerRunningInfoRequest(Header, frozen=True):
    """307, from an admin, relayed to the client as it came."""

    consumer_group: str
    client_id: str
    jstack_enable: bool = False


class ConsumeMessageDirectlyRequest(Header, frozen=True):
    """309; msg_id is an offset message id. The broker adds broker_name and the flags when it relays."""

    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None
    topic: str | None = None
    topic_sys_flag: Int32 | None = None
    group_sys_flag: Int32 | None = None

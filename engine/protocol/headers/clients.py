"""Headers about connected clients: leaving, listing, and the questions that the broker relays to a client."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.protocol.wire import Header, Int32, named


@dataclass(frozen=True, slots=True)
class HeartbeatResponse(Header):
    """Answer to 34."""

    is_support_heart_beat_v2: bool = field(default=True, metadata=named("IS_SUPPORT_HEART_BEAT_V2"))
    is_sub_change: bool = field(default=False, metadata=named("IS_SUB_CHANGE"))


@dataclass(frozen=True, slots=True)
class UnregisterClientRequest(Header):
    """35; C++ sends an empty string for the group that does not apply, which reads as None."""

    client_id: str = field(metadata=named("clientID"))
    producer_group: str | None = None
    consumer_group: str | None = None


@dataclass(frozen=True, slots=True)
class GetConsumerListByGroupRequest(Header):
    """38."""

    consumer_group: str


@dataclass(frozen=True, slots=True)
class NotifyConsumerIdsChangedRequest(Header):
    """40, broker to client."""

    consumer_group: str


@dataclass(frozen=True, slots=True)
class GetConsumerConnectionListRequest(Header):
    """203."""

    consumer_group: str


@dataclass(frozen=True, slots=True)
class GetProducerConnectionListRequest(Header):
    """204."""

    producer_group: str


@dataclass(frozen=True, slots=True)
class GetConsumerRunningInfoRequest(Header):
    """307, from an admin, relayed to the client as it came."""

    consumer_group: str
    client_id: str
    jstack_enable: bool = False


@dataclass(frozen=True, slots=True)
class ConsumeMessageDirectlyRequest(Header):
    """309; msg_id is an offset message id. The broker adds broker_name and the flags when it relays."""

    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None
    topic: str | None = None
    topic_sys_flag: Int32 | None = None
    group_sys_flag: Int32 | None = None

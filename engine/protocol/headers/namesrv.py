"""Headers of requests to a name server, and of the one that it sends (905)."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.protocol.wire import Header, Int32, Int64, named


@dataclass(frozen=True, slots=True)
class PutKVConfigRequest(Header):
    """100."""

    namespace: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class GetKVConfigRequest(Header):
    """101."""

    namespace: str
    key: str


@dataclass(frozen=True, slots=True)
class GetKVConfigResponse(Header):
    value: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteKVConfigRequest(Header):
    """102."""

    namespace: str
    key: str


@dataclass(frozen=True, slots=True)
class GetKVListByNamespaceRequest(Header):
    """219."""

    namespace: str


@dataclass(frozen=True, slots=True)
class RegisterBrokerRequest(Header):
    """103; `enable_acting_master` counts even when false: its presence marks a broker that may act."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    ha_server_addr: str
    broker_id: Int64
    heartbeat_timeout_millis: Int64 | None = None
    enable_acting_master: bool | None = None
    compressed: bool = False
    body_crc32: Int32 = 0


@dataclass(frozen=True, slots=True)
class RegisterBrokerResponse(Header):
    """Both are the master's, and given to slaves only."""

    ha_server_addr: str | None = None
    master_addr: str | None = None


@dataclass(frozen=True, slots=True)
class UnregisterBrokerRequest(Header):
    """104."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


@dataclass(frozen=True, slots=True)
class QueryDataVersionRequest(Header):
    """322."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


@dataclass(frozen=True, slots=True)
class QueryDataVersionResponse(Header):
    changed: bool = False


@dataclass(frozen=True, slots=True)
class GetRouteInfoRequest(Header):
    """105."""

    topic: str
    accept_standard_json_only: bool = False


@dataclass(frozen=True, slots=True)
class WipeWritePermOfBrokerRequest(Header):
    """205."""

    broker_name: str


@dataclass(frozen=True, slots=True)
class WipeWritePermOfBrokerResponse(Header):
    wipe_topic_count: Int32 = 0


@dataclass(frozen=True, slots=True)
class AddWritePermOfBrokerRequest(Header):
    """327."""

    broker_name: str


@dataclass(frozen=True, slots=True)
class AddWritePermOfBrokerResponse(Header):
    add_topic_count: Int32 = 0


@dataclass(frozen=True, slots=True)
class DeleteTopicFromNamesrvRequest(Header):
    """216."""

    topic: str
    cluster_name: str | None = None


@dataclass(frozen=True, slots=True)
class RegisterTopicRequest(Header):
    """217."""

    topic: str


@dataclass(frozen=True, slots=True)
class GetTopicsByClusterRequest(Header):
    """224."""

    cluster: str


@dataclass(frozen=True, slots=True)
class GetBrokerMemberGroupRequest(Header):
    """901."""

    cluster_name: str
    broker_name: str


@dataclass(frozen=True, slots=True)
class BrokerHeartbeatRequest(Header):
    """904, to name servers and controllers. The misspelled unit is the protocol's."""

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: Int64 | None = None
    epoch: Int32 | None = None
    max_offset: Int64 | None = None
    confirm_offset: Int64 | None = None
    heartbeat_timeout_millis: Int64 | None = field(default=None, metadata=named("heartbeatTimeoutMills"))
    election_priority: Int32 | None = None


@dataclass(frozen=True, slots=True)
class NotifyMinBrokerIdChangeRequest(Header):
    """905, name server to broker."""

    min_broker_id: Int64 | None = None
    broker_name: str | None = None
    min_broker_addr: str | None = None
    offline_broker_addr: str | None = None
    ha_broker_addr: str | None = None

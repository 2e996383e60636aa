"""Headers of requests to a name server."""

from __future__ import annotations

from msgspec import field

from engine.protocol.wire import Header, Int32, Int64


class PutKVConfigRequest(Header, frozen=True):
    """100."""

    namespace: str
    key: str
    value: str


class GetKVConfigRequest(Header, frozen=True):
    """101."""

    namespace: str
    key: str


class GetKVConfigResponse(Header, frozen=True):
    value: str | None = None


class DeleteKVConfigRequest(Header, frozen=True):
    """102."""

    namespace: str
    key: str


class GetKVListByNamespaceRequest(Header, frozen=True):
    """219."""

    namespace: str


class RegisterBrokerRequest(Header, frozen=True):
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


class RegisterBrokerResponse(Header, frozen=True):
    """Both are the master's, and given to slaves only."""

    ha_server_addr: str | None = None
    master_addr: str | None = None


class UnregisterBrokerRequest(Header, frozen=True):
    """104."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


class QueryDataVersionRequest(Header, frozen=True):
    """322."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


class QueryDataVersionResponse(Header, frozen=True):
    changed: bool = False


class GetRouteInfoRequest(Header, frozen=True):
    """105."""

    topic: str
    accept_standard_json_only: bool = False


class WipeWritePermOfBrokerRequest(Header, frozen=True):
    """205."""

    broker_name: str


class WipeWritePermOfBrokerResponse(Header, frozen=True):
    wipe_topic_count: Int32 = 0


class AddWritePermOfBrokerRequest(Header, frozen=True):
    """327."""

    broker_name: str


class AddWritePermOfBrokerResponse(Header, frozen=True):
    add_topic_count: Int32 = 0


class DeleteTopicFromNamesrvRequest(Header, frozen=True):
    """216."""

    topic: str
    cluster_name: str | None = None


class RegisterTopicRequest(Header, frozen=True):
    """217."""

    topic: str


class GetTopicsByClusterRequest(Header, frozen=True):
    """224."""

    cluster: str


class GetBrokerMemberGroupRequest(Header, frozen=True):
    """901."""

    cluster_name: str
    broker_name: str


class BrokerHeartbeatRequest(Header, frozen=True):
    """904, to name servers and controllers. The misspelled unit is the protocol's."""

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: Int64 | None = None
    epoch: Int32 | None = None
    max_offset: Int64 | None = None
    confirm_offset: Int64 | None = None
    heartbeat_timeout_millis: Int64 | None = field(default=None, name="heartbeatTimeoutMills")
    election_priority: Int32 | None = None

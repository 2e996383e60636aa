"""Headers of the controller, which elects masters (1001–1013). Epochs are int32, broker ids int64."""

from __future__ import annotations

from engine.protocol.wire import Header, Int32, Int64


class AlterSyncStateSetRequest(Header, frozen=True):
    """1001."""

    broker_name: str
    master_broker_id: Int64
    master_epoch: Int32
    invoke_time: Int64 | None = None


class AlterSyncStateSetResponse(Header, frozen=True):
    new_sync_state_set_epoch: Int32 = 0


class ElectMasterRequest(Header, frozen=True):
    """1002; broker_id -1 when the controller itself asks."""

    cluster_name: str
    broker_name: str
    broker_id: Int64 = -1
    designate_elect: bool = False
    invoke_time: Int64 | None = None


class ElectMasterResponse(Header, frozen=True):
    """Also the answer to 1003, where all are absent while there is no master."""

    master_broker_id: Int64 | None = None
    master_address: str | None = None
    master_epoch: Int32 | None = None
    sync_state_set_epoch: Int32 | None = None


RegisterBrokerToControllerResponse = ElectMasterResponse


class RegisterBrokerToControllerRequest(Header, frozen=True):
    """1003."""

    cluster_name: str
    broker_name: str
    broker_id: Int64
    broker_address: str
    invoke_time: Int64 | None = None


class GetReplicaInfoRequest(Header, frozen=True):
    """1004."""

    broker_name: str


class GetReplicaInfoResponse(Header, frozen=True):
    master_broker_id: Int64 | None = None
    master_address: str | None = None
    master_epoch: Int32 | None = None


class GetMetaDataResponse(Header, frozen=True):
    """Answer to 1005; peers looks like `id-host:port;…`."""

    group: str | None = None
    controller_leader_id: str | None = None
    controller_leader_address: str | None = None
    is_leader: bool = False
    peers: str | None = None


class NotifyBrokerRoleChangedRequest(Header, frozen=True):
    """1008, controller to broker."""

    master_address: str | None = None
    master_epoch: Int32 | None = None
    sync_state_set_epoch: Int32 | None = None
    master_broker_id: Int64 | None = None


class CleanBrokerDataRequest(Header, frozen=True):
    """1011; the ids are joined by semicolons."""

    broker_name: str
    cluster_name: str | None = None
    broker_controller_ids_to_clean: str | None = None
    is_clean_living_broker: bool = False
    invoke_time: Int64 | None = None


class GetNextBrokerIdRequest(Header, frozen=True):
    """1012."""

    cluster_name: str
    broker_name: str


class GetNextBrokerIdResponse(Header, frozen=True):
    cluster_name: str
    broker_name: str
    next_broker_id: Int64


class ApplyBrokerIdRequest(Header, frozen=True):
    """1013."""

    cluster_name: str
    broker_name: str
    applied_broker_id: Int64
    register_check_code: str


class ApplyBrokerIdResponse(Header, frozen=True):
    cluster_name: str
    broker_name: str

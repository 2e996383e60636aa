"""Headers of the controller, which elects masters (1001–1013). Epochs are int32, broker ids int64."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol.wire import Header, Int32, Int64


@dataclass(frozen=True, slots=True)
class AlterSyncStateSetRequest(Header):
    """1001."""

    broker_name: str
    master_broker_id: Int64
    master_epoch: Int32
    invoke_time: Int64 | None = None


@dataclass(frozen=True, slots=True)
class AlterSyncStateSetResponse(Header):
    new_sync_state_set_epoch: Int32 = 0


@dataclass(frozen=True, slots=True)
class ElectMasterRequest(Header):
    """1002; broker_id -1 when the controller itself asks."""

    cluster_name: str
    broker_name: str
    broker_id: Int64 = -1
    designate_elect: bool = False
    invoke_time: Int64 | None = None


@dataclass(frozen=True, slots=True)
class ElectMasterResponse(Header):
    """Also the answer to 1003, where all are absent while there is no master."""

    master_broker_id: Int64 | None = None
    master_address: str | None = None
    master_epoch: Int32 | None = None
    sync_state_set_epoch: Int32 | None = None


RegisterBrokerToControllerResponse = ElectMasterResponse


@dataclass(frozen=True, slots=True)
class RegisterBrokerToControllerRequest(Header):
    """1003."""

    cluster_name: str
    broker_name: str
    broker_id: Int64
    broker_address: str
    invoke_time: Int64 | None = None


@dataclass(frozen=True, slots=True)
class GetReplicaInfoRequest(Header):
    """1004."""

    broker_name: str


@dataclass(frozen=True, slots=True)
class GetReplicaInfoResponse(Header):
    master_broker_id: Int64 | None = None
    master_address: str | None = None
    master_epoch: Int32 | None = None


@dataclass(frozen=True, slots=True)
class GetMetaDataResponse(Header):
    """Answer to 1005; peers looks like `id-host:port;…`."""

    group: str | None = None
    controller_leader_id: str | None = None
    controller_leader_address: str | None = None
    is_leader: bool = False
    peers: str | None = None


@dataclass(frozen=True, slots=True)
class NotifyBrokerRoleChangedRequest(Header):
    """1008, controller to broker."""

    master_address: str | None = None
    master_epoch: Int32 | None = None
    sync_state_set_epoch: Int32 | None = None
    master_broker_id: Int64 | None = None


@dataclass(frozen=True, slots=True)
class CleanBrokerDataRequest(Header):
    """1011; the ids are joined by semicolons."""

    broker_name: str
    cluster_name: str | None = None
    broker_controller_ids_to_clean: str | None = None
    is_clean_living_broker: bool = False
    invoke_time: Int64 | None = None


@dataclass(frozen=True, slots=True)
class GetNextBrokerIdRequest(Header):
    """1012."""

    cluster_name: str
    broker_name: str


@dataclass(frozen=True, slots=True)
class GetNextBrokerIdResponse(Header):
    cluster_name: str
    broker_name: str
    next_broker_id: Int64


@dataclass(frozen=True, slots=True)
class ApplyBrokerIdRequest(Header):
    """1013."""

    cluster_name: str
    broker_name: str
    applied_broker_id: Int64
    register_check_code: str


@dataclass(frozen=True, slots=True)
class ApplyBrokerIdResponse(Header):
    cluster_name: str
    broker_name: str

"""Replication as operators and controllers see it: HA status (907), epochs (1007), in-sync sets."""

from __future__ import annotations

from msgspec import field

from engine.protocol.bodies.routes import BrokerMemberGroup
from engine.protocol.wire import Body, Int32, Int64


class HAConnectionRuntimeInfo(Body, frozen=True):
    """One slave, as its master sees it; offsets are commit-log offsets."""

    addr: str = ""
    slave_ack_offset: Int64 = 0
    diff: Int64 = 0
    in_sync: bool = False
    transferred_byte_in_second: Int64 = 0
    transfer_from_where: Int64 = 0


class HAClientRuntimeInfo(Body, frozen=True):
    """A slave, as it sees itself."""

    master_addr: str = ""
    transferred_byte_in_second: Int64 = 0
    max_offset: Int64 = 0
    last_read_timestamp: Int64 = 0
    last_write_timestamp: Int64 = 0
    master_flush_offset: Int64 = 0


class HARuntimeInfo(Body, frozen=True):
    """Answer to 907."""

    master: bool = False
    master_commit_log_max_offset: Int64 = 0
    in_sync_slave_nums: Int32 = 0
    ha_connection_info: tuple[HAConnectionRuntimeInfo, ...] = ()
    ha_client_runtime_info: HAClientRuntimeInfo | None = None


class EpochEntry(Body, frozen=True):
    epoch: Int32 = 0
    start_offset: Int64 = 0
    end_offset: Int64 | None = None


class EpochEntryCache(Body, frozen=True):
    """Answer to 1007."""

    cluster_name: str = ""
    broker_name: str = ""
    broker_id: Int64 = 0
    epoch_list: tuple[EpochEntry, ...] = ()
    max_offset: Int64 = 0


class SyncStateSet(Body, frozen=True):
    sync_state_set: frozenset[Int64] = frozenset()
    sync_state_set_epoch: Int32 = 0


class ElectMasterResponseBody(Body, frozen=True):
    """Answer to 1002."""

    broker_member_group: BrokerMemberGroup | None = None
    sync_state_set: frozenset[Int64] = frozenset()


class ReplicaIdentity(Body, frozen=True):
    broker_name: str = ""
    broker_id: Int64 = 0
    broker_address: str = ""
    alive: bool = False


class ReplicasInfo(Body, frozen=True):
    master_broker_id: Int64 | None = None
    master_address: str | None = None
    master_epoch: Int32 | None = None
    sync_state_set_epoch: Int32 | None = None
    in_sync_replicas: tuple[ReplicaIdentity, ...] = ()
    not_in_sync_replicas: tuple[ReplicaIdentity, ...] = ()


class BrokerReplicasInfo(Body, frozen=True):
    """Answer to 1006."""

    replicas_info_table: dict[str, ReplicasInfo] = field(default_factory=dict)

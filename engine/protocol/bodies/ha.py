"""Replication as operators see it: HA status (907) and epochs (1007)."""

from __future__ import annotations

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

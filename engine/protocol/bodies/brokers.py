"""Bodies about a broker and its group: HA status (907) and epochs (1007) as operators see them, what the
members of a group ask each other (30010 to 30020), and damaged records (30030).
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Mapping

from msgspec import field

from engine.errors import ProtocolError
from engine.protocol.wire import Body, Int32, Int64


class InSyncInfo(Body, frozen=True):
    epoch: Int32 = 0
    version: Int64 = 0
    ids: tuple[Int64, ...] = ()
    min_in_sync: Int32 = 1
    settled: tuple[Int64, ...] = ()


class GroupStatus(Body, frozen=True):
    """Answer to 30010 and, once promised, to 30011. Offsets are commit-log offsets."""

    cluster_name: str = ""
    broker_name: str = ""
    member_id: Int64 = 0
    role: str = ""
    epoch: Int32 = 0
    reign: Int64 = 0
    master_id: Int64 | None = None
    log_epoch: Int32 = 0
    log_start: Int64 = 0
    log_end: Int64 = 0
    copied_from: Int64 = 0
    whole_at: Int64 = 0
    """Before this offset its log does not count in an election: it began empty and is still catching up."""
    confirmed_offset: Int64 = 0
    in_sync: InSyncInfo = InSyncInfo()
    promised_in_sync: Int32 = 1
    """The highest minInSyncReplicas that it has heard of."""
    members: dict[str, str] = field(default_factory=dict)
    ha_address: str | None = None
    start_offset: Int64 | None = None
    """Where the group's log starts by its master's decision, as far as this member has heard."""
    unexpired_from: Int64 | None = None
    """Where the oldest segment begins that this member has and that has not expired."""
    missing_from: Int64 | None = None
    """Set when its log starts later than it should: messages from here to `log_start` have not expired and
    are not there (docs/adr/0015)."""
    counted_messages: Int64 | None = None
    """Where the request asked for a count."""
    trouble: str | None = None
    """Why a slave copies nothing, or a master takes no writes."""


class Promotion(Body, frozen=True):
    """Answer to 30015."""

    epoch: Int32 = 0
    master_id: Int64 = 0
    master_address: str = ""
    may_be_lost: str | None = None
    silent_members: tuple[Int64, ...] = ()


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


class ReplicaState(Body, frozen=True):
    commit_log_max_offset: Int64 = 0
    files: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, commit_log_max_offset: int, files: Mapping[str, bytes]) -> ReplicaState:
        return cls(commit_log_max_offset, {name: b64encode(data).decode() for name, data in files.items()})

    def contents(self) -> dict[str, bytes]:
        try:
            return {name: b64decode(data, validate=True) for name, data in self.files.items()}
        except Error:
            raise ProtocolError("a state file is not base64") from None


DELIVERY_PREFIX = "%DELIVERY%"
"""What a message that was damaged when its delay had passed was skipped by: this and its real topic, or this
alone where the topic cannot be read."""


class SkippedRecord(Body, frozen=True):
    """One group's skip; `redelivered_ms` is 0 until it got the message after all. `way` is "pull" or "pop" of
    a group, "delay" or "timer" of the delivery to a topic."""

    at_ms: Int64 = 0
    way: str = ""
    redelivered_ms: Int64 = 0


class DamagedRecordRow(Body, frozen=True):
    """`topic` is empty while only the place in the log is known; `repaired_ms` is 0 while it is damaged;
    `found_ms` is 0 of a record that another member skipped and this one has not looked at yet."""

    offset: Int64 = -1
    size: Int64 = 0
    file: str = ""
    topic: str = ""
    queue_id: Int64 = -1
    queue_offset: Int64 = -1
    found_ms: Int64 = 0
    repaired_ms: Int64 = 0
    skips: dict[str, SkippedRecord] = field(default_factory=dict)


class DamagedRecordList(Body, frozen=True):
    records: tuple[DamagedRecordRow, ...] = ()

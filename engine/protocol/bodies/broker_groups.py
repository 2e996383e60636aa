"""A broker group's members among themselves, and what `promote` shows (docs/adr/0008): 30010 to 30015."""

from __future__ import annotations

from msgspec import field

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

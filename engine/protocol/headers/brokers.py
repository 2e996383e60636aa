"""Headers of requests to a broker as a whole: configuration, statistics, replication (906, 908) and the
requests of a broker group (30010 to 30030, docs/adr/0008).
"""

from __future__ import annotations

from engine.protocol.wire import Header, Int32, Int64


class GetBrokerConfigResponse(Header, frozen=True):
    """Answer to 26; `version` is a DataVersion as JSON."""

    version: str


class CollectorSnapshotRequest(Header, frozen=True):
    """30001, our own; `since` is the version of the last answer."""

    since: str | None = None


class CollectorSnapshotResponse(Header, frozen=True):
    version: str
    is_full: bool = False


class ViewBrokerStatsDataRequest(Header, frozen=True):
    """315."""

    stats_name: str
    stats_key: str


class ExchangeHAInfoRequest(Header, frozen=True):
    """906; all absent asks, else tells. The master's answer has the same fields."""

    master_ha_address: str | None = None
    master_flush_offset: Int64 | None = None
    master_address: str | None = None

    @property
    def only_asks(self) -> bool:
        return (
            self.master_ha_address is None
            and self.master_flush_offset is None
            and self.master_address is None
        )


ExchangeHAInfoResponse = ExchangeHAInfoRequest


class ResetMasterFlushOffsetRequest(Header, frozen=True):
    """908."""

    master_flush_offset: Int64


class GroupStatusRequest(Header, frozen=True):
    """30010. With both offsets, and a proof of the cluster secret, the answer also says how many messages lie
    between them in that member's log; release 0.1.0 does not know these fields."""

    count_from: Int64 | None = None
    count_to: Int64 | None = None


class PromiseRequest(Header, frozen=True):
    """30011 and 30012: an epoch and its reign."""

    cluster_name: str
    broker_name: str
    epoch: Int32
    reign: Int64


CrownRequest = PromiseRequest


class FollowRequest(Header, frozen=True):
    """30013."""

    cluster_name: str
    broker_name: str
    epoch: Int32
    reign: Int64
    master_id: Int64
    master_address: str


class HandOverRequest(Header, frozen=True):
    """30014: take no more writes until this member has all of the log, or the time is up. The nonce makes
    each request good for once."""

    cluster_name: str
    broker_name: str
    epoch: Int32
    member_id: Int64
    nonce: Int64
    timeout_millis: Int64 = 5_000


class PromoteRequest(Header, frozen=True):
    """30015. The epoch is the one that the caller saw last: a request that is repeated finds another."""

    broker_name: str
    epoch: Int32
    wanted: Int64 | None = None
    unclean: bool = False


class RecordRequest(Header, frozen=True):
    """30016: the bytes of the log from the offset on, if they are whole records to the last byte. The nonce
    is part of the answer's proof: no answer is good for another request."""

    cluster_name: str
    broker_name: str
    epoch: Int32
    reign: Int64
    commit_log_offset: Int64
    size: Int32
    nonce: Int64


class SkipsRequest(Header, frozen=True):
    """30017: the body has the skipped records that the sender knows of, as rows of damagedRecords.json."""

    cluster_name: str
    broker_name: str
    epoch: Int32
    reign: Int64


class DamagedRecordsRequest(Header, frozen=True):
    """30030: the damaged records of this broker; with a group those that it has skipped."""

    group: str | None = None

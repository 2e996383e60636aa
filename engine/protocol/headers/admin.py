"""Headers of broker administration that concern neither one topic nor one group."""

from __future__ import annotations

from msgspec import field

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


class ExportRocksdbConfigToJsonRequest(Header, frozen=True):
    """355; config_type is joined by semicolons."""

    config_type: str


class AddBrokerRequest(Header, frozen=True):
    """902, to a broker container."""

    config_path: str | None = None


class RemoveBrokerRequest(Header, frozen=True):
    """903, to a broker container."""

    broker_name: str
    broker_cluster_name: str
    broker_id: Int64


class SetCommitLogReadModeRequest(Header, frozen=True):
    """2004: 0 normal, 1 random."""

    read_ahead_mode: Int32 = field(name="READ_AHEAD_MODE")

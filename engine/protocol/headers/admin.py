"""Headers of broker administration that concern neither one topic nor one group."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.protocol.wire import Header, Int32, Int64, named


@dataclass(frozen=True, slots=True)
class GetBrokerConfigResponse(Header):
    """Answer to 26; `version` is a DataVersion as JSON."""

    version: str


@dataclass(frozen=True, slots=True)
class CollectorSnapshotRequest(Header):
    """30001, our own; `since` is the version of the last answer."""

    since: str | None = None


@dataclass(frozen=True, slots=True)
class CollectorSnapshotResponse(Header):
    version: str
    is_full: bool = False


@dataclass(frozen=True, slots=True)
class ViewBrokerStatsDataRequest(Header):
    """315."""

    stats_name: str
    stats_key: str


@dataclass(frozen=True, slots=True)
class ExportRocksdbConfigToJsonRequest(Header):
    """355; config_type is joined by semicolons."""

    config_type: str


@dataclass(frozen=True, slots=True)
class AddBrokerRequest(Header):
    """902, to a broker container."""

    config_path: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveBrokerRequest(Header):
    """903, to a broker container."""

    broker_name: str
    broker_cluster_name: str
    broker_id: Int64


@dataclass(frozen=True, slots=True)
class SetCommitLogReadModeRequest(Header):
    """2004: 0 normal, 1 random."""

    read_ahead_mode: Int32 = field(metadata=named("READ_AHEAD_MODE"))

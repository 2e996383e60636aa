"""Headers of broker administration that concern neither one topic nor one group."""

from __future__ import annotations

from engine.protocol.wire import Header


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

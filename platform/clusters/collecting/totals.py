"""Figures of whole brokers and of the cluster: points of its history, and what its page shows. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from clusters.collecting.cluster_state import ClusterState
from clusters.collecting.findings import GroupRow
from clusters.collecting.known_broker import KnownBroker
from clusters.collecting.series_book import Key
from clusters.selectors.live import known_lag
from clusters.selectors.packing import SAMPLED
from engine.protocol.names import is_system_group

FRESH = timedelta(seconds=10)
"""An answer that is older does not count as this slot's."""


def whole_points(state: ClusterState, now: datetime) -> Iterator[tuple[Key, float | None]]:
    heard = []
    for name, known in state.speakers().items():
        if known.is_reachable and known.sampled_at is not None and now - known.sampled_at < FRESH:
            heard.append(known)
            yield ("broker", name, SAMPLED), 1.0
            yield from _broker_points(name, known)
    yield from _disk_points(state, now)
    if heard:
        yield ("cluster", "", SAMPLED), 1.0
        totals = cluster_totals(state)
        for metric in ("put_rate", "got_rate", "lag"):
            yield ("cluster", "", metric), totals[metric]


def _broker_points(name: str, known: KnownBroker) -> Iterator[tuple[Key, float | None]]:
    rates, slaves = known.singles.get("rates", {}), known.singles.get("ha", {}).get("slaves", [])
    yield ("broker", name, "put_rate"), rates.get("put")
    yield ("broker", name, "got_rate"), rates.get("got")
    yield ("broker", name, "disk_ratio"), known.singles.get("disk", {}).get("usageRatio")
    yield ("broker", name, "slave_lag_bytes"), max((slave["lagBytes"] for slave in slaves), default=None)


def _disk_points(state: ClusterState, now: datetime) -> Iterator[tuple[Key, float | None]]:
    """Of every member by its label, slaves included: a disk belongs to a member, not to whoever is master."""
    for known in state.brokers.values():
        if (
            known.name
            and known.is_reachable
            and known.sampled_at is not None
            and now - known.sampled_at < FRESH
        ):
            label = f"{known.name}-{known.member or 0}"
            yield ("broker", label, SAMPLED), 1.0
            yield ("broker", label, "disk_ratio"), known.singles.get("disk", {}).get("usageRatio")


def cluster_totals(state: ClusterState) -> dict[str, Any]:
    """A sum with an unknown part is unknown; of lag, what is known counts, but never as a zero."""
    speakers = state.speakers().values()
    rates = [known.singles.get("rates", {}) for known in speakers]
    lag = sum(row.lag or 0 for row in state.groups.values())
    partial = sum(row.lag_is_partial for row in state.groups.values())
    return {
        "put_rate": _sum([rate.get("put") for rate in rates]),
        "got_rate": _sum([rate.get("got") for rate in rates]),
        "lag": known_lag(lag, partial),
        "topic_count": sum(row.kind == "normal" for row in state.topics.values()),
        "group_count": sum(not is_system_group(name) for name in state.groups),
    }


def top_lag(state: ClusterState, count: int) -> list[GroupRow]:
    lagging = [row for row in state.groups.values() if row.lag]
    return heapq.nlargest(count, lagging, key=lambda row: (row.lag, row.name))


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known), 2) if known and len(known) == len(values) else None

"""Settings of all brokers side by side: what each should have, what it says it has, where they differ. Pure.

Two questions that people mix up: a setting has *drifted* when a broker runs with another value than the
console's rows say; it *differs* when brokers of one cluster run with different values. Names, ports and paths
are each broker's own and never differ in that sense.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

NOT_COMPARED = frozenset({"signalboxProfile", "brokerRole"})
"""A profile is not a running broker's setting, and who is master is the group's own affair."""
EACH_ITS_OWN = frozenset(
    {
        "brokerId",
        "brokerIP1",
        "brokerIP2",
        "brokerName",
        "brokerRole",
        "bindAddress",
        "haListenPort",
        "haMasterAddress",
        "haMasterAddr",
        "fastListenPort",
        "listenPort",
        "logDir",
        "metricsPromExporterHost",
        "metricsPromExporterPort",
        "signalboxClusterSecretFile",
        "signalboxSecretKeyFile",
        "startAcceptSendRequestTimeStamp",
        "storePathCommitLog",
        "storePathRootDir",
    }
)


@dataclass(frozen=True, slots=True)
class Told:
    """One broker: what it should have, and its answer; None when there was none."""

    broker: str
    wanted: Mapping[str, str]
    running: Mapping[str, str] | None


def is_drifted(key: str, told: Told) -> bool:
    """Without an answer nothing is said to have drifted."""
    if not told.running or key not in told.wanted or key in NOT_COMPARED:
        return False
    return told.wanted[key] != told.running.get(key)


def matrix(brokers: Iterable[Told]) -> list[dict[str, Any]]:
    """A line per key with a cell per broker, in the order of the brokers."""
    listed = list(brokers)
    keys = {key for told in listed for key in (*told.wanted, *(told.running or {}))}
    return [_line(key, listed) for key in sorted(keys)]


def _line(key: str, brokers: list[Told]) -> dict[str, Any]:
    cells = [
        {
            "broker": told.broker,
            "wanted": told.wanted.get(key),
            "running": None if told.running is None else told.running.get(key),
            "is_drifted": is_drifted(key, told),
        }
        for told in brokers
    ]
    said = {told.running.get(key) for told in brokers if told.running is not None}
    return {
        "key": key,
        "cells": cells,
        "is_drifted": any(cell["is_drifted"] for cell in cells),
        "is_different": len(said) > 1 and key not in EACH_ITS_OWN,
    }

"""What brokers say about themselves and a report must know: asked when a run is made, kept in its options.

Never inside a transaction: brokers are asked. One that does not answer says nothing, and the job's own
default holds, which is RocketMQ's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from clusters.gateway import broker_groups
from clusters.gateway.addressing import address_of
from clusters.models import Cluster
from console.core.problems import Problem
from reports.actions.runs import RunWish


def with_known(cluster: Cluster, wish: RunWish) -> RunWish:
    """What the wish does not say itself."""
    if wish.report != "retention" or {"reserved_hours", "full_ratio"} <= wish.options.keys():
        return wish
    try:
        address = address_of(cluster)
        said = broker_groups.configs(address, sorted(address.brokers))
    except Problem:
        return wish
    answers = [answer for answer in said.values() if isinstance(answer, dict)]
    return replace(wish, options=in_force(answers) | wish.options)


def in_force(settings: list[dict[str, str]]) -> dict[str, Any]:
    """Of brokers that differ, the setting that deletes the most and the one that refuses writes first."""
    hours = _numbers(settings, "fileReservedTime")
    ratios = _numbers(settings, "diskSpaceWarningLevelRatio")
    found: dict[str, Any] = {"reserved_hours": min(hours)} if hours else {}
    return found | ({"full_ratio": min(ratios) / 100} if ratios else {})


def _numbers(settings: list[dict[str, str]], name: str) -> list[int]:
    texts = [each.get(name, "") for each in settings]
    return [int(text) for text in texts if text.isdigit() and int(text) > 0]

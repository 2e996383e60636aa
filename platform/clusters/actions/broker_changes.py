"""A change of brokers' own objects: audit intent, the write on every broker, what came of it.

The caller waits, with one deadline for all brokers (docs/adr/0011). Partial outcomes are returned; when no
broker did it, a problem with each broker's reason is raised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clusters.gateway.addressing import ClusterAddress, address_of
from clusters.gateway.writes import BrokerOutcome, refuse_total_failure
from clusters.models import Cluster
from clusters.selectors.broker_names import expected_brokers
from console.core import audit
from console.core.actors import Actor


@dataclass(frozen=True, slots=True)
class Reach:
    """A cluster as its gateway wants it, and the broker groups that must answer."""

    address: ClusterAddress
    expected: tuple[str, ...]


def reach(cluster: Cluster) -> Reach:
    return Reach(address_of(cluster), tuple(expected_brokers(cluster)))


def change_brokers(
    cluster: Cluster,
    action: str,
    target: str,
    details: dict[str, Any],
    write: Callable[[Reach], list[BrokerOutcome]],
    *,
    actor: Actor,
) -> list[BrokerOutcome]:
    reached = reach(cluster)
    with audit.attempt(actor, action, cluster=cluster.name, target=target, details=details) as outcome:
        outcomes = write(reached)
        outcome.is_ok = is_complete(outcomes)
        outcome.details["brokers"] = [
            {"broker": one.broker, "ok": one.ok, "detail": one.detail} for one in outcomes
        ]
        refuse_total_failure(outcomes)
    return outcomes


def as_change(planned: list[dict[str, Any]]) -> dict[str, Any]:
    """A plan's rows as the audit chain keeps changes: what each broker had, and what it is to have."""
    return {
        "before": {row["broker"]: row["now"] for row in planned},
        "after": {row["broker"]: row["then"] for row in planned},
    }


def is_complete(outcomes: list[BrokerOutcome]) -> bool:
    return all(one.ok for one in outcomes)

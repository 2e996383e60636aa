"""Gathering what a diagnosis looks at: brokers and members asked at once, history from rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from clusters.actions.broker_changes import Reach, reach
from clusters.gateway import groups as gateway
from clusters.gateway import offsets
from clusters.gateway.topics import topic_usage
from clusters.gateway.writes import BrokerOutcome
from clusters.models import Cluster
from clusters.selectors.diagnosis import Evidence, Queue
from clusters.selectors.lag_history import lag_points
from clusters.selectors.members import RunningInfos, merged
from console.core.problems import Problem
from engine.protocol.names import dlq_topic, retry_topic


@dataclass(frozen=True, slots=True)
class FoundMembers:
    model: str
    members: list[dict[str, Any]]
    infos: RunningInfos
    outcomes: list[BrokerOutcome]

    @property
    def is_known(self) -> bool:
        return any(one.ok for one in self.outcomes)

    @property
    def is_complete(self) -> bool:
        return all(one.ok for one in self.outcomes) and not any(
            isinstance(info, str) for info in self.infos.values()
        )


def gather_members(
    cluster: Cluster, group: str, *, only: str | None = None, jstack: bool = False
) -> FoundMembers:
    """Who is online by every broker, and what each (or only one) says of itself."""
    reached = reach(cluster)
    outcomes = gateway.connections(reached.address, group, reached.expected)
    answers = [one.read_back | {"broker": one.broker} for one in outcomes if one.ok and one.read_back]
    where = {member[0]: answer["at"] for answer in answers for member in answer["members"]}
    asked = [(client, at) for client, at in where.items() if only is None or client == only]
    infos = gateway.running_infos(reached.address, group, asked, jstack=jstack) if asked else {}
    model = next((answer["model"] for answer in answers if answer["model"]), "")
    return FoundMembers(model, merged(answers, infos), infos, outcomes)


def group_evidence(cluster: Cluster, group: str, *, now: datetime, jstack: bool) -> Evidence:
    reached = reach(cluster)
    found = gather_members(cluster, group, jstack=jstack)
    told = {client: info for client, info in found.infos.items() if isinstance(info, dict)}
    specs = gateway.read_group(reached.address, group, (), reached.expected)
    enabled = [one.read_back["is_enabled"] for one in specs if one.ok and one.read_back is not None]
    return Evidence(
        now_ms=int(now.timestamp() * 1000),
        model=found.model,
        members=found.members if found.is_known else None,
        queues=_queues(reached, group),
        stacks={client: info["stack"] for client, info in told.items() if info["stack"]},
        lag_history=lag_points(cluster, group, now=now),
        retries=_retries(reached, group),
        dead_letters=_kept(reached, dlq_topic(group)),
        is_enabled=all(enabled) if enabled else None,
    )


def _queues(reached: Reach, group: str) -> list[Queue]:
    try:
        positions, _ = offsets.positions(reached.address, group, (), reached.expected)
    except Problem as problem:
        if problem.code == "no_offsets":
            return []
        raise
    return [
        Queue(one.topic, one.broker, one.queue, one.committed, one.minimum, one.maximum)
        for one in positions
        if not one.error
    ]


def _retries(reached: Reach, group: str) -> int | None:
    """Unread messages of its retry topic; None when a broker did not say."""
    positions, _ = offsets.positions(reached.address, group, [retry_topic(group)], reached.expected)
    if any(one.error for one in positions):
        return None
    return sum(max(0, (one.maximum or 0) - (one.committed or 0)) for one in positions)


def _kept(reached: Reach, topic: str) -> int | None:
    outcomes = topic_usage(reached.address, topic, (), reached.expected)
    if not all(one.ok for one in outcomes):
        return None
    return sum(
        queue["max"] - queue["min"] for one in outcomes if one.read_back for queue in one.read_back["queues"]
    )

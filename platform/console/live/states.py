"""The whole of a channel, read from rows. Synchronous, for a thread; never asks a broker.

Every channel is rows by name; the row "" is the thing itself (a cluster's totals, an operation).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from clusters.models import Alert, Operation, Redrive, SearchJob, Step
from clusters.selectors.alerts import visible_alerts
from clusters.selectors.clusters import get_cluster
from clusters.selectors.live import (
    broker_rows,
    freshness_of,
    group_rows,
    plain,
    top_lag,
    topic_rows,
    totals_of,
)
from clusters.selectors.routing import named_topics, routing_rows
from console.core.int64 import as_texts
from console.core.models.people import Role
from console.core.problems import Problem, not_found
from console.core.rights import Grants
from console.live.channels import Channel
from reports.selectors.live import live_rows

TOP_COUNT = 20
_SHOWN = 50

Rows = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Viewer:
    user_id: int
    grants: Grants


def read_state(channel: Channel, viewer: Viewer) -> tuple[Rows, str | None]:
    """Rows and how old they are; without an age where rows are the truth themselves."""
    if channel.kind == "alerts":
        return alerts(viewer.grants), None
    if channel.kind == "operation":
        return _operation(channel.operation_id, viewer.grants), None
    cluster = get_cluster(channel.cluster)
    if channel.kind == "operations":
        return _operations(Q(cluster=cluster)), None
    if channel.kind == "jobs":
        return _jobs(cluster.pk, cluster.name, viewer), None
    if channel.kind == "reports":
        return live_rows(cluster, _SHOWN), None
    sampled_at = freshness_of(cluster)["sampled_at"]
    age = None if sampled_at is None else sampled_at.isoformat()
    if channel.kind == "groups":
        return group_rows(cluster, channel.names), age
    if channel.kind == "topics":
        return topic_rows(cluster, channel.names), age
    if channel.kind == "routing":
        return routing_rows(cluster, named_topics(cluster, channel.names), viewer.grants), age
    if channel.kind == "toplag":
        return top_lag(cluster, viewer.grants.names_filter(cluster.name), TOP_COUNT), age
    return {"": totals_of(cluster)} | broker_rows(cluster), age


_OPERATION = (
    "id",
    "kind",
    "summary",
    "state",
    "error",
    "created_by",
    "created_at",
    "approved_by",
    "finished_at",
    "revision",
)
_INT64 = frozenset(("id", "revision", "estimate", "scanned", "max_scan", "total", "position"))
_STEP = ("position", "kind", "summary", "state", "progress", "error", "attempts", "started_at", "finished_at")


def _operations(chosen: Q) -> Rows:
    rows = Operation.objects.filter(chosen).order_by("-created_at").values(*_OPERATION)[:_SHOWN]
    return {str(row["id"]): _row(row) for row in rows}


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """Ids (UUIDs, numbers) and counts of messages are strings, as they are by REST."""
    found: dict[str, Any] = as_texts(plain(row) | {"id": str(row["id"])}, _INT64)
    return found


def _operation(operation_id: str, grants: Grants) -> Rows:
    operation = Operation.objects.select_related("cluster").filter(pk=operation_id).first()
    if operation is None or not _may_see(operation, grants):
        raise not_found("operation", operation_id)
    [row] = _operations(Q(pk=operation_id)).values()
    steps = Step.objects.filter(operation=operation).values("id", *_STEP)
    return {"": row} | {f"step-{step.pop('id')}": plain(step) for step in steps}


def _may_see(operation: Operation, grants: Grants) -> bool:
    if operation.cluster is None:
        return grants.may(Role.VIEWER)
    return grants.may(Role.VIEWER, operation.cluster.name)


_SEARCH = (
    "id",
    "created_by",
    "topics",
    "state",
    "stopped",
    "estimate",
    "scanned",
    "found",
    "max_scan",
    "max_hits",
    "problems",
    "error",
    "created_at",
    "started_at",
    "finished_at",
)
"""All that changes while it runs: a search that is continued can be done again before anybody was told that
it was not, and a page that took half of it from an older read would never learn how it ended."""
_REDRIVE = (
    "id",
    "created_by",
    "group",
    "state",
    "reason",
    "total",
    "position",
    "canary_until",
    "created_at",
    "finished_at",
)


def _jobs(cluster_id: int, cluster: str, viewer: Viewer) -> Rows:
    chosen = Q(cluster_id=cluster_id)
    if not viewer.grants.may(Role.ADMIN, cluster):
        chosen &= Q(owner_id=viewer.user_id)
    rows: Rows = {}
    for kind, model, fields in (("search", SearchJob, _SEARCH), ("redrive", Redrive, _REDRIVE)):
        for row in model.objects.filter(chosen).order_by("-created_at").values(*fields)[:_SHOWN]:
            rows[str(row["id"])] = _row(row) | {"job": kind}
    return rows


def alerts(grants: Grants) -> Rows:
    rows = visible_alerts(grants).filter(state__in=Alert.OPEN)
    return {str(row.pk): alert_row(row) for row in rows}


def alert_row(alert: Alert) -> dict[str, Any]:
    return _row(
        {
            "id": alert.pk,
            "rule": alert.rule.name,
            "severity": alert.rule.severity,
            "cluster": alert.cluster.name,
            "subject": alert.subject,
            "name": alert.name,
            "state": alert.state,
            "value": alert.value,
            "summary": alert.summary,
            "since": alert.since,
            "fired_at": alert.fired_at,
            "is_silenced": alert.is_silenced,
        }
    )


def check_exists(channel: Channel) -> None:
    """A cluster that is not there cannot be subscribed to."""
    if channel.cluster:
        try:
            get_cluster(channel.cluster)
        except Problem:
            raise not_found("cluster", channel.cluster) from None

"""Declarative documents: planned against brokers, applied as one operation per cluster, checked for drift.

A plan needs every broker's word: what one does not say cannot be compared, so nothing is planned past it.
Applying is an operation with one step per object, after the steps that make the cluster where there is none.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from clusters.actions import document_steps
from clusters.actions.broker_changes import reach
from clusters.actions.clusters import ClusterRequest, do_change_cluster, do_create_cluster, plan_create
from clusters.actions.document_plans import (
    CHANGE,
    CREATE,
    DELETE,
    DIFFERS,
    NONE,
    Change,
    cluster_differences,
    creations,
    plan_objects,
)
from clusters.actions.operations import do_start_operation, refuse_busy
from clusters.gateway.objects import read_objects
from clusters.models import AclUser, Broker, BrokerGroup, Cluster, ConsumerGroup, Document, Operation, Topic
from clusters.provisioning.plans.plan import Plan, StepSpec
from clusters.selectors.clusters import living
from console.core import audit
from console.core.actors import Actor
from console.core.problems import Problem, not_found

STEP = document_steps.STEP
_ORDER = ("topic", "group", "user", "policies")
"""Policies are about users that are there; deletions come last."""
LAYOUT_NOTE = "a document does not resize a cluster: grow or shrink it"


def plan_document(document: dict[str, Any], *, now: datetime) -> list[Change]:
    changes: list[Change] = []
    for number, wanted in enumerate(document["clusters"]):
        changes += _plan_cluster(document, wanted, f"clusters[{number}]", now)
    return changes


def do_apply_document(
    document: dict[str, Any], *, actor: Actor, now: datetime
) -> tuple[list[Change], list[Operation]]:
    changes = plan_document(document, now=now)
    for name in {change.cluster for change in changes if change.kind != "cluster" and change.change != NONE}:
        existing = living().filter(name=name).first()
        if existing is not None:
            refuse_busy(existing)
    operations = [
        operation
        for wanted in document["clusters"]
        if (operation := _apply_cluster(document["name"], wanted, changes, actor, now)) is not None
    ]
    with transaction.atomic():
        Document.objects.update_or_create(
            name=document["name"],
            defaults={
                "content": document,
                "applied_by": actor.name[:150],
                "applied_at": now,
                "outcome": [str(operation.pk) for operation in operations],
            },
        )
        details = {"changes": [change.sentence for change in changes if change.change != NONE][:500]}
        audit.record(actor, "document.apply", target=document["name"], details=details, now=now)
    return changes, operations


def kept_document(name: str) -> Document:
    kept = Document.objects.filter(name=name).first()
    if kept is None:
        raise not_found("document", name)
    return kept


def document_drift(name: str, *, now: datetime) -> tuple[Document, list[Change]]:
    """What was applied last under that name, against what is there now."""
    kept = kept_document(name)
    return kept, [change for change in plan_document(kept.content, now=now) if change.change != NONE]


# -- planning -----------------------------------------------------------------------------------------------


def _plan_cluster(document: dict[str, Any], wanted: dict[str, Any], path: str, now: datetime) -> list[Change]:
    cluster = living().filter(name=wanted["name"]).first()
    if cluster is None:
        if "layout" not in wanted:
            text = f"there is no cluster {wanted['name']!r}, and the document does not say how to lay it out"
            raise Problem("unknown_cluster", text, 400, field=f"{path}.name")
        plan_create(_request(wanted), now)
        made = Change(wanted["name"], "cluster", wanted["name"], CREATE, [], wanted["layout"])
        return [made, *creations(wanted)]
    return [*_cluster_changes(cluster, wanted), *_object_changes(document, cluster, wanted, path)]


def _object_changes(
    document: dict[str, Any], cluster: Cluster, wanted: dict[str, Any], path: str
) -> list[Change]:
    said = _said(cluster, document["name"])
    uses_users = bool(wanted["users"]) or any(row["is_ours"] for row in said["users"].values())
    if not any(wanted[table] for table in ("topics", "groups", "users")) and not document["prune"]:
        return []
    reached = reach(cluster)
    found = read_objects(reached.address, reached.expected, with_users=uses_users)
    for one in found:
        if not one.ok:
            text = f"{one.broker} of {cluster.name} does not say what it has: {one.detail}"
            raise Problem("incomplete", text, 503 if one.status >= 500 else one.status)
    _refuse_unknown_brokers(wanted, {one.broker for one in found}, path)
    return plan_objects(wanted, found, said, document["prune"])


def _refuse_unknown_brokers(wanted: dict[str, Any], known: set[str], path: str) -> None:
    for number, row in enumerate(wanted["topics"]):
        unknown = sorted(set(row.get("brokers", ())) - known)
        if unknown:
            text = f"no broker of {wanted['name']} is called {unknown[0]!r}"
            raise Problem("unknown_broker", text, 400, field=f"{path}.topics[{number}].brokers")


def _cluster_changes(cluster: Cluster, wanted: dict[str, Any]) -> list[Change]:
    changes = []
    if "labels" in wanted and wanted["labels"] != cluster.labels:
        diffs = [{"broker": "", "field": "labels", "now": cluster.labels, "then": wanted["labels"]}]
        changes.append(
            Change(cluster.name, "cluster", cluster.name, CHANGE, diffs, {"labels": wanted["labels"]})
        )
    if "layout" in wanted and cluster.kind == Cluster.Kind.MANAGED:
        diffs = cluster_differences(wanted["layout"], _layout_now(cluster))
        if diffs:
            changes.append(Change(cluster.name, "cluster", cluster.name, DIFFERS, diffs, note=LAYOUT_NOTE))
    return changes


def _layout_now(cluster: Cluster) -> dict[str, Any]:
    groups = BrokerGroup.objects.filter(cluster=cluster).count()
    brokers = Broker.objects.filter(group__cluster=cluster).count()
    return {
        "name_servers": cluster.name_servers.count(),
        "groups": groups,
        "slaves": brokers // groups - 1 if groups else 0,
        "profile": cluster.profile,
        "access_control": cluster.access_control,
        "overrides": cluster.overrides,
    }


def _said(cluster: Cluster, document: str) -> dict[str, dict[str, dict[str, Any]]]:
    about = ("name", "owner", "team", "description", "labels", "document")
    return {
        "topics": _rows(Topic.objects.filter(cluster=cluster, deleted_at=None).values(*about), document),
        "groups": _rows(
            ConsumerGroup.objects.filter(cluster=cluster, deleted_at=None).values(*about), document
        ),
        "users": _rows(
            AclUser.objects.filter(cluster=cluster).values("name", "labels", "document"), document
        ),
    }


def _rows(rows: Any, document: str) -> dict[str, dict[str, Any]]:
    return {row["name"]: row | {"is_ours": row["document"] == document} for row in rows}


# -- applying -----------------------------------------------------------------------------------------------


def _apply_cluster(
    document: str, wanted: dict[str, Any], changes: list[Change], actor: Actor, now: datetime
) -> Operation | None:
    ours = [change for change in changes if change.cluster == wanted["name"]]
    objects = [change for change in ours if change.kind != "cluster" and change.change != NONE]
    existing = living().filter(name=wanted["name"]).first()
    if existing is None:
        request = _request(wanted)
        plan = plan_create(request, now)
        _add_objects(plan, objects, document)
        return do_create_cluster(request, plan, actor=actor, now=now)
    for change in ours:
        if change.kind == "cluster" and change.change == CHANGE:
            do_change_cluster(existing, change.wish, actor=actor, now=now)
    if not objects:
        return None
    plan = Plan("apply-document", f"Apply the document {document} to {existing.name}")
    _add_objects(plan, objects, document)
    return do_start_operation(
        existing, plan, {"document": document}, needs_approval=False, actor=actor, now=now
    )


def _add_objects(plan: Plan, objects: list[Change], document: str) -> None:
    for change in objects:
        plan.say(change.sentence)
    for kind in _ORDER:
        made = [change for change in objects if change.kind == kind and change.change in (CREATE, CHANGE)]
        plan.then(_spec(change, document) for change in made)
    plan.then(_spec(change, document) for change in objects if change.change == DELETE)


def _spec(change: Change, document: str) -> StepSpec:
    arguments = {
        "object": change.kind,
        "name": change.name,
        "change": change.change,
        "wish": change.wish,
        "document": document,
    }
    return StepSpec(STEP, change.sentence.removesuffix("."), None, arguments)


def _request(wanted: dict[str, Any]) -> ClusterRequest:
    layout = wanted["layout"]
    return ClusterRequest(
        wanted["name"],
        name_servers=layout["name_servers"],
        groups=layout["groups"],
        slaves=layout["slaves"],
        hosts=layout.get("hosts"),
        profile=layout["profile"],
        access_control=layout.get("access_control", ""),
        overrides=layout.get("overrides", {}),
        allow_same_host=layout["allow_same_host"],
        labels=wanted.get("labels", {}),
    )

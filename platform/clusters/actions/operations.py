"""Operations: started from a plan, approved by a second person, cancelled, retried, rolled back, given up."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from clusters.models import Cluster, Host, Operation, Step
from clusters.provisioning import operations
from clusters.provisioning.kinds import kinds
from clusters.provisioning.plans.plan import Plan
from console.core import audit
from console.core.actors import Actor
from console.core.problems import Problem, busy


def do_start_operation(
    cluster: Cluster,
    plan: Plan,
    request: dict[str, Any],
    *,
    needs_approval: bool,
    actor: Actor,
    now: datetime,
) -> Operation:
    """Its rows, and the wake-up of whoever has the first steps. 409 when another one has the cluster."""
    try:
        with transaction.atomic():
            operation = _rows(cluster, plan, request, actor, now)
            audit.record(
                actor,
                f"operation.{plan.kind}",
                cluster=cluster.name,
                target=str(operation.pk),
                details={"summary": plan.summary, "request": request},
                now=now,
            )
            if needs_approval or cluster.needs_approval:
                operations.touch(operation.pk)
            else:
                operations.begin(operation, now)
    except IntegrityError:
        raise _busy(cluster) from None
    operation.refresh_from_db()
    return operation


def refuse_busy(cluster: Cluster) -> None:
    """Earlier than the constraint would, for dry runs and before a broker is asked."""
    if _open(cluster) is not None:
        raise _busy(cluster)


def _open(cluster: Cluster) -> Operation | None:
    return Operation.objects.filter(cluster=cluster, is_exclusive=True, state__in=Operation.OPEN).first()


def _busy(cluster: Cluster) -> Problem:
    other = _open(cluster)
    if other is None:
        return busy(f"another operation has just begun on {cluster.name}")
    return busy(
        f"{other.kind} is {other.state} on {cluster.name}: one operation at a time",
        operation=str(other.pk),
    )


def _rows(cluster: Cluster, plan: Plan, request: dict[str, Any], actor: Actor, now: datetime) -> Operation:
    operation = Operation.objects.create(
        cluster=cluster,
        kind=plan.kind,
        summary=plan.summary[:255],
        request=request,
        plan=[*plan.sentences, *(f"Warning: {text}" for text in plan.warnings)],
        state=Operation.State.AWAITING_APPROVAL,
        created_by=actor.name,
        created_by_id=actor.user_id,
        created_at=now,
    )
    hosts = {host.name: host for host in Host.objects.filter(removed_at=None)}
    Step.objects.bulk_create(
        Step(
            operation=operation,
            position=position,
            kind=spec.kind,
            summary=spec.summary[:255],
            host=None if spec.host is None else hosts[spec.host],
            arguments=spec.arguments,
        )
        for position, spec in plan.steps
    )
    return operation


def do_approve_operation(operation: Operation, *, actor: Actor, now: datetime) -> Operation:
    with transaction.atomic():
        locked = operations.lock(operation.pk)
        if actor.user_id is None or actor.user_id == locked.created_by_id:
            raise Problem("second_person", "whoever asked for it cannot approve it", 403)
        operations.begin(locked, now)
        Operation.objects.filter(pk=locked.pk).update(approved_by=actor.name, approved_at=now)
        _record(locked, "operation.approve", actor, now)
    return _fresh(operation)


def do_cancel_operation(operation: Operation, *, actor: Actor, now: datetime) -> Operation:
    with transaction.atomic():
        locked = operations.lock(operation.pk)
        operations.cancel(locked, now)
        _record(locked, "operation.cancel", actor, now)
    return _fresh(operation)


def do_retry_operation(operation: Operation, *, actor: Actor, now: datetime) -> Operation:
    with transaction.atomic():
        locked = operations.lock(operation.pk)
        operations.retry(locked, now)
        _record(locked, "operation.retry", actor, now)
    return _fresh(operation)


def do_roll_back_operation(operation: Operation, *, actor: Actor, now: datetime) -> Operation:
    with transaction.atomic():
        locked = operations.lock(operation.pk)
        operations.roll_back(locked, kinds.undoable, now)
        _record(locked, "operation.roll_back", actor, now)
    return _fresh(operation)


def do_give_up_operation(operation: Operation, *, actor: Actor, now: datetime) -> Operation:
    with transaction.atomic():
        locked = operations.lock(operation.pk)
        operations.give_up(locked, now)
        _record(locked, "operation.give_up", actor, now)
    return _fresh(operation)


def _record(operation: Operation, action: str, actor: Actor, now: datetime) -> None:
    cluster = "" if operation.cluster is None else operation.cluster.name
    details = {"kind": operation.kind, "summary": operation.summary}
    audit.record(actor, action, cluster=cluster, target=str(operation.pk), details=details, now=now)


def _fresh(operation: Operation) -> Operation:
    operation.refresh_from_db()
    return operation

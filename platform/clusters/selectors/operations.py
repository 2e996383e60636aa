"""Operations and their steps, for those who may see the cluster."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import Count, Q, QuerySet

from clusters.models import Operation, StepLine
from console.core.problems import not_found
from console.core.rights import Grants

ORDERINGS = ("created_at", "finished_at", "kind", "state")


def visible(grants: Grants) -> QuerySet[Operation]:
    rows = Operation.objects.filter(grants.clusters_filter("cluster__name")).select_related("cluster")
    return rows.annotate(
        step_count=Count("steps", filter=Q(steps__is_undo=False)),
        done_count=Count("steps", filter=Q(steps__is_undo=False, steps__state="done")),
    )


def get_operation(operation_id: str, grants: Grants) -> Operation:
    try:
        wanted = uuid.UUID(str(operation_id))
    except ValueError:
        raise not_found("operation", str(operation_id)) from None
    found = visible(grants).filter(pk=wanted).first()
    if found is None:
        raise not_found("operation", str(operation_id))
    return found


def described(operation: Operation) -> dict[str, Any]:
    """With its steps; an operation that a list gave has none."""
    steps = operation.steps.select_related("host").order_by("is_undo", "position", "id")
    return {"operation": operation, "steps": list(steps)}


def lines_of(operation: Operation, step: int | None = None) -> QuerySet[StepLine]:
    rows = StepLine.objects.filter(step__operation=operation).order_by("id")
    return rows if step is None else rows.filter(step_id=step)

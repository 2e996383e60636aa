"""Taking a step, keeping it, and saying how it ended: rows with a lease and a fence.

Taking is a compare-and-set: whoever raises `fence` of a step that waits, or whose lease is over, has it. All
later writes about the step name that fence; one that changes no row means that the lease was lost, and its
worker stops before its next side effect. `now` is passed in. No Celery here, and no broker is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from clusters.models import Operation, Step, StepLine
from clusters.provisioning import operations

LEASE = timedelta(seconds=15)
MOST_ATTEMPTS = 20
"""A step whose workers died that often is given up: it may be what kills them."""
_LINE = 1000


class LeaseLost(Exception):
    """Another worker has the step, or it is no longer to be done: do nothing more."""


@dataclass(frozen=True, slots=True)
class Held:
    step_id: int
    operation_id: Any
    fence: int


def runnable(host_id: int | None, now: datetime) -> QuerySet[Step]:
    """Steps of that host (None: of no host) whose turn it is and that nobody has."""
    earlier = Step.objects.filter(
        operation=OuterRef("operation"), is_undo=OuterRef("is_undo"), position__lt=OuterRef("position")
    ).exclude(state__in=operations.FINISHED_STEPS)
    free = Q(state=Step.State.WAITING) | Q(state=Step.State.RUNNING, lease_until__lt=now)
    due = Q(not_before=None) | Q(not_before__lte=now)
    turn = Q(operation__state=Operation.State.RUNNING, is_undo=False) | Q(
        operation__state=Operation.State.ROLLING_BACK, is_undo=True
    )
    found = Step.objects.filter(free, due, turn, host_id=host_id)
    return found.filter(~Exists(earlier)).order_by("operation__created_at", "position", "id")


def acquire(step: Step, worker: str, now: datetime) -> Held | None:
    """None: somebody else was quicker."""
    fence = step.fence + 1
    free = Q(state=Step.State.WAITING) | Q(state=Step.State.RUNNING, lease_until__lt=now)
    with transaction.atomic():
        changed = Step.objects.filter(free, pk=step.pk, fence=step.fence).update(
            state=Step.State.RUNNING,
            fence=fence,
            lease_until=now + LEASE,
            worker=worker[:128],
            attempts=F("attempts") + 1,
            started_at=step.started_at or now,
            not_before=None,
            error="",
        )
        if changed:
            operations.touch(step.operation_id)
    return Held(step.pk, step.operation_id, fence) if changed else None


def _mine(held: Held) -> QuerySet[Step]:
    return Step.objects.filter(pk=held.step_id, fence=held.fence, state=Step.State.RUNNING)


def release_orphans(host_id: int, host_name: str, pid: int, now: datetime) -> int:
    """For an agent that boots: it alone has its host's data root (`agent.lock`), so whoever had steps of that
    host, or of none under its name, is gone, and their leases need not be waited for."""
    its_own = Q(host_id=host_id) | Q(host=None, worker__startswith=f"control@{host_name}:")
    rows = Step.objects.filter(its_own, state=Step.State.RUNNING).exclude(worker__endswith=f":{pid}")
    return rows.update(lease_until=now)


def renew(held: Held, now: datetime) -> bool:
    return bool(_mine(held).update(lease_until=now + LEASE))


def standing(held: Held) -> str | None:
    """The state of its operation; None when the step is somebody else's."""
    return _mine(held).values_list("operation__state", flat=True).first()


def finish(held: Held, result: dict[str, Any], now: datetime) -> None:
    _end(held, now, state=Step.State.DONE, result=result, error="", progress="")


def fail(held: Held, error: str, now: datetime) -> None:
    _end(held, now, state=Step.State.FAILED, error=error)


def _end(held: Held, now: datetime, **changes: Any) -> None:
    with transaction.atomic():
        operations.lock(held.operation_id)
        if not _mine(held).update(lease_until=None, finished_at=now, **changes):
            raise LeaseLost
        operations.advance(held.operation_id, now)


def put_back(held: Held, now: datetime, *, wait_s: float = 0.0, progress: str | None = None) -> None:
    """It waits again: for its time to come, or for another worker because this one stops."""
    changes: dict[str, Any] = {} if progress is None else {"progress": progress[:255]}
    with transaction.atomic():
        operations.lock(held.operation_id)
        changed = _mine(held).update(
            state=Step.State.WAITING,
            lease_until=None,
            not_before=now + timedelta(seconds=wait_s) if wait_s else None,
            attempts=F("attempts") - 1,
            **changes,
        )
        if changed:
            operations.advance(held.operation_id, now, wakes=not wait_s)


def note(held: Held, **changes: Any) -> None:
    """Progress or an intermediate result. Raises LeaseLost."""
    with transaction.atomic():
        if not _mine(held).update(**changes):
            raise LeaseLost
        operations.touch(held.operation_id)


def add_line(held: Held, text: str, now: datetime) -> None:
    with transaction.atomic():
        if not _mine(held).select_for_update().exists():
            raise LeaseLost
        line = StepLine.objects.create(step_id=held.step_id, at=now, text=text[:_LINE])
        operations.touch(held.operation_id, line={"step": held.step_id, "id": line.pk, "text": line.text})

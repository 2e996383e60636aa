"""The life of an operation: from its steps to its state, and what a person may do to it. Rows only.

    awaiting_approval → running → succeeded
                           ↓  ↘ cancelling → cancelled (nothing was done) | failed (something was)
                        failed → running (retry) | rolling_back → rolled_back | cancelled (given up)

`advance` works the state out from the steps and wakes the hosts whose turn it is; whoever changes a step
calls it in the same transaction, with the operation's row locked. Every change raises `revision` and is
published on `operations/<cluster>` and `operation/<id>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import F

from clusters.models import Cluster, Operation, Step
from clusters.provisioning.undoing import Undone, undo_rows
from console.core.events import publish
from console.core.problems import Problem
from console.core.waking import CONTROL, host_queue, wake

State = Operation.State
FINISHED_STEPS = (Step.State.DONE, Step.State.SKIPPED, Step.State.UNDONE)
RUN_STEPS = "clusters.tasks.steps.run_steps"
CREATE = "create"
_MOST_WAKES = 4


def lock(operation_id: Any) -> Operation:
    """For the rest of the transaction nobody else changes this operation or its steps."""
    rows = Operation.objects.select_for_update(of=("self",))
    return rows.select_related("cluster").get(pk=operation_id)


def touch(operation_id: Any, **more: Any) -> None:
    """Something about it changed."""
    Operation.objects.filter(pk=operation_id).update(revision=F("revision") + 1)
    operation = Operation.objects.select_related("cluster").get(pk=operation_id)
    about = {
        "id": str(operation.pk),
        "kind": operation.kind,
        "state": operation.state,
        "revision": operation.revision,
    }
    publish(f"operation/{operation.pk}", about | more)
    if operation.cluster is not None and "line" not in more:
        publish(f"operations/{operation.cluster.name}", about)


def advance(operation_id: Any, now: datetime, *, wakes: bool = True) -> str:
    """In a transaction that holds `lock`. The state after it."""
    operation = lock(operation_id)
    steps = list(Step.objects.filter(operation=operation).order_by("position", "id"))
    state, error = next_state(operation.state, operation.error, steps)
    if state in (State.ROLLED_BACK, State.CANCELLED):
        Step.objects.filter(operation=operation, state=Step.State.WAITING).update(state=Step.State.SKIPPED)
        _forget_never_made(operation, now)
    if state != operation.state or error != operation.error:
        is_over = state not in Operation.OPEN
        Operation.objects.filter(pk=operation.pk).update(
            state=state, error=error, finished_at=now if is_over else None
        )
    touch(operation.pk)
    if wakes and state in (State.RUNNING, State.ROLLING_BACK):
        wake_next(steps, is_undo=state == State.ROLLING_BACK)
    return state


def _forget_never_made(operation: Operation, now: datetime) -> None:
    """A cluster whose creation never began gives its name back."""
    cluster = operation.cluster
    if operation.kind != CREATE or cluster is None:
        return
    if not cluster.groups.exists() and not cluster.name_servers.exists():
        Cluster.objects.filter(pk=cluster.pk, deleted_at=None).update(deleted_at=now)


def next_state(state: str, error: str, steps: list[Step]) -> tuple[str, str]:
    """Pure: what the steps make of the operation."""
    if state not in (State.RUNNING, State.CANCELLING, State.ROLLING_BACK):
        return state, error
    ours = [step for step in steps if step.is_undo == (state == State.ROLLING_BACK)]
    if any(step.state == Step.State.RUNNING for step in ours):
        return state, error
    failed = [step for step in ours if step.state == Step.State.FAILED]
    if state == State.CANCELLING:
        return _cancelled(ours, failed, error)
    if failed:
        return State.FAILED, f"{failed[0].summary}: {failed[0].error}"
    if all(step.state in FINISHED_STEPS for step in ours):
        return (State.ROLLED_BACK if state == State.ROLLING_BACK else State.SUCCEEDED), ""
    return state, error


def _cancelled(steps: list[Step], failed: list[Step], error: str) -> tuple[str, str]:
    """One that has changed something is not over: somebody must say whether it goes on or back."""
    done = [step for step in steps if step.state == Step.State.DONE]
    begun = [step for step in steps if step.attempts > 0 or step.started_at is not None]
    if not done and not failed and not begun:
        return State.CANCELLED, error
    return State.FAILED, f"cancelled when {len(done)} of {len(steps)} steps were done"


def wake_next(steps: list[Step], *, is_undo: bool) -> None:
    """The hosts of the first position that is not finished."""
    ours = [step for step in steps if step.is_undo == is_undo and step.state not in FINISHED_STEPS]
    if not ours:
        return
    position = min(step.position for step in ours)
    queues: dict[str, int] = {}
    for step in ours:
        if step.position == position and step.state == Step.State.WAITING:
            queue = CONTROL if step.host is None else host_queue(step.host.name)
            queues[queue] = queues.get(queue, 0) + 1
    for queue, count in queues.items():
        for _ in range(min(count, _MOST_WAKES)):
            wake(RUN_STEPS, queue=queue, host="" if queue == CONTROL else queue.removeprefix("host."))


# -- what a person may do ------------------------------------------------------------------------------------


def begin(operation: Operation, now: datetime) -> None:
    """Approved, or not in need of it."""
    _require(operation, State.AWAITING_APPROVAL, "begin")
    _set(operation, State.RUNNING)
    advance(operation.pk, now)


def cancel(operation: Operation, now: datetime) -> None:
    if operation.state not in (State.AWAITING_APPROVAL, State.RUNNING):
        raise _refused(operation, "cancelled")
    _set(operation, State.CANCELLING)
    advance(operation.pk, now)


def retry(operation: Operation, now: datetime) -> None:
    """Failed steps wait again; a roll-back that failed goes on rolling back."""
    _require(operation, State.FAILED, "retried")
    undo = operation.steps.filter(is_undo=True)
    is_undo = undo.exists()
    operation.steps.filter(is_undo=is_undo, state=Step.State.FAILED).update(
        state=Step.State.WAITING, not_before=None, attempts=0, finished_at=None
    )
    _set(operation, State.ROLLING_BACK if is_undo else State.RUNNING)
    advance(operation.pk, now)


def give_up(operation: Operation, now: datetime) -> None:
    """What was done stays, nothing more is done, and the cluster is free again."""
    _require(operation, State.FAILED, "given up")
    Operation.objects.filter(pk=operation.pk).update(state=State.CANCELLED, finished_at=now)
    operation.steps.filter(state=Step.State.WAITING).update(state=Step.State.SKIPPED)
    touch(operation.pk)


def roll_back(operation: Operation, undoable: Mapping[str, Undone], now: datetime) -> None:
    """Undo steps for what was done or begun (`undoing.py` has the order)."""
    _require(operation, State.FAILED, "rolled back")
    planned = list(operation.steps.select_related("operation", "host"))
    if any(step.is_undo for step in planned):
        raise Problem("rolling_back", "it is being rolled back: retry that", 409)
    last = max((step.position for step in planned), default=0)
    Step.objects.bulk_create(undo_rows(planned, undoable, last + 1))
    operation.steps.filter(is_undo=False, state=Step.State.WAITING).update(state=Step.State.SKIPPED)
    _set(operation, State.ROLLING_BACK)
    advance(operation.pk, now)


def _set(operation: Operation, state: str) -> None:
    Operation.objects.filter(pk=operation.pk).update(state=state, error="")
    operation.state = state


def _require(operation: Operation, state: str, verb: str) -> None:
    if operation.state != state:
        raise _refused(operation, verb)


def _refused(operation: Operation, verb: str) -> Problem:
    return Problem("wrong_state", f"an operation that is {operation.state} cannot be {verb}", 409)

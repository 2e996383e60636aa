"""Runs steps in this worker: takes those of a host that are due, keeps their leases, says how they ended.

A thread per running step renews its lease every 5 s. When the renewal changes no row the step is somebody
else's: its context says so before the next side effect. This is the border of steps: whatever a step raises
becomes its error.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import DatabaseError, connections
from django.utils import timezone

from clusters.models import Step
from clusters.provisioning import fences, steps
from clusters.provisioning.driver import DriverError
from clusters.provisioning.kinds import kinds
from clusters.provisioning.registry import Cancelled, Later, StepContext, StepFailed, Stopping
from clusters.provisioning.steps import Held, LeaseLost
from console.core.problems import Problem

log = logging.getLogger(__name__)

RENEW_S = 5.0
_SHORT_S = 4.0
"""Shorter waits of a step are waited for here; longer ones are left to beat."""

stopping = threading.Event()
"""Set when this worker is told to end: running steps go back, for the next one."""


def run_open_steps(host_id: int | None, worker: str, stop: threading.Event = stopping) -> int:
    """Until nothing of that host is due. How many were run."""
    count = 0
    while not stop.is_set():
        held_step = _take(host_id, worker)
        if held_step is None:
            wait_s = _soon(host_id)
            if wait_s is None or stop.wait(wait_s):
                return count
            continue
        _run(*held_step, stop)
        count += 1
    return count


def _take(host_id: int | None, worker: str) -> tuple[Step, Held] | None:
    now = timezone.now()
    for step in steps.runnable(host_id, now).select_related("operation__cluster", "host")[:20]:
        held = steps.acquire(step, worker, now)
        if held is not None:
            return step, held
    return None


def _soon(host_id: int | None) -> float | None:
    """Seconds until a step that was put back is due again, when that is soon."""
    now = timezone.now()
    soon = now + timedelta(seconds=_SHORT_S)
    first = steps.runnable(host_id, soon).filter(state=Step.State.WAITING, not_before__gt=now).first()
    if first is None or first.not_before is None:
        return None
    return max(0.05, (first.not_before - now).total_seconds())


def _run(step: Step, held: Held, stop: threading.Event) -> None:
    context = StepContext(step, held, stop)
    try:
        with _renewing(context):
            _run_kind(context)
    except LeaseLost:
        log.warning("step %d (%s) is somebody else's now", step.pk, step.summary)


def _run_kind(context: StepContext) -> None:
    held, now = context.held, timezone.now
    try:
        result = _function(context)(context)
        steps.finish(held, context.result | (result or {}), now())
    except Later as later:
        steps.put_back(held, now(), wait_s=later.wait_s, progress=later.progress)
    except Stopping:
        steps.put_back(held, now())
    except Cancelled:
        steps.fail(held, "cancelled", now())
    except (StepFailed, DriverError, Problem, fences.Outdated) as error:
        steps.fail(held, str(error), now())
    except LeaseLost:
        raise
    except Exception as error:
        log.exception("step %d (%s) failed", context.step.pk, context.step.summary)
        steps.fail(held, f"{type(error).__name__}: {error}", now())


def _function(context: StepContext):  # type: ignore[no-untyped-def]
    step = context.step
    if step.attempts >= steps.MOST_ATTEMPTS:
        raise StepFailed(f"its workers ended {step.attempts} times in the middle of it")
    kind = kinds.get(step.kind)
    function = None if kind is None else kind.undo if step.is_undo else kind.run
    if function is None:
        raise StepFailed(f"this version knows no step {step.kind}")
    return function


@contextmanager
def _renewing(context: StepContext) -> Iterator[None]:
    ended = threading.Event()
    thread = threading.Thread(target=_renew, args=(context, ended), name=f"lease-{context.step.pk}")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _renew(context: StepContext, ended: threading.Event) -> None:
    try:
        while not ended.wait(RENEW_S):
            try:
                if not steps.renew(context.held, timezone.now()):
                    context.is_lost.set()
                    return
            except DatabaseError as error:
                # Tried again in 5 s; if the database stays away, the lease runs out and the check says so.
                log.warning("the lease of step %d was not renewed: %s", context.step.pk, error)
    finally:
        connections.close_all()

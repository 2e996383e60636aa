"""Runs: asked for, called off, asked for again, thrown away.

A run whose host is known to lack Java or PySpark is made all the same, and has failed at once with that
reason: a schedule's history must not have holes that nobody can explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from clusters.models import Cluster, SearchJob
from console.core import audit
from console.core.actors import Actor
from console.core.problems import Problem
from console.core.waking import host_queue, wake
from reports.actions.telling import tell
from reports.models import ReportRun, ReportSchedule
from reports.models.wishes import DEFAULT_RETRIES, DEFAULT_TIMEOUT_S
from reports.selectors.catalogue import find_report
from reports.selectors.placing import Placement, place

RUN = "reports.tasks.runs.run_reports"
LOOK = "reports.tasks.runs.look_after_reports"
MOST_OPEN = 20
"""Of one cluster."""


@dataclass(frozen=True, slots=True)
class RunWish:
    report: str
    options: dict[str, Any] = field(default_factory=dict)
    brokers: Sequence[str] = ()
    allows_partial: bool = False
    time_zone: str = "UTC"
    keep_days: int = 30
    timeout_s: int = DEFAULT_TIMEOUT_S
    retries: int = DEFAULT_RETRIES
    begin: datetime | None = None
    end: datetime | None = None
    paths: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a run comes from; by itself, from a person."""

    schedule: ReportSchedule | None = None
    scheduled_for: datetime | None = None
    search: SearchJob | None = None
    retry_of: ReportRun | None = None


PERSON = Origin()


def plan_run(cluster: Cluster, wish: RunWish, *, now: datetime) -> Placement:
    """Also says what is wrong with it. Changes nothing."""
    find_report(wish.report).checked(wish.options)
    if wish.begin is not None and wish.end is not None and wish.begin >= wish.end:
        raise Problem("invalid", "end is not after begin", 400, field="end")
    return place(cluster, wish.brokers, paths=wish.paths, allows_partial=wish.allows_partial, now=now)


def do_start_run(
    cluster: Cluster, wish: RunWish, *, actor: Actor, now: datetime, origin: Origin = PERSON
) -> ReportRun:
    placement = plan_run(cluster, wish, now=now)
    with transaction.atomic():
        if ReportRun.objects.filter(cluster=cluster, state__in=ReportRun.OPEN).count() >= MOST_OPEN:
            raise Problem("too_many", f"{MOST_OPEN} runs of {cluster.name} are open: wait or cancel one", 409)
        run = _row(cluster, wish, origin, actor, now)
        run.host, run.stores, run.left_out = placement.host, placement.stores, placement.left_out
        if placement.missing:
            run.state, run.error, run.finished_at = ReportRun.State.FAILED, placement.missing, now
        run.save(force_insert=True)
        _note(actor, "report.run", run, now)
        _wake(run)
        tell(run)
    return run


def do_keep_refusal(
    cluster: Cluster, wish: RunWish, reason: str, *, actor: Actor, now: datetime, origin: Origin
) -> ReportRun:
    """A scheduled run that could not even be placed, for the history."""
    with transaction.atomic():
        run = _row(cluster, wish, origin, actor, now)
        run.state, run.error, run.finished_at = ReportRun.State.FAILED, reason, now
        run.save(force_insert=True)
        _note(actor, "report.run", run, now)
        tell(run)
    return run


def _row(cluster: Cluster, wish: RunWish, origin: Origin, actor: Actor, now: datetime) -> ReportRun:
    return ReportRun(
        cluster=cluster,
        schedule=origin.schedule,
        scheduled_for=origin.scheduled_for,
        search=origin.search,
        retry_of=origin.retry_of,
        owner_id=actor.user_id,
        created_by=actor.name,
        created_at=now,
        expires_at=now + timedelta(days=wish.keep_days),
        report=wish.report,
        options=wish.options,
        brokers=list(wish.brokers),
        allows_partial=wish.allows_partial,
        time_zone=wish.time_zone,
        keep_days=wish.keep_days,
        timeout_s=wish.timeout_s,
        retries=wish.retries,
        begin=wish.begin,
        end=wish.end,
        paths=list(wish.paths),
    )


def _wake(run: ReportRun) -> None:
    if run.state != ReportRun.State.QUEUED:
        return
    if run.host is None:
        # Whoever looks after runs finds a host that can take it.
        wake(LOOK)
    else:
        wake(RUN, queue=host_queue(run.host.name), host=run.host.name)


def do_cancel_run(run: ReportRun, *, actor: Actor, now: datetime) -> ReportRun:
    """One that waits is cancelled at once, one that runs when its processes are gone."""
    with transaction.atomic():
        mine = ReportRun.objects.filter(pk=run.pk, cancel_asked_at=None)
        is_over = mine.filter(state=ReportRun.State.QUEUED).update(
            state=ReportRun.State.CANCELLED, cancel_asked_at=now, finished_at=now, not_before=None
        )
        is_asked = is_over or mine.filter(state=ReportRun.State.RUNNING).update(cancel_asked_at=now)
        run.refresh_from_db()
        if not is_asked and run.state not in ReportRun.OPEN:
            raise Problem("not_open", f"the run is {run.state} already", 409)
        _note(actor, "report.cancel", run, now)
        tell(run)
    return run


def do_retry_run(run: ReportRun, *, actor: Actor, now: datetime) -> ReportRun:
    """The same again as a run of its own; the first one stays as it ended."""
    if run.state in ReportRun.OPEN:
        raise Problem("open", f"the run is {run.state}: wait, or cancel it first", 409)
    if run.report == "search":
        raise Problem("search", "ask for the search again instead", 409)
    wish = RunWish(
        run.report,
        run.options,
        run.brokers,
        run.allows_partial,
        run.time_zone,
        run.keep_days,
        run.timeout_s,
        run.retries,
        run.begin,
        run.end,
        run.paths,
    )
    return do_start_run(run.cluster, wish, actor=actor, now=now, origin=Origin(retry_of=run))


def do_delete_run(run: ReportRun, *, actor: Actor, now: datetime) -> None:
    """Its files go now instead of when its days are over."""
    with transaction.atomic():
        gone = ReportRun.objects.filter(pk=run.pk).exclude(state__in=ReportRun.OPEN)
        if not gone.update(expires_at=now):
            raise Problem("open", "cancel the run first", 409)
        _note(actor, "report.delete", run, now)
        wake(LOOK)


def _note(actor: Actor, action: str, run: ReportRun, now: datetime) -> None:
    details = {
        "run": str(run.pk),
        "schedule": None if run.schedule is None else run.schedule.name,
        "host": None if run.host is None else run.host.name,
        # What a search looks for may be what somebody masks.
        "options": run.options if run.report != "search" else sorted(run.options),
    }
    audit.record(actor, action, cluster=run.cluster.name, target=run.report, details=details, now=now)

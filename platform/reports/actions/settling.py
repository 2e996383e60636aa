"""Runs that nobody looks after: a worker died, a host is silent, a search is over. None of them stays open.

By beat, every few seconds, and by an agent that boots for those of its own host. Taking such a run raises its
fence, so a worker that was only slow can write nothing more.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from clusters.models import Host, SearchJob
from clusters.provisioning.reconcile import is_silent
from console.core.job_leases import LeaseLost, release, take, takeable, write
from console.core.waking import host_queue, wake
from reports.actions.run_decisions import Verdict, after_death
from reports.actions.runs import RUN
from reports.actions.telling import tell
from reports.models import ReportRun, SparkHost

SILENT_FOR = timedelta(minutes=10)
"""How long a run waits for a host that does not answer."""
State = ReportRun.State


def do_settle_runs(*, worker: str, now: datetime) -> int:
    """How many were."""
    orphans = takeable(ReportRun.objects.all(), (State.RUNNING,), now)
    return _settle(orphans, worker, now) + _settle_waiting(worker, now)


def do_adopt_runs(host: Host, *, worker: str, now: datetime) -> int:
    """For an agent that boots: it alone has its host's data root, so whoever had runs of it is gone."""
    rows = ReportRun.objects.filter(host=host, state=State.RUNNING).exclude(worker=worker)
    rows.update(lease_until=None)
    return _settle(rows, worker, now)


def _settle(orphans: QuerySet[ReportRun], worker: str, now: datetime) -> int:
    count = 0
    for pk in list(orphans.values_list("pk", flat=True)):
        run = take(ReportRun.objects.select_related("cluster", "host"), pk, (State.RUNNING,), worker, now)
        if run is None:
            continue
        deaths = run.deaths + 1
        verdict = after_death(deaths, is_cancelled=run.cancel_asked_at is not None, now=now)
        count += _write(run, verdict, now, deaths=deaths)
    return count


def _settle_waiting(worker: str, now: datetime) -> int:
    """Those that no host will take, and those of searches that are over."""
    count, able = 0, bool(able_hosts(now))
    waiting = takeable(ReportRun.objects.select_related("host", "cluster", "search"), (State.QUEUED,), now)
    for run in waiting:
        verdict = waiting_verdict(run, now, has_able_host=able)
        if verdict is None:
            continue
        held = take(ReportRun.objects.select_related("cluster"), run.pk, (State.QUEUED,), worker, now)
        count += 0 if held is None else _write(held, verdict, now)
    return count


def able_hosts(now: datetime) -> list[Host]:
    """Those that answer and, as far as they said, can run Spark."""
    lacking = set(SparkHost.objects.exclude(missing="").values_list("host_id", flat=True))
    hosts = Host.objects.filter(removed_at=None)
    return [host for host in hosts if host.pk not in lacking and not is_silent(host, now)]


def waiting_verdict(run: ReportRun, now: datetime, *, has_able_host: bool) -> Verdict | None:
    """None: it may go on waiting."""
    if run.report == "search" and (run.search is None or run.search.state not in SearchJob.OPEN):
        return Verdict(State.CANCELLED)
    if run.cluster.deleted_at is not None:
        return Verdict(State.CANCELLED, f"the cluster {run.cluster.name} was deleted")
    host, since = run.host, now - run.created_at
    if host is None:
        none = "no host that could run Spark has answered for ten minutes"
        return Verdict(State.FAILED, none) if not has_able_host and since > SILENT_FOR else None
    if host.removed_at is not None:
        return Verdict(State.FAILED, f"the host {host.name} was removed")
    silence = since if host.heartbeat_at is None else min(since, now - host.heartbeat_at)
    if silence > SILENT_FOR:
        return Verdict(State.FAILED, f"the agent of {host.name}, which has the stores, does not answer")
    return None


def _write(run: ReportRun, verdict: Verdict, now: datetime, **more: int) -> int:
    finished_at = None if verdict.state == State.QUEUED else now
    try:
        with transaction.atomic():
            write(
                run,
                ReportRun.OPEN,
                now,
                state=verdict.state,
                error=verdict.error,
                not_before=verdict.not_before,
                finished_at=finished_at,
                **more,
            )
            tell(run)
    except LeaseLost:
        return 0
    finally:
        release(run)
    return 1


def wake_hosts(now: datetime) -> None:
    """Every host that answers and has something to do; whoever takes it first has it."""
    due = Q(not_before=None) | Q(not_before__lte=now)
    waiting = takeable(ReportRun.objects.filter(due), (State.QUEUED,), now)
    wanted = set(waiting.order_by().values_list("host_id", flat=True).distinct())
    busy = set(ReportRun.objects.filter(state=State.RUNNING).values_list("host_id", flat=True))
    able = {host.pk for host in able_hosts(now)} if None in wanted else set()
    for host in Host.objects.filter(
        pk__in=[pk for pk in wanted | able if pk is not None], removed_at=None
    ).exclude(pk__in=busy):
        if not is_silent(host, now):
            wake(RUN, queue=host_queue(host.name), host=host.name)

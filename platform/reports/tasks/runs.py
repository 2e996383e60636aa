"""Runs: an agent runs those of its host; beat makes those that are due and finds those that nobody has."""

from __future__ import annotations

import threading

from celery import shared_task
from django.utils import timezone

from clusters.models import Host
from clusters.provisioning import agents
from clusters.provisioning.executor import stopping
from console.core.waking import host_queue, wake
from reports.actions.expiring import do_expire_runs
from reports.actions.run_work import do_run_reports
from reports.actions.runs import RUN
from reports.actions.schedules import do_start_due_runs
from reports.actions.searches import do_follow_searches
from reports.actions.settling import do_adopt_runs, do_settle_runs, wake_hosts
from reports.actions.spark_hosts import do_note_spark, unseen_hosts

_running = threading.Lock()
_woken = threading.Event()


@shared_task
def run_reports(host: str) -> int:
    """One worker of this process at a time. Who comes second only leaves word: the first may have looked for
    the last time already, and looks again once it is through."""
    mine = agents.current()
    if mine is None or mine.name != host:
        return 0
    _woken.set()
    count = 0
    while _woken.is_set() and _running.acquire(blocking=False):
        try:
            _woken.clear()
            name = agents.worker_name("reports")
            count += do_run_reports(mine, worker=name, clock=timezone.now, stop=stopping)
        finally:
            _running.release()
    return count


@shared_task
def look_for_spark(host: str) -> None:
    mine = agents.current()
    if mine is not None and mine.name == host:
        do_note_spark(mine, now=timezone.now())


@shared_task
def look_after_reports() -> None:
    """Every few seconds, by beat."""
    now = timezone.now()
    do_start_due_runs(now=now)
    do_settle_runs(worker=agents.worker_name("settling"), now=now)
    do_follow_searches(now=now)
    wake_hosts(now)
    do_expire_runs(now=now)
    for host in unseen_hosts(now):
        wake("reports.tasks.runs.look_for_spark", queue=host_queue(host.name), host=host.name)


def pick_up(host: Host) -> None:
    """For an agent that boots: what it can do, what its last agent left, what waits. Runs are left to a task:
    an agent that stops waits for its tasks, and they put their runs back."""
    now = timezone.now()
    do_note_spark(host, now=now)
    do_adopt_runs(host, worker=agents.worker_name("reports"), now=now)
    wake(RUN, queue=host_queue(host.name), host=host.name)

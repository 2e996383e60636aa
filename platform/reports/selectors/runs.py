"""Runs and schedules of one cluster. Who may see them the view settles: reports show all names."""

from __future__ import annotations

import uuid

from django.db.models import QuerySet

from clusters.models import Cluster
from console.core.problems import not_found
from reports.models import ReportRun, ReportSchedule

ORDERINGS = ("created_at", "finished_at", "report", "state")


def runs_of(cluster: Cluster) -> QuerySet[ReportRun]:
    """Without those of search jobs, which are their owners' and seen through the jobs."""
    rows = ReportRun.objects.filter(cluster=cluster).exclude(report="search")
    return rows.select_related("host", "schedule", "cluster")


def get_run(cluster: Cluster, run_id: uuid.UUID) -> ReportRun:
    run = runs_of(cluster).filter(pk=run_id).first()
    if run is None:
        raise not_found("run", str(run_id))
    return run


def schedules_of(cluster: Cluster) -> QuerySet[ReportSchedule]:
    return ReportSchedule.objects.filter(cluster=cluster).select_related("owner", "cluster")


def get_schedule(cluster: Cluster, schedule_id: int) -> ReportSchedule:
    schedule = schedules_of(cluster).filter(pk=schedule_id).first()
    if schedule is None:
        raise not_found("schedule", str(schedule_id))
    return schedule

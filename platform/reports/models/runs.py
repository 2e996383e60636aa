"""Runs: one report, made once, by `spark-submit` on one host. Kept for days, then expired, then deleted.

A worker holds the run's lease (console/core/job_leases.py) and says with every write that it does. Killed, it
costs the attempt: the lease runs out, and the run is put back or failed with its reason. What the job wrote
is moved into place whole when it has ended well; `tables` lists it. Files are on `host`, below its data root.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from clusters.models import Cluster, Host, SearchJob
from reports.models.schedules import ReportSchedule
from reports.models.wishes import ReportWish


class ReportRun(ReportWish):
    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"
        EXPIRED = "expired"
        """Its days are over: the files are gone or going, the row stays for a while."""

    OPEN = (State.QUEUED, State.RUNNING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="report_runs")
    schedule = models.ForeignKey(ReportSchedule, models.SET_NULL, null=True, related_name="runs")
    scheduled_for = models.DateTimeField(null=True)
    retry_of = models.ForeignKey("self", models.SET_NULL, null=True, related_name="+")
    search = models.OneToOneField(SearchJob, models.SET_NULL, null=True, related_name="+")
    """The search job that it is the runner of."""
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    begin = models.DateTimeField(null=True)
    end = models.DateTimeField(null=True)
    host = models.ForeignKey(Host, models.PROTECT, null=True, related_name="+")
    """Who runs it; None: whichever host takes it first, because all see its stores."""
    paths = models.JSONField(default=list)
    """[{"broker", "path"}] that the request itself named, in place of what is known of the cluster."""
    stores = models.JSONField(default=list)
    """[{"broker", "member"}] of a managed cluster: the host itself knows where they are. [{"broker", "path"}]
    of an attached one."""
    left_out = models.JSONField(default=list)
    """Broker groups whose stores its host does not have."""
    state = models.CharField(max_length=9, choices=State.choices, default=State.QUEUED, db_index=True)
    error = models.TextField(blank=True)
    progress = models.JSONField(default=dict)
    """The last line of the job's progress file, and the memory of its processes."""
    log_tail = models.TextField(blank=True)
    summary = models.JSONField(null=True)
    tables = models.JSONField(default=dict)
    """{name: {"rows", "columns", "files": [{"name", "bytes"}]}}"""
    folder = models.CharField(max_length=255, blank=True)
    """Of its results, below the host's folder of results."""
    attempts = models.PositiveIntegerField(default=0)
    deaths = models.PositiveIntegerField(default=0)
    """Attempts whose worker ended in the middle of them."""
    not_before = models.DateTimeField(null=True)
    cancel_asked_at = models.DateTimeField(null=True)
    """Somebody wants it ended; it is `cancelled` once its processes are gone."""
    fence = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    worker = models.CharField(max_length=128, blank=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(db_index=True)
    files_removed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["cluster", "-created_at"], name="report_runs_of_a_cluster")]
        constraints = [
            models.UniqueConstraint(
                fields=["host"], condition=Q(state="running"), name="one_report_at_a_time_on_a_host"
            ),
            models.UniqueConstraint(fields=["schedule", "scheduled_for"], name="one_run_of_a_moment"),
        ]

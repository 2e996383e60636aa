"""Schedules: a report by a cron expression in a time zone. `next_at` is what beat's look compares with.

A run of a schedule is made in the transaction that moves `next_at` on, and there is one per moment, so two
workers that look at once make one run. Moments that passed while nobody looked are one run, not many.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models

from clusters.models import Cluster
from reports.models.wishes import ReportWish


class ReportSchedule(ReportWish):
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="report_schedules")
    name = models.CharField(max_length=100)
    cron = models.CharField(max_length=100)
    """Minute, hour, day of the month, month, day of the week; read in `time_zone`."""
    last_hours = models.PositiveIntegerField(null=True)
    """How far back a run looks from its moment; None: everything that is kept."""
    is_enabled = models.BooleanField(default=True)
    next_at = models.DateTimeField(null=True, db_index=True)
    """None: paused, or the expression has no further moment."""
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    grants = models.JSONField(default=list)
    """What the owner was allowed when it was made (console/core/standing.py)."""
    updated_at = models.DateTimeField()
    note = models.CharField(max_length=255, blank=True)
    """Why the last moment made no run, or why it was paused."""

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="one_schedule_of_a_name")]

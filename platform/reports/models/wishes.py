"""What a run and a schedule have in common: which report, of what, with which options and limits."""

from __future__ import annotations

from django.db import models

DEFAULT_TIMEOUT_S = 3600
DEFAULT_RETRIES = 1


class ReportWish(models.Model):
    report = models.CharField(max_length=32)
    """A name of reports/selectors/catalogue.py."""
    options = models.JSONField(default=dict)
    """By name, checked by the catalogue when asked for and again before they become arguments."""
    brokers = models.JSONField(default=list)
    """Names of broker groups; empty: all of the cluster."""
    allows_partial = models.BooleanField(default=False)
    """Broker groups that no single host has may be left out, and are named."""
    time_zone = models.CharField(max_length=64, default="UTC")
    keep_days = models.PositiveIntegerField()
    timeout_s = models.PositiveIntegerField(default=DEFAULT_TIMEOUT_S)
    retries = models.PositiveIntegerField(default=DEFAULT_RETRIES)
    """How often it is tried again by itself after a failure that is not the request's own fault."""
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()

    class Meta:
        abstract = True

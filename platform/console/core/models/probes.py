"""One row that /readyz writes, to find out whether the database takes a write at all (console/health.py)."""

from __future__ import annotations

from django.db import models


class WriteProbe(models.Model):
    written_at = models.DateTimeField()

"""What each host's agent found of Spark: nothing missing, or what is, in a sentence."""

from __future__ import annotations

from django.db import models

from clusters.models import Host


class SparkHost(models.Model):
    host = models.OneToOneField(Host, models.CASCADE, related_name="spark")
    missing = models.CharField(max_length=255, blank=True)
    checked_at = models.DateTimeField()

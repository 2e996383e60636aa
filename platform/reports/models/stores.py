"""Where Spark finds the stores of a cluster that the console did not make, or that all hosts can see.

A managed cluster needs no row: its hosts know their stores. Paths are believed only below folders that the
host's own environment allows (SIGNALBOX_STORES): a row alone opens no file.
"""

from __future__ import annotations

from django.db import models

from clusters.models import Cluster, Host


class ClusterStores(models.Model):
    cluster = models.OneToOneField(Cluster, models.CASCADE, related_name="stores")
    host = models.ForeignKey(Host, models.PROTECT, null=True, related_name="+")
    """Who has the disks."""
    is_shared = models.BooleanField(default=False)
    """Every host sees them under the same paths."""
    stores = models.JSONField(default=list)
    """[{"broker", "path"}], of an attached cluster."""
    updated_by = models.CharField(max_length=150)
    updated_at = models.DateTimeField()

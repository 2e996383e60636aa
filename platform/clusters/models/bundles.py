"""A cluster's secrets for one host: sealed with its public key, so that only its agent can open them."""

from __future__ import annotations

from django.db import models

from clusters.models.clusters import Cluster
from clusters.models.hosts import Host


class SealedBundle(models.Model):
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="bundles")
    host = models.ForeignKey(Host, models.CASCADE, related_name="+")
    sealed = models.TextField()
    """A JSON object in a NaCl sealed box, base64 (provisioning/host_keys.py)."""
    sealed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "host"], name="one_bundle_per_host")]

"""Users and policies of brokers (ACL 2.0) as somebody asked for them.

Secrets are sealed with the console's key, so that a broker group that joins later can be given the same
users; no answer, listing or audit row holds one.
"""

from __future__ import annotations

from django.db import models

from clusters.models.clusters import Cluster

USER_LENGTH = 256


class AclUser(models.Model):
    class Kind(models.TextChoices):
        SUPER = "Super"
        NORMAL = "Normal"

    class Status(models.TextChoices):
        ENABLE = "enable"
        DISABLE = "disable"

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="acl_users")
    name = models.CharField(max_length=USER_LENGTH)
    kind = models.CharField(max_length=6, choices=Kind.choices, default=Kind.NORMAL)
    status = models.CharField(max_length=7, choices=Status.choices, default=Status.ENABLE)
    sealed_secret = models.TextField(blank=True)
    """Empty: made elsewhere, the console does not know it."""
    policies = models.JSONField(default=list)
    """[{type, resource, actions, source_ips, decision}] in RocketMQ's spelling."""
    labels = models.JSONField(default=dict)
    document = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="one_acl_user_of_a_name")]

"""Clusters and their broker groups: what an operator asked for.

A managed cluster's processes are ours to start and stop; an attached one is somebody else's, known by its
name servers' addresses. `name` stands in addresses of the API, `broker_cluster_name` is what brokers say.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

NAME_LENGTH = 64


class Cluster(models.Model):
    class Kind(models.TextChoices):
        MANAGED = "managed"
        ATTACHED = "attached"

    class Flavour(models.TextChoices):
        SIGNALBOX = "signalbox"
        APACHE = "apache"
        UNKNOWN = "unknown"

    class Profile(models.TextChoices):
        SAFE = "safe"
        FAST = "fast"
        NONE = "none"
        """RocketMQ's own defaults."""

    class AccessControl(models.TextChoices):
        OFF = "off"
        ADMINISTRATION = "administration"
        """Changes need a signature, reads and applications do not (docs/access-control.md)."""
        ON = "on"

    name = models.CharField(max_length=NAME_LENGTH)
    broker_cluster_name = models.CharField(max_length=127)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    flavour = models.CharField(max_length=9, choices=Flavour.choices, default=Flavour.SIGNALBOX)
    profile = models.CharField(max_length=4, choices=Profile.choices, default=Profile.FAST)
    overrides = models.JSONField(default=dict)
    """broker.conf keys for all brokers, besides the profile's."""
    release = models.CharField(max_length=64, default="builtin")
    """Which installed engine its processes run (docs/provisioning.md)."""
    name_server_addresses = models.JSONField(default=list)
    """Of an attached cluster; a managed one's are its NameServer rows."""
    broker_addresses = models.JSONField(default=list)
    """Of an attached cluster: the only broker addresses that the console dials."""
    access_key = models.CharField(max_length=255, blank=True)
    sealed_secret_key = models.TextField(blank=True)
    sealed_cluster_secret = models.TextField(blank=True)
    """What members of a broker group prove to each other."""
    sealed_access_key_file = models.TextField(blank=True)
    """signalboxSecretKeyFile of the brokers: one for a whole cluster."""
    sealed_inner_secret = models.TextField(blank=True)
    """What brokers sign their own requests with, where there is access control."""
    uses_tls = models.BooleanField(default=False)
    has_access_control = models.BooleanField(default=False)
    """Everybody needs credentials. Read and set `access_control`, which is this and the next column."""
    administration_only = models.BooleanField(default=False, db_default=False)
    """Changes alone need them. A column of its own: agents of the release before read the one above."""
    needs_approval = models.BooleanField(default=False)
    """Operations wait for a second person."""
    repairs_drift = models.BooleanField(default=False)
    labels = models.JSONField(default=dict)
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)
    keepsake = models.JSONField(null=True)
    """Of a deleted cluster: what a restore makes it from again (layout, topics, groups, offsets)."""

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["name"], condition=Q(deleted_at=None), name="one_living_cluster_of_a_name"
            ),
            models.CheckConstraint(
                condition=Q(has_access_control=False) | Q(administration_only=False),
                name="one_state_of_access_control",
            ),
        ]

    @property
    def access_control(self) -> str:
        if self.has_access_control:
            return self.AccessControl.ON
        return self.AccessControl.ADMINISTRATION if self.administration_only else self.AccessControl.OFF

    @classmethod
    def access_columns(cls, state: str) -> dict[str, bool]:
        """The two columns that hold this state, for a new row or an update."""
        return {
            "has_access_control": state == cls.AccessControl.ON,
            "administration_only": state == cls.AccessControl.ADMINISTRATION,
        }


class BrokerGroup(models.Model):
    """Brokers of one name: a master and its slaves."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="groups")
    name = models.CharField(max_length=127)
    overrides = models.JSONField(default=dict)
    master_member = models.PositiveIntegerField(default=0)
    """The member that is to be master: promotion changes it in the same operation."""
    is_draining = models.BooleanField(default=False)
    """Write permission off: it is being removed."""

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="one_group_of_a_name")]

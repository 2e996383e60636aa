"""Topics as somebody asked for them, and whose they are. What brokers really have is a live row.

A topic that was made elsewhere (by a send, by mqadmin) has a row only once somebody owns, labels or deletes
it. A deleted topic's row stays: what it was on every broker is kept in it, for a restore.
"""

from __future__ import annotations

from django.db import models

from clusters.models.clusters import Cluster
from console.core.models.people import User

TOPIC_LENGTH = 255
"""%RETRY% and %DLQ% topics are longer than those that people name."""


class Topic(models.Model):
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="topics")
    name = models.CharField(max_length=TOPIC_LENGTH)
    config = models.JSONField(null=True)
    """read_queues, write_queues, perm, is_ordered, attributes; None: not declared here."""
    brokers = models.JSONField(default=list)
    """Broker groups that hold it; none named means all masters."""
    owner = models.CharField(max_length=150, blank=True)
    team = models.CharField(max_length=64, blank=True)
    description = models.TextField(blank=True)
    labels = models.JSONField(default=dict)
    document = models.CharField(max_length=64, blank=True)
    """The declarative document that it came from."""
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)
    keepsake = models.JSONField(null=True)
    """Of a deleted topic: its config and its groups' offsets by broker."""

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="one_topic_of_a_name")]


class Favourite(models.Model):
    """What somebody wants to see first."""

    class Kind(models.TextChoices):
        TOPIC = "topic"
        GROUP = "group"

    user = models.ForeignKey(User, models.CASCADE, related_name="favourites")
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=5, choices=Kind.choices)
    name = models.CharField(max_length=TOPIC_LENGTH)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "cluster", "kind", "name"], name="one_favourite_of_a_name"
            )
        ]

"""Consumer groups as somebody asked for them, and whose they are (as models/topics.py for topics)."""

from __future__ import annotations

from django.db import models

from clusters.models.clusters import Cluster
from clusters.models.topics import TOPIC_LENGTH


class ConsumerGroup(models.Model):
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="consumer_groups")
    name = models.CharField(max_length=TOPIC_LENGTH)
    config = models.JSONField(null=True)
    """is_enabled, is_broadcast_enabled, is_ordered, retry_queues, retry_max_times, …; None: not declared."""
    owner = models.CharField(max_length=150, blank=True)
    team = models.CharField(max_length=64, blank=True)
    description = models.TextField(blank=True)
    labels = models.JSONField(default=dict)
    document = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)
    keepsake = models.JSONField(null=True)
    """Of a deleted group: its config and its offsets by broker."""

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="one_consumer_group_of_a_name")
        ]

"""Resets of offsets: what was wished, what every queue had before, what was read back. An undo is one too."""

from __future__ import annotations

import uuid

from django.db import models

from clusters.models.clusters import Cluster
from clusters.models.topics import TOPIC_LENGTH


class OffsetReset(models.Model):
    class State(models.TextChoices):
        APPLYING = "applying"
        """Stored before the first queue moves: a console that dies in between still knows the old ones."""
        DONE = "done"
        PARTIAL = "partial"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="offset_resets")
    group = models.CharField(max_length=TOPIC_LENGTH)
    target = models.JSONField()
    """As asked: {"to": "time", "at": …, "topics": […]}."""
    queues = models.JSONField()
    """Per queue: topic, broker, queue, committed, min, max, to, and afterwards read_back, ok, detail."""
    state = models.CharField(max_length=8, choices=State.choices, default=State.APPLYING)
    undoes = models.ForeignKey("self", models.SET_NULL, null=True, related_name="undos")
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["cluster", "group", "-created_at"], name="resets_of_a_group")]

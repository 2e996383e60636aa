"""Search jobs: what is looked for, how far the runner is, what it found. Kept for days, then deleted.

The runner is a worker that holds the job's lease. What a slice found and the cursor behind it are written in
one transaction that names the fence, so a worker that is killed costs its slice again and no hit is there
twice. Hits hold where a message lies, not what is in it: bodies stay with the brokers, behind the masks.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from clusters.models.clusters import Cluster


class SearchJob(models.Model):
    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        """Everything in range was looked at, or a limit of its own was reached: `stopped` says which."""
        FAILED = "failed"
        CANCELLED = "cancelled"

    class Runner(models.TextChoices):
        CELERY = "celery"
        SPARK = "spark"

    OPEN = (State.QUEUED, State.RUNNING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="searches")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    created_by = models.CharField(max_length=150)
    runner = models.CharField(max_length=6, choices=Runner.choices, default=Runner.CELERY)
    grants = models.JSONField(default=list)
    """[[role, cluster pattern, name pattern]]: what whoever asked was allowed then, by their token say."""
    topics = models.JSONField()
    query = models.JSONField()
    """{"from_ms", "to_ms", "key", "tag", "property_name", "property_value", "body", "sql"}"""
    state = models.CharField(max_length=9, choices=State.choices, default=State.QUEUED, db_index=True)
    stopped = models.CharField(max_length=16, blank=True)
    """Of one that is done: end, max_hits or max_scan."""
    cursor = models.JSONField(null=True)
    """[[topic, broker, queue, next offset, end offset]]; None: the ranges are not known yet."""
    problems = models.JSONField(default=list)
    """What could not be read, in sentences."""
    estimate = models.BigIntegerField(null=True)
    scanned = models.BigIntegerField(default=0)
    found = models.PositiveIntegerField(default=0)
    max_scan = models.BigIntegerField()
    max_hits = models.PositiveIntegerField()
    error = models.TextField(blank=True)
    attempts = models.PositiveIntegerField(default=0)
    """Slices in a row that failed."""
    fence = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    worker = models.CharField(max_length=128, blank=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["cluster", "-created_at"], name="searches_of_a_cluster")]


class SearchHit(models.Model):
    job = models.ForeignKey(SearchJob, models.CASCADE, related_name="hits")
    topic = models.CharField(max_length=255)
    broker = models.CharField(max_length=127)
    queue = models.PositiveIntegerField()
    queue_offset = models.BigIntegerField()
    offset_id = models.CharField(max_length=56)
    msg_id = models.CharField(max_length=255)
    stored_at = models.DateTimeField()
    body_bytes = models.PositiveIntegerField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["job", "topic", "broker", "queue", "queue_offset"], name="one_hit_of_a_message"
            )
        ]

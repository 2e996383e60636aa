"""Operations and their steps: every change that takes time, what it will do, how far it is.

A step is a row with a lease and a fencing token. Whoever raises `fence` while the lease is over owns it; all
later writes about the step name that fence, so a worker that was taken for dead can change nothing. Steps of
one position may run side by side; a position begins when all before it are done. A Celery message is only a
wake-up: an agent that boots, and beat, look for open steps themselves.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from clusters.models.clusters import Cluster
from clusters.models.hosts import Host


class Operation(models.Model):
    class State(models.TextChoices):
        AWAITING_APPROVAL = "awaiting_approval"
        RUNNING = "running"
        CANCELLING = "cancelling"
        ROLLING_BACK = "rolling_back"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        """Some step failed: retry it or roll back."""
        CANCELLED = "cancelled"
        ROLLED_BACK = "rolled_back"

    OPEN = (State.AWAITING_APPROVAL, State.RUNNING, State.CANCELLING, State.ROLLING_BACK, State.FAILED)
    """A failed one keeps its cluster until somebody retries it, rolls it back or gives it up."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    cluster = models.ForeignKey(Cluster, models.CASCADE, null=True, related_name="operations")
    kind = models.CharField(max_length=32)
    summary = models.CharField(max_length=255)
    request = models.JSONField(default=dict)
    plan = models.JSONField(default=list)
    """Sentences for people, in order."""
    state = models.CharField(max_length=17, choices=State.choices, db_index=True)
    is_exclusive = models.BooleanField(default=True)
    """Only one of these may be open on a cluster."""
    error = models.TextField(blank=True)
    created_by = models.CharField(max_length=150)
    created_by_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(db_index=True)
    approved_by = models.CharField(max_length=150, blank=True)
    approved_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    revision = models.BigIntegerField(default=0)
    """Raised by every change of the operation or a step of it: what live pages follow."""

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"],
                condition=Q(
                    is_exclusive=True,
                    state__in=["awaiting_approval", "running", "cancelling", "rolling_back", "failed"],
                ),
                name="one_open_operation_on_a_cluster",
            )
        ]


class Step(models.Model):
    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        SKIPPED = "skipped"
        """Cancelled before it began."""
        UNDONE = "undone"

    operation = models.ForeignKey(Operation, models.CASCADE, related_name="steps")
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=48)
    summary = models.CharField(max_length=255)
    host = models.ForeignKey(Host, models.PROTECT, null=True, related_name="+")
    """None: any control worker may do it."""
    arguments = models.JSONField(default=dict)
    """Ids of rows and plain settings; never secrets."""
    is_undo = models.BooleanField(default=False)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING, db_index=True)
    fence = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    worker = models.CharField(max_length=128, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    not_before = models.DateTimeField(null=True)
    progress = models.CharField(max_length=255, blank=True)
    result = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["operation", "position", "id"]
        indexes = [models.Index(fields=["state", "host"], name="open_steps_of_a_host")]


class StepLine(models.Model):
    """One line of a step's log."""

    step = models.ForeignKey(Step, models.CASCADE, related_name="lines")
    at = models.DateTimeField()
    text = models.CharField(max_length=1000)

    class Meta:
        ordering = ["id"]

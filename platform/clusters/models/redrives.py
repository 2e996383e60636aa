"""Redrives: sending a group's dead letters once more, a few first, the rest at a rate, each with its outcome.

An outcome row with the id of the message to be sent is committed before the send. A worker that is killed in
between leaves it an intent: whoever goes on asks the broker for that id, and calls it sent if it is there,
else unsure. Nothing that was begun is sent again by itself. Every write of a worker names its fence.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from clusters.models.clusters import Cluster


class Redrive(models.Model):
    class State(models.TextChoices):
        CANARY = "canary"
        """The first few are being sent."""
        WATCHING = "watching"
        """They are sent: will they come back?"""
        RUNNING = "running"
        PAUSED = "paused"
        STOPPED = "stopped"
        """By itself: too many failed."""
        DONE = "done"
        CANCELLED = "cancelled"
        FAILED = "failed"

    ACTIVE = (State.CANARY, State.WATCHING, State.RUNNING)
    OPEN = (*ACTIVE, State.PAUSED, State.STOPPED)
    """A stopped one waits for somebody who resumes or cancels it."""

    class Target(models.TextChoices):
        GROUP = "group"
        """The group alone, through its retry topic."""
        ORIGINAL = "original"
        """The topic that each message came from: all its groups get it again."""
        TOPIC = "topic"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="redrives")
    group = models.CharField(max_length=255)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    created_by = models.CharField(max_length=150)
    target = models.CharField(max_length=8, choices=Target.choices, default=Target.GROUP)
    topic = models.CharField(max_length=255, blank=True)
    """With the target `topic`."""
    grants = models.JSONField(default=list)
    """[[role, cluster pattern, name pattern]]: what whoever asked was allowed then, by their token say."""
    selection = models.JSONField(null=True)
    """Offset ids, in order; None: all up to the ends that were there when it was made."""
    cursor = models.JSONField(default=list)
    """[[broker, queue, next offset, end offset]], or [index] into the selection."""
    watch = models.JSONField(default=list)
    """[[broker, queue, next offset]]: dead letters from there on may be ones that came back."""
    skips_redriven = models.BooleanField(default=True)
    canary = models.PositiveIntegerField()
    canary_window_s = models.PositiveIntegerField()
    canary_until = models.DateTimeField(null=True)
    rate = models.PositiveIntegerField()
    """Messages per second."""
    max_failure_share = models.FloatField()
    state = models.CharField(max_length=9, choices=State.choices, db_index=True)
    resumes_as = models.CharField(max_length=9, blank=True)
    """What it was when it was paused or stopped."""
    reason = models.TextField(blank=True)
    """Why it stopped or failed."""
    total = models.BigIntegerField()
    position = models.BigIntegerField(default=0)
    """How many were taken up so far."""
    fence = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    worker = models.CharField(max_length=128, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["cluster", "-created_at"], name="redrives_of_a_cluster")]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "group"],
                condition=Q(state__in=["canary", "watching", "running", "paused", "stopped"]),
                name="one_open_redrive_of_a_group",
            )
        ]


class RedriveOutcome(models.Model):
    class State(models.TextChoices):
        INTENT = "intent"
        """It may be on its way."""
        SENT = "sent"
        REFUSED = "refused"
        """Not sent, and why."""
        UNSURE = "unsure"
        """Begun, not confirmed, not found: it may or may not have been sent."""
        CAME_BACK = "came_back"
        """Sent, and dead again."""
        SKIPPED = "skipped"
        """An earlier redrive sent it."""

    FAILURES = (State.REFUSED, State.UNSURE, State.CAME_BACK)

    redrive = models.ForeignKey(Redrive, models.CASCADE, related_name="outcomes")
    position = models.BigIntegerField()
    offset_id = models.CharField(max_length=56)
    """Of the dead letter."""
    msg_id = models.CharField(max_length=255, blank=True)
    topic = models.CharField(max_length=255, blank=True)
    """Where it was sent to."""
    new_msg_id = models.CharField(max_length=64, blank=True, db_index=True)
    state = models.CharField(max_length=9, choices=State.choices)
    status = models.CharField(max_length=32, blank=True)
    """As the broker said: SEND_OK, FLUSH_DISK_TIMEOUT …"""
    new_offset_id = models.CharField(max_length=56, blank=True)
    queue = models.CharField(max_length=160, blank=True)
    queue_offset = models.BigIntegerField(null=True)
    detail = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["redrive", "position"], name="one_outcome_of_a_letter")
        ]
        indexes = [models.Index(fields=["offset_id", "state"], name="outcomes_of_a_letter")]

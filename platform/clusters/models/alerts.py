"""Alerts: rules, what they found, who is told and how that went, and when nobody is.

An `Alert` is one episode of one rule on one object: pending, then firing, then resolved; it is never reused,
so the rows are the history. `no_data` is a state of its own: a rule that cannot see is not content.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from clusters.models.clusters import Cluster

PATTERN_LENGTH = 255


class AlertChannel(models.Model):
    class Kind(models.TextChoices):
        WEBHOOK = "webhook"
        MAIL = "mail"

    name = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=7, choices=Kind.choices)
    sealed_url = models.TextField(blank=True)
    """Webhooks' addresses often hold a secret themselves."""
    host = models.CharField(max_length=255, blank=True)
    """What may be shown of the address."""
    sealed_secret = models.TextField(blank=True)
    """Signs what is sent."""
    recipients = models.JSONField(default=list)
    is_enabled = models.BooleanField(default=True)
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]


class AlertRule(models.Model):
    class Kind(models.TextChoices):
        LAG = "lag"
        SECONDS = "seconds"
        ETA = "eta"
        NO_MEMBERS = "no_members"
        DLQ_GROWTH = "dlq_growth"
        DISK = "disk"
        IN_SYNC = "in_sync"
        SLAVE_LAG = "slave_lag"
        BROKER_DOWN = "broker_down"
        DISK_TREND = "disk_trend"
        DELETED_UNEXPIRED = "deleted_unexpired"
        DAMAGE = "damage"
        CERTIFICATE = "certificate"

    class Severity(models.TextChoices):
        INFO = "info"
        WARNING = "warning"
        CRITICAL = "critical"

    name = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=24, choices=Kind.choices)
    cluster_pattern = models.CharField(max_length=PATTERN_LENGTH, default="*")
    name_pattern = models.CharField(max_length=PATTERN_LENGTH, default="*")
    threshold = models.FloatField(default=0)
    """Above it the rule holds; its unit is that of the kind. Kinds that are yes or no take none."""
    for_s = models.PositiveIntegerField(default=60)
    """How long it must hold before it fires."""
    severity = models.CharField(max_length=8, choices=Severity.choices, default=Severity.WARNING)
    channels = models.ManyToManyField(AlertChannel, related_name="rules")
    is_enabled = models.BooleanField(default=True)
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]


class Alert(models.Model):
    class State(models.TextChoices):
        PENDING = "pending"
        FIRING = "firing"
        NO_DATA = "no_data"
        RESOLVED = "resolved"

    OPEN = (State.PENDING, State.FIRING, State.NO_DATA)

    rule = models.ForeignKey(AlertRule, models.CASCADE, related_name="alerts")
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="alerts")
    subject = models.CharField(max_length=7)
    """group, topic, broker, cluster"""
    name = models.CharField(max_length=255)
    state = models.CharField(max_length=8, choices=State.choices)
    value = models.FloatField(null=True)
    """As it was last seen; None: not known."""
    summary = models.CharField(max_length=512)
    since = models.DateTimeField()
    """When it began to hold."""
    fired_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField()
    """How old the figures were that decided last."""
    is_silenced = models.BooleanField(default=False)

    class Meta:
        ordering = ["-since", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["rule", "cluster", "subject", "name"],
                condition=Q(state__in=["pending", "firing", "no_data"]),
                name="one_open_alert_of_a_rule",
            )
        ]
        indexes = [models.Index(fields=["cluster", "state", "-since"], name="alerts_of_a_cluster")]


class AlertSilence(models.Model):
    """While it lasts, what it matches is noted and nobody is told."""

    cluster_pattern = models.CharField(max_length=PATTERN_LENGTH, default="*")
    name_pattern = models.CharField(max_length=PATTERN_LENGTH, default="*")
    rule = models.ForeignKey(AlertRule, models.CASCADE, null=True, related_name="silences")
    """None: all rules."""
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.CharField(max_length=255)
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-ends_at", "-id"]


class AlertDelivery(models.Model):
    """One message to one channel, with what became of it."""

    class Event(models.TextChoices):
        FIRING = "firing"
        RESOLVED = "resolved"
        TEST = "test"

    class State(models.TextChoices):
        WAITING = "waiting"
        SENT = "sent"
        FAILED = "failed"
        """Given up after several attempts."""

    channel = models.ForeignKey(AlertChannel, models.CASCADE, related_name="deliveries")
    alert = models.ForeignKey(Alert, models.CASCADE, null=True, related_name="deliveries")
    event = models.CharField(max_length=8, choices=Event.choices)
    payload = models.JSONField()
    state = models.CharField(max_length=7, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=255, blank=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["state", "next_attempt_at"], name="deliveries_that_wait")]

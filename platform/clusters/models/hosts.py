"""Machines that run engine processes: each has an agent (a Celery worker) with a queue `host.<name>`."""

from __future__ import annotations

from django.db import models

NAME_LENGTH = 64


class Host(models.Model):
    name = models.CharField(max_length=NAME_LENGTH, unique=True)
    address = models.CharField(max_length=255)
    """What brokers and name servers of this host bind and advertise."""
    data_root = models.CharField(max_length=1024)
    port_low = models.PositiveIntegerField(default=10909)
    port_high = models.PositiveIntegerField(default=11908)
    namesrv_port_low = models.PositiveIntegerField(default=9876)
    namesrv_port_high = models.PositiveIntegerField(default=9975)
    public_key = models.CharField(max_length=64)
    """Secrets for this host are sealed with it; only its agent can open them (docs/adr/0012)."""
    agent_version = models.CharField(max_length=32, blank=True)
    labels = models.JSONField(default=dict)
    joined_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField(null=True)
    booted_at = models.DateTimeField(null=True)
    is_cordoned = models.BooleanField(default=False)
    """Nothing new is placed here."""
    removed_at = models.DateTimeField(null=True)
    """Kept for the history of its steps; joining again under the name brings it back."""

    class Meta:
        ordering = ["name"]


class JoinToken(models.Model):
    """Lets one agent join under one name, once."""

    host_name = models.CharField(max_length=NAME_LENGTH)
    digest = models.CharField(max_length=64, unique=True)
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

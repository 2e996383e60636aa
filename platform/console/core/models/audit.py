"""The audit chain: rows that are only ever added, each with the hash of the one before it.

What calls a broker leaves two rows: an intent, committed before the call, and an outcome after it. What only
changes the database leaves one row, in the transaction of the change. `AuditHead` is one row that whoever
adds holds locked, so that the chain has no forks.
"""

from __future__ import annotations

from django.db import models


class AuditEntry(models.Model):
    class Phase(models.TextChoices):
        DONE = "done"
        INTENT = "intent"
        OUTCOME = "outcome"

    id = models.BigIntegerField(primary_key=True)
    """Its place in the chain, from 1, without gaps."""
    at = models.DateTimeField(db_index=True)
    actor = models.CharField(max_length=150, db_index=True)
    address = models.CharField(max_length=64, blank=True)
    action = models.CharField(max_length=64, db_index=True)
    cluster = models.CharField(max_length=128, blank=True, db_index=True)
    target = models.CharField(max_length=255, blank=True)
    phase = models.CharField(max_length=8, choices=Phase.choices)
    intent = models.ForeignKey("self", models.PROTECT, null=True, related_name="outcomes")
    is_ok = models.BooleanField(null=True)
    """None: not known, or an intent."""
    details = models.JSONField(default=dict)
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ["-id"]


class AuditHead(models.Model):
    """The last row: where the chain goes on, and what a cut-off tail is found by."""

    last_id = models.BigIntegerField(default=0)
    last_hash = models.CharField(max_length=64, default="")

"""Declarative documents: what was applied last under a name, so that drift can be asked for later."""

from __future__ import annotations

from django.db import models


class Document(models.Model):
    name = models.CharField(max_length=64, unique=True)
    content = models.JSONField()
    """Checked and without secrets."""
    applied_by = models.CharField(max_length=150)
    applied_at = models.DateTimeField()
    outcome = models.JSONField(default=list)
    """Ids of the operations that do it: how far it is, is theirs to say."""

    class Meta:
        ordering = ["name"]

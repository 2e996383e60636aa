"""Answers that are kept for a day, so that a POST that is sent again is answered again, not done again."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class KeptAnswer(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=128)
    request_digest = models.CharField(max_length=64)
    """Method, path and body: the same key for another request is an error."""
    status = models.PositiveSmallIntegerField(null=True)
    """None: the first request is still under way."""
    sealed_body = models.TextField(blank=True)
    """Sealed: some answers show a secret, once."""
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="one_answer_of_a_key")]

"""People, what they may do and where, and the tokens of their programs.

A role is bound to clusters and to names of topics and groups, both by pattern (`*` for all). A super user may
do everything everywhere. Of a token only its hash is kept; it can do at most what its owner may.
"""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models

PATTERN_LENGTH = 255


class Role(models.IntegerChoices):
    """Each may do what the ones before it may."""

    VIEWER = 1, "viewer"
    OPERATOR = 2, "operator"
    ADMIN = 3, "admin"


class User(AbstractUser):
    team = models.CharField(max_length=64, blank=True)
    rights_version = models.PositiveIntegerField(default=0)
    """Raised whenever rights change: open websockets and cached grants look at it."""

    class Meta:
        ordering = ["username"]


class RoleBinding(models.Model):
    user = models.ForeignKey(User, models.CASCADE, related_name="bindings")
    role = models.PositiveSmallIntegerField(choices=Role.choices)
    cluster_pattern = models.CharField(max_length=PATTERN_LENGTH, default="*")
    name_pattern = models.CharField(max_length=PATTERN_LENGTH, default="*")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "role", "cluster_pattern", "name_pattern"], name="one_binding_of_a_kind"
            )
        ]


class ApiToken(models.Model):
    owner = models.ForeignKey(User, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=64)
    prefix = models.CharField(max_length=12)
    """The first characters, to tell tokens apart in a list."""
    digest = models.CharField(max_length=64, unique=True)
    role = models.PositiveSmallIntegerField(choices=Role.choices)
    cluster_pattern = models.CharField(max_length=PATTERN_LENGTH, default="*")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="one_token_of_a_name")]

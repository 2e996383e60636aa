"""API tokens: at most what their owner may, never without an end, revoked for good."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from console.core import audit, tokens
from console.core.actors import Actor
from console.core.models import ApiToken, User
from console.core.models.people import Role
from console.core.problems import Problem
from console.core.rights import Grants


def do_create_token(
    owner: User,
    grants: Grants,
    name: str,
    role: int,
    cluster_pattern: str,
    *,
    lifetime: timedelta,
    actor: Actor,
    now: datetime,
) -> tuple[ApiToken, str]:
    """The ceiling is looked at again at every use; here a role that the owner has nowhere is refused."""
    if not any(grant.role >= role for grant in grants.items):
        raise Problem("permission_denied", f"you are nowhere {Role(role).label}", 403, field="role")
    with transaction.atomic():
        try:
            with transaction.atomic():
                token, secret = tokens.new_token(
                    owner, name, role, cluster_pattern, now=now, lifetime=lifetime
                )
        except IntegrityError:
            raise Problem("exists", f"you have a token {name!r}", 409, field="name") from None
        details = {
            "role": Role(role).label,
            "cluster_pattern": cluster_pattern,
            "expires_at": token.expires_at,
        }
        audit.record(actor, "token.create", target=f"{owner.username}/{name}", details=details, now=now)
    return token, secret


def do_revoke_token(token: ApiToken, *, actor: Actor, now: datetime) -> None:
    """Again is fine, and leaves a row too."""
    with transaction.atomic():
        ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now)
        audit.record(actor, "token.revoke", target=f"{token.owner.username}/{token.name}", now=now)

"""API tokens: `Authorization: Bearer sbx_…`. Made once, shown once, kept as a hash, never without an end."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from console.core.models.people import ApiToken, User

SCHEME = "Bearer"
MARK = "sbx_"
_SHOWN = len(MARK) + 6
LONGEST = timedelta(days=366)
_NOTE_USE_EVERY = timedelta(minutes=1)


def make_secret() -> str:
    return MARK + secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """Plain SHA-256: the secret has 256 random bits, there is nothing to slow down guesses of."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_token(
    owner: User, name: str, role: int, cluster_pattern: str, *, now: datetime, lifetime: timedelta
) -> tuple[ApiToken, str]:
    """The row and the secret, which is nowhere else."""
    secret = make_secret()
    token = ApiToken.objects.create(
        owner=owner,
        name=name,
        prefix=secret[:_SHOWN],
        digest=digest(secret),
        role=role,
        cluster_pattern=cluster_pattern,
        created_at=now,
        expires_at=now + min(lifetime, LONGEST),
    )
    return token, secret


class TokenAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, secret = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != SCHEME.lower():
            return None
        token = ApiToken.objects.select_related("owner").filter(digest=digest(secret.strip())).first()
        now = timezone.now()
        if token is None or token.revoked_at or token.expires_at <= now or not token.owner.is_active:
            raise AuthenticationFailed("the token is unknown, revoked or expired")
        if token.last_used_at is None or now - token.last_used_at > _NOTE_USE_EVERY:
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
        return token.owner, token

    def authenticate_header(self, request: Request) -> str:
        return SCHEME

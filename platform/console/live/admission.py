"""Who may open a websocket: a person's session from a page of ours, or a program with a token.

Browsers send cookies with websockets to any site, so a session counts only if the page that asks is of this
very origin: the Origin header must name the host that was asked, and that host must be one of ours. A token
is sent in a header that no page can set, so programs need no Origin. Looked at again while it is open.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.http.request import split_domain_port, validate_host
from django.utils.crypto import constant_time_compare

from console.core.models import ApiToken, User
from console.core.rights import Grants, grants_of
from console.core.tokens import SCHEME, digest


@dataclass(frozen=True, slots=True)
class Guest:
    user_id: int
    username: str
    rights_version: int
    grants: Grants


def headers_of(scope: dict[str, Any]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def is_own_origin(headers: dict[str, str]) -> bool:
    """Scheme, name and port of the page are those that were asked for."""
    origin, host = urlsplit(headers.get("origin", "")), headers.get("host", "").lower()
    if origin.scheme not in ("http", "https") or not origin.netloc or origin.netloc.lower() != host:
        return False
    if settings.IS_TLS and origin.scheme != "https":
        return False
    name, _ = split_domain_port(host)
    return bool(name) and validate_host(name, settings.ALLOWED_HOSTS)


def bearer_of(headers: dict[str, str]) -> str | None:
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == SCHEME.lower() and secret.strip() else None


def cookie_of(headers: dict[str, str]) -> str | None:
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == settings.SESSION_COOKIE_NAME:
            return value
    return None


def guest_by_token(secret: str, now: datetime) -> Guest | None:
    token = ApiToken.objects.select_related("owner").filter(digest=digest(secret)).first()
    if token is None or token.revoked_at or token.expires_at <= now or not token.owner.is_active:
        return None
    return _guest(token.owner, token)


def guest_by_session(session_key: str) -> Guest | None:
    """As Django's own check, from the database each time: a session that ended is gone from it."""
    session = SessionStore(session_key)
    user_id, known_hash = session.get(SESSION_KEY), session.get(HASH_SESSION_KEY, "")
    if user_id is None or session.get(BACKEND_SESSION_KEY) not in settings.AUTHENTICATION_BACKENDS:
        return None
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user is None or not constant_time_compare(known_hash, user.get_session_auth_hash()):
        return None
    return _guest(user, None)


def _guest(user: User, token: ApiToken | None) -> Guest:
    return Guest(user.pk, user.username, user.rights_version, grants_of(user, token))

"""Signing in and out, and one's own password.

An unknown account, a wrong password and a deactivated account are one answer, take one time and count as one
attempt. Failures are audited under the account's name only if there is such an account: people type passwords
into the wrong field.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from django.contrib.auth import authenticate, login, logout, update_session_auth_hash
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest

from console.actions.rights_changes import note_rights_change
from console.core import audit, throttles
from console.core.actors import Actor
from console.core.models import User
from console.core.problems import Problem

UNKNOWN = "(unknown account)"


def do_sign_in(request: HttpRequest, username: str, password: str, *, address: str, now: datetime) -> User:
    """The session is a new one: one that somebody else may know is never taken over."""
    user = _checked(request, username, password, "session.sign_in", address=address, now=now)
    with transaction.atomic():
        login(request, user, backend="django.contrib.auth.backends.ModelBackend")
        audit.record(Actor(user.username, address, user.pk), "session.sign_in", target=user.username, now=now)
    return user


def do_sign_out(request: HttpRequest, user: User, *, actor: Actor, now: datetime) -> None:
    with transaction.atomic():
        audit.record(actor, "session.sign_out", target=user.username, now=now)
        logout(request)
        note_rights_change(user)


def do_change_own_password(
    request: HttpRequest, user: User, current: str, new: str, *, actor: Actor, now: datetime
) -> None:
    """Asks for the present one again. All other sessions of theirs end."""
    _checked(request, user.username, current, "user.change_password", address=actor.address, now=now)
    check_password_rules(new, user, field="new_password")
    with transaction.atomic():
        user.set_password(new)
        user.save(update_fields=["password"])
        audit.record(actor, "user.change_password", target=user.username, now=now)
        note_rights_change(user)
    if request.session.session_key:
        update_session_auth_hash(request, user)


def check_password_rules(password: str, user: User, *, field: str) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Problem("password", " ".join(error.messages), 400, field=field) from None


def _checked(
    request: HttpRequest, username: str, password: str, action: str, *, address: str, now: datetime
) -> User:
    try:
        throttles.admit_sign_in(username, address)
    except throttles.Throttled as refusal:
        if refusal.is_first:
            # One row per burst: a flood of guesses must not become a flood of rows.
            _record_failure(username, action, "throttled", address=address, now=now)
        raise
    user = authenticate(request, username=username, password=password)
    if user is None:
        _record_failure(username, action, "wrong name or password", address=address, now=now)
        raise Problem("credentials", "the name or the password is wrong", 401)
    throttles.forget(username, address)
    assert isinstance(user, User)
    return user


def _record_failure(username: str, action: str, reason: str, *, address: str, now: datetime) -> None:
    known = User.objects.filter(username=username).values_list("username", "pk").first()
    actor = Actor(UNKNOWN, address) if known is None else replace(Actor(known[0], address), user_id=known[1])
    audit.record(actor, action, target=actor.name, details={"error": reason}, is_ok=False, now=now)

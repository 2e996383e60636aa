"""People: made, changed, bound to roles, deactivated; never deleted, for the audit chain names them.

Only super users make, change or lock out super users (`is_super`: whoever asks is one, in person and not by a
token). Whatever is done, somebody who may administrate the
platform is left: the check and the change are one transaction, under one lock.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q

from console.actions.rights_changes import note_rights_change
from console.actions.sessions import check_password_rules
from console.core import audit
from console.core.actors import Actor
from console.core.models import ApiToken, AuditHead, RoleBinding, User
from console.core.models.people import Role
from console.core.problems import Problem
from console.core.rights import EVERYTHING

CHANGEABLE = ("email", "first_name", "last_name", "team", "is_active", "is_superuser")
_GUARDED = {"is_superuser"}


@dataclass(frozen=True, slots=True)
class Binding:
    role: int
    cluster_pattern: str = EVERYTHING
    name_pattern: str = EVERYTHING


def do_create_user(
    username: str,
    password: str | None,
    values: dict[str, Any],
    bindings: Iterable[Binding],
    *,
    is_super: bool,
    actor: Actor,
    now: datetime,
) -> tuple[User, str | None]:
    """The row, and the password if it was made here: it is shown once and kept nowhere."""
    _refuse_guarded(values, is_super)
    made = secrets.token_urlsafe(18) if password is None else None
    user = User(username=username, **values)
    if password is not None:
        check_password_rules(password, user, field="password")
    user.set_password(password or made)
    bound = list(dict.fromkeys(bindings))
    with transaction.atomic():
        _insert(user)
        RoleBinding.objects.bulk_create(RoleBinding(user=user, **asdict(binding)) for binding in bound)
        details = {"after": values | {"bindings": [asdict(binding) for binding in bound]}}
        audit.record(actor, "user.create", target=username, details=details, now=now)
    return user, made


def do_update_user(
    user: User, values: dict[str, Any], *, is_super: bool, actor: Actor, now: datetime
) -> None:
    changed = {name: value for name, value in values.items() if getattr(user, name) != value}
    _refuse_touching(user, is_super)
    _refuse_guarded(changed, is_super)
    before = {name: getattr(user, name) for name in changed}
    with _keeping_an_admin():
        for name, value in changed.items():
            setattr(user, name, value)
        user.save(update_fields=[*changed])
        if changed.get("is_active") is False:
            _revoke_tokens(user, now)
        audit.record(
            actor, "user.update", target=user.username, details={"before": before, "after": changed}, now=now
        )
        note_rights_change(user)


def do_set_password(
    user: User, password: str | None, *, is_super: bool, actor: Actor, now: datetime
) -> str | None:
    """By somebody else: the password if it was made here. All sessions of theirs end."""
    _refuse_touching(user, is_super)
    made = secrets.token_urlsafe(18) if password is None else None
    if password is not None:
        check_password_rules(password, user, field="password")
    with transaction.atomic():
        user.set_password(password or made)
        user.save(update_fields=["password"])
        audit.record(actor, "user.set_password", target=user.username, now=now)
        note_rights_change(user)
    return made


def do_bind_role(user: User, binding: Binding, *, is_super: bool, actor: Actor, now: datetime) -> RoleBinding:
    _refuse_touching(user, is_super)
    with transaction.atomic():
        try:
            with transaction.atomic():
                row = RoleBinding.objects.create(user=user, **asdict(binding))
        except IntegrityError:
            raise Problem("exists", f"{user.username} has this role already", 409) from None
        audit.record(actor, "user.bind_role", target=user.username, details=asdict(binding), now=now)
        note_rights_change(user)
    return row


def do_unbind_role(row: RoleBinding, *, is_super: bool, actor: Actor, now: datetime) -> None:
    _refuse_touching(row.user, is_super)
    details = {name: getattr(row, name) for name in ("role", "cluster_pattern", "name_pattern")}
    with _keeping_an_admin():
        row.delete()
        audit.record(actor, "user.unbind_role", target=row.user.username, details=details, now=now)
        note_rights_change(row.user)


def _insert(user: User) -> None:
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError:
        raise Problem("exists", f"there is a user {user.username!r}", 409, field="username") from None


def _refuse_guarded(values: dict[str, Any], is_super: bool) -> None:
    for name in _GUARDED & {name for name, value in values.items() if value}:
        if not is_super:
            raise Problem("permission_denied", f"only a super user may set {name}", 403, field=name)


def _refuse_touching(user: User, is_super: bool) -> None:
    if user.is_superuser and not is_super:
        raise Problem("permission_denied", "only a super user may change a super user", 403)


def _revoke_tokens(user: User, now: datetime) -> None:
    ApiToken.objects.filter(owner=user, revoked_at=None).update(revoked_at=now)


@contextmanager
def _keeping_an_admin() -> Iterator[None]:
    with transaction.atomic():
        # The lock that every writer of the chain takes anyhow: two who remove each other wait here.
        AuditHead.objects.select_for_update().get_or_create(pk=1)
        yield
        if not has_admin():
            raise Problem("last_admin", "nobody would be left who may administrate the platform", 409)


def has_admin() -> bool:
    bound = Q(
        bindings__role=Role.ADMIN, bindings__cluster_pattern=EVERYTHING, bindings__name_pattern=EVERYTHING
    )
    return User.objects.filter(Q(is_superuser=True) | bound, is_active=True).exists()

"""Telling everybody that somebody's rights changed: open websockets look at them again.

`rights_version` is raised in the transaction of the change; the event follows the commit. Whoever missed the
event finds the number at the next look.
"""

from __future__ import annotations

from django.db.models import F

from console.core import events
from console.core.models import User


def channel_of(user_id: int) -> str:
    return f"people/{user_id}"


def note_rights_change(user: User) -> None:
    User.objects.filter(pk=user.pk).update(rights_version=F("rights_version") + 1)
    user.refresh_from_db(fields=["rights_version"])
    events.publish(channel_of(user.pk), {"rights_version": user.rights_version})

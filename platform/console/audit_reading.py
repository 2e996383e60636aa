"""Reading the audit chain: who may see which rows, filters, what changed, exports. Adds nothing to it.

Administrators of the platform see every row; administrators of whole clusters those of their clusters; and
everybody their own. An export is written a chunk at a time, so that its size does not matter.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import orjson
from django.db.models import Q, QuerySet

from console.core.models import AuditEntry, User
from console.core.models.people import Role
from console.core.rights import EVERYTHING, Grants

CHUNK = 1000
COLUMNS = (
    "id",
    "at",
    "actor",
    "address",
    "action",
    "cluster",
    "target",
    "phase",
    "intent_id",
    "is_ok",
    "details",
    "previous_hash",
    "hash",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_ABSENT = object()


def visible(grants: Grants, user: User) -> QuerySet[AuditEntry]:
    rows = AuditEntry.objects.all()
    if grants.may(Role.ADMIN):
        return rows
    whole = Grants(tuple(grant for grant in grants.items if grant.names == EVERYTHING))
    # No name of a user contains a space: nobody else's rows begin like this.
    own = Q(actor=user.username) | Q(actor__startswith=f"{user.username} (token ")
    of_clusters = ~Q(cluster="") & whole.clusters_filter("cluster", role=Role.ADMIN)
    return rows.filter(own | of_clusters)


def filtered(
    rows: QuerySet[AuditEntry],
    *,
    actor: str = "",
    action: str = "",
    cluster: str = "",
    target: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    is_ok: bool | None = None,
) -> QuerySet[AuditEntry]:
    """`action` may end with a dot: `topic.` is all that is done to topics."""
    asked = {
        "actor__icontains": actor,
        "action__startswith" if action.endswith(".") else "action": action,
        "cluster": cluster,
        "target__icontains": target,
        "at__gte": since,
        "at__lt": until,
        "is_ok": is_ok,
    }
    return rows.filter(**{name: value for name, value in asked.items() if value not in ("", None)})


def changes(details: dict[str, Any]) -> list[dict[str, Any]]:
    """Where `before` and `after` differ, by path. Empty when the row has neither."""
    before, after = details.get("before"), details.get("after")
    if not isinstance(before, dict) and not isinstance(after, dict):
        return []
    return list(_differences(before or {}, after or {}, ""))


def _differences(before: Any, after: Any, path: str) -> Iterator[dict[str, Any]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted({*before, *after}):
            inner = f"{path}.{name}" if path else name
            yield from _differences(before.get(name, _ABSENT), after.get(name, _ABSENT), inner)
    elif before != after:
        yield {
            "path": path,
            "before": None if before is _ABSENT else before,
            "after": None if after is _ABSENT else after,
        }


def chunk_after(rows: QuerySet[AuditEntry], last_id: int) -> list[AuditEntry]:
    return list(rows.filter(id__gt=last_id).order_by("id")[:CHUNK])


def as_lines(entries: list[AuditEntry]) -> bytes:
    return b"".join(orjson.dumps(_values(entry), option=orjson.OPT_APPEND_NEWLINE) for entry in entries)


def csv_head() -> bytes:
    return ",".join(COLUMNS).encode() + b"\r\n"


def as_csv(entries: list[AuditEntry]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    for entry in entries:
        values = _values(entry) | {"details": orjson.dumps(entry.details).decode()}
        writer.writerow([_unarmed(values[name]) for name in COLUMNS])
    return text.getvalue().encode()


def _values(entry: AuditEntry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in COLUMNS} | {"at": entry.at.isoformat()}


def _unarmed(value: Any) -> Any:
    """Spreadsheets take a cell that begins so for a formula, and run it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value

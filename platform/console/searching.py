"""One search over everything that has a name: clusters, topics, groups, people, operations, message ids.

Reads rows, asks no broker. Topics and groups are those that brokers last said to have, and those that
somebody asked for. A message id is known by its shape: whether there is such a message, its page finds out.
Everything is filtered by the grants of whoever asks, in the query itself.
"""

from __future__ import annotations

import ipaddress
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from django.db.models import Case, IntegerField, Model, Q, QuerySet, Value, When

from clusters.models import ConsumerGroup, LiveBroker, LiveGroup, LiveTopic, Operation, Topic
from clusters.selectors.clusters import visible
from console.core.models import User
from console.core.models.people import Role
from console.core.rights import Grants
from engine.errors import BadInput
from engine.protocol.message_ids import parse_offset_msg_id

KINDS = ("cluster", "topic", "group", "user", "operation", "message")
_MESSAGE_ID = re.compile(r"[0-9A-Fa-f]{32}|[0-9A-Fa-f]{56}")
_API = "/api/v1"


@dataclass(frozen=True, slots=True)
class Hit:
    kind: str
    name: str
    cluster: str | None
    detail: str
    url: str


@dataclass(frozen=True, slots=True)
class Found:
    hits: list[Hit]
    more: list[str]
    """Kinds of which there are more than were asked for."""


def search(text: str, grants: Grants, *, kinds: tuple[str, ...] = KINDS, limit: int) -> Found:
    found = Found([], [])
    for kind in kinds:
        hits = list(_SEARCHES[kind](text, grants, limit + 1))
        found.hits.extend(hits[:limit])
        if len(hits) > limit:
            found.more.append(kind)
    return found


def _clusters(text: str, grants: Grants, most: int) -> Iterator[Hit]:
    rows = _best(visible(grants).filter(name__icontains=text), text, "name")
    for name, kind in rows.values_list("name", "kind")[:most]:
        yield Hit("cluster", name, name, kind, _path(name))


def _topics(text: str, grants: Grants, most: int) -> Iterator[Hit]:
    yield from _named("topic", "topics", (LiveTopic, Topic), text, grants, most)


def _groups(text: str, grants: Grants, most: int) -> Iterator[Hit]:
    yield from _named("group", "groups", (LiveGroup, ConsumerGroup), text, grants, most)


def _named(
    kind: str, plural: str, models: tuple[type[Model], ...], text: str, grants: Grants, most: int
) -> Iterator[Hit]:
    """What is live first; what was only asked for behind it."""
    seen: set[tuple[str, str]] = set()
    for model, detail in zip(models, ("", "declared"), strict=True):
        for cluster, name in _rows(model, text, grants)[:most]:
            if (cluster, name) in seen or len(seen) >= most:
                continue
            seen.add((cluster, name))
            yield Hit(kind, name, cluster, detail, _path(cluster, plural, name))


def _rows(model: type[Model], text: str, grants: Grants) -> QuerySet[Any]:
    rows = model._default_manager.filter(
        grants.rows_filter("cluster__name", "name"), cluster__deleted_at=None, name__icontains=text
    )
    if any(field.name == "deleted_at" for field in model._meta.fields):
        rows = rows.filter(deleted_at=None)
    return _best(rows, text, "name", "cluster__name").values_list("cluster__name", "name")


def _users(text: str, grants: Grants, most: int) -> Iterator[Hit]:
    if not grants.may(Role.ADMIN):
        return
    rows = User.objects.filter(Q(username__icontains=text) | Q(email__icontains=text))
    for name, team in _best(rows, text, "username").values_list("username", "team")[:most]:
        yield Hit("user", name, None, team, f"{_API}/users/{quote(name, safe='')}/")


def _operations(text: str, grants: Grants, most: int) -> Iterator[Hit]:
    """By the whole id: a part of one means nothing to anybody."""
    try:
        number = uuid.UUID(text)
    except ValueError:
        return
    row = Operation.objects.select_related("cluster").filter(pk=number).first()
    if row is None or not _may_see(row, grants):
        return
    cluster = row.cluster.name if row.cluster else None
    yield Hit("operation", str(row.pk), cluster, row.summary, f"{_API}/operations/{row.pk}/")


def _may_see(row: Operation, grants: Grants) -> bool:
    return grants.sees(row.cluster.name) if row.cluster else grants.may(Role.VIEWER)


def _messages(text: str, grants: Grants, most: int) -> Iterator[Hit]:
    if not _MESSAGE_ID.fullmatch(text):
        return
    names = _clusters_of(text, grants) or list(visible(grants).values_list("name", flat=True)[:most])
    for name in names[:most]:
        yield Hit("message", text, name, "an id, by its shape", _path(name, "messages", text))


def _clusters_of(message_id: str, grants: Grants) -> list[str]:
    """An id of a broker names its address: the clusters that have a broker there, if any."""
    try:
        (host, port), _ = parse_offset_msg_id(message_id)
        address = f"{ipaddress.ip_address(host)}:{port}"
    except (BadInput, ValueError):
        return []
    rows = LiveBroker.objects.filter(
        grants.clusters_filter("cluster__name"), address=address, cluster__deleted_at=None
    )
    return sorted(set(rows.values_list("cluster__name", flat=True)))


def _best(rows: QuerySet[Any], text: str, field: str, *then: str) -> QuerySet[Any]:
    """The very name, then what begins with it, then what contains it."""
    rank = Case(
        When(**{field: text}, then=Value(0)),
        When(**{f"{field}__istartswith": text}, then=Value(1)),
        default=Value(2),
        output_field=IntegerField(),
    )
    return rows.order_by(rank, field, *then)


def _path(cluster: str, *parts: str) -> str:
    inner = "".join(f"{quote(part, safe='')}/" for part in parts)
    return f"{_API}/clusters/{quote(cluster, safe='')}/{inner}"


_SEARCHES: dict[str, Callable[[str, Grants, int], Iterator[Hit]]] = {
    "cluster": _clusters,
    "topic": _topics,
    "group": _groups,
    "user": _users,
    "operation": _operations,
    "message": _messages,
}

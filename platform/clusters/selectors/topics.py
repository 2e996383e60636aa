"""Topics for lists and pages: live rows with what people said about them. No broker is asked.

A topic's lag is its groups' together; as soon as one of them is not known, neither is the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import F, Q, QuerySet

from clusters.models import Cluster, Favourite, LiveTopic, Topic
from console.core.problems import not_found
from console.core.rights import Grants

ORDERINGS = {
    "name": "name",
    "rate": "put_rate",
    "lag": "lag",
    "messages": "messages",
    "last_write": "last_write_at",
    "groups": "group_count",
}


def senders_of(brokers: Mapping[str, Any]) -> list[str] | None:
    """Producer groups that sent to a topic lately, by what its brokers say of it (`LiveTopic.brokers`); None
    when one of them does not say."""
    told = [part.get("senders") for part in brokers.values()]
    return None if None in told else sorted({group for groups in told for group in groups})


def live_topics(cluster: Cluster, grants: Grants) -> QuerySet[LiveTopic]:
    return LiveTopic.objects.filter(grants.names_filter(cluster.name), cluster=cluster)


def filtered(
    rows: QuerySet[LiveTopic],
    cluster: Cluster,
    *,
    search: str = "",
    kinds: Iterable[str] = (),
    owner: str = "",
    team: str = "",
    favourites_of: int | None = None,
) -> QuerySet[LiveTopic]:
    if search:
        rows = rows.filter(name__icontains=search)
    if kinds := list(kinds):
        rows = rows.filter(kind__in=kinds)
    if owner or team:
        said = Q(owner=owner) if owner else Q()
        said &= Q(team=team) if team else Q()
        rows = rows.filter(
            name__in=Topic.objects.filter(said, cluster=cluster, deleted_at=None).values("name")
        )
    if favourites_of is not None:
        rows = rows.filter(name__in=favourite_names(favourites_of, cluster, Favourite.Kind.TOPIC))
    return rows


def ordered(rows: QuerySet[LiveTopic], ordering: str) -> QuerySet[LiveTopic]:
    """`ordering` is a key of ORDERINGS, with a minus for descending. What is not known comes last."""
    field = ORDERINGS[ordering.removeprefix("-")]
    if field == "name":
        return rows.order_by("-name" if ordering.startswith("-") else "name")
    by = F(field).desc(nulls_last=True) if ordering.startswith("-") else F(field).asc(nulls_last=True)
    return rows.order_by(by, "name")


LISTED = (
    "name",
    "kind",
    "read_queues",
    "write_queues",
    "perm",
    "is_ordered",
    "brokers",
    "messages",
    "put_rate",
    "last_write_at",
    "group_count",
    "lag",
)
"""Columns of a live row that lists show: five hundred rows as dicts take a third of what objects do."""
ABOUT = ("owner", "team", "description", "labels", "document")


def described(cluster: Cluster, rows: list[dict[str, Any]], user_id: int | None) -> list[dict[str, Any]]:
    """The rows of one page (LISTED), with two queries for all of them."""
    names = [row["name"] for row in rows]
    said = said_about(Topic.objects.filter(cluster=cluster, name__in=names, deleted_at=None))
    liked = set(favourite_names(user_id, cluster, Favourite.Kind.TOPIC).filter(name__in=names))
    return [
        row
        | {"brokers": sorted(row["brokers"]), "is_live": True}
        | said.get(row["name"], NOTHING_SAID)
        | {"is_favourite": row["name"] in liked}
        for row in rows
    ]


def said_about(rows: QuerySet[Any]) -> dict[str, dict[str, Any]]:
    """What people said, by name."""
    return {one.pop("name"): one for one in rows.values("name", *ABOUT)}


NOTHING_SAID: dict[str, Any] = {"owner": "", "team": "", "description": "", "labels": {}, "document": ""}


def listed(live: LiveTopic) -> dict[str, Any]:
    return {name: getattr(live, name) for name in LISTED}


def favourite_names(user_id: int | None, cluster: Cluster, kind: str) -> QuerySet[Any]:
    found = Favourite.objects.filter(user_id=user_id, cluster=cluster, kind=kind)
    return found.values_list("name", flat=True)


def get_topic(cluster: Cluster, name: str) -> tuple[LiveTopic | None, Topic | None]:
    """What brokers have and what was asked for; at least one of them."""
    live = LiveTopic.objects.filter(cluster=cluster, name=name).first()
    said = Topic.objects.filter(cluster=cluster, name=name).first()
    if live is None and (said is None or said.deleted_at is not None):
        raise not_found("topic", name)
    return live, said if said is not None and said.deleted_at is None else None


def detail(
    cluster: Cluster, live: LiveTopic | None, said: Topic | None, user_id: int | None
) -> dict[str, Any]:
    if live is not None:
        body = described(cluster, [listed(live)], user_id)[0]
    else:
        assert said is not None
        body = _unseen(said)
    return body | {
        "queues": [] if live is None else queue_table(live),
        "declared": None if said is None else said.config,
        "drift": drift_of(said, live),
    }


def queue_table(live: LiveTopic) -> list[dict[str, Any]]:
    return [
        {"broker": broker, "queue": queue, "min": low, "max": high, "messages": high - low}
        for broker, held in sorted(live.brokers.items())
        for queue, low, high in held.get("queues", [])
    ]


def drift_of(said: Topic | None, live: LiveTopic | None) -> list[dict[str, Any]]:
    """What was declared and is otherwise on a broker."""
    if said is None or said.config is None:
        return []
    held = {} if live is None else live.brokers
    names = said.brokers or sorted(held)
    if not names:
        return [{"broker": "", "field": "", "declared": "there", "live": "missing"}]
    return [row for name in names for row in _broker_drift(name, said.config, held.get(name))]


_LIVE_NAMES = {"read_queues": "readQueues", "write_queues": "writeQueues", "perm": "perm"}


def _broker_drift(broker: str, config: dict[str, Any], held: dict[str, Any] | None) -> list[dict[str, Any]]:
    if held is None:
        return [{"broker": broker, "field": "", "declared": "there", "live": "missing"}]
    return [
        {"broker": broker, "field": ours, "declared": str(config[ours]), "live": str(held[theirs])}
        for ours, theirs in _LIVE_NAMES.items()
        if ours in config and theirs in held and held[theirs] != config[ours]
    ]


def _unseen(said: Topic) -> dict[str, Any]:
    """Declared, and not (yet) seen on any broker: no figure is known."""
    config = said.config or {}
    return {
        "name": said.name,
        "kind": LiveTopic.Kind.NORMAL,
        "read_queues": config.get("read_queues"),
        "write_queues": config.get("write_queues"),
        "perm": config.get("perm"),
        "is_ordered": config.get("is_ordered"),
        "brokers": [],
        "messages": None,
        "put_rate": None,
        "last_write_at": None,
        "group_count": None,
        "lag": None,
        "is_live": False,
        "is_favourite": False,
    } | {name: getattr(said, name) for name in ABOUT}

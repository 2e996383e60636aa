"""Topics for lists and pages: live rows with what people said about them. No broker is asked.

A topic's lag is its groups' together; as soon as one of them is not known, neither is the sum.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from clusters.models import Cluster, Favourite, LiveSubscription, LiveTopic, Topic
from console.core.problems import not_found
from console.core.rights import Grants

ORDERINGS = {
    "name": "name",
    "rate": "put_rate",
    "lag": "lag_sum",
    "messages": "messages",
    "last_write": "last_write_at",
    "groups": "group_count",
}


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
    if field == "lag_sum":
        sums = (
            LiveSubscription.objects.filter(cluster_id=OuterRef("cluster_id"), topic=OuterRef("name"))
            .order_by()
            .values("topic")
            .annotate(lag_sum=Sum("lag"))
            .values("lag_sum")
        )
        rows = rows.annotate(lag_sum=Coalesce(Subquery(sums), None))
    if field == "name":
        return rows.order_by("-name" if ordering.startswith("-") else "name")
    by = F(field).desc(nulls_last=True) if ordering.startswith("-") else F(field).asc(nulls_last=True)
    return rows.order_by(by, "name")


def described(cluster: Cluster, rows: list[LiveTopic], user_id: int | None) -> list[dict[str, Any]]:
    """The rows of one page, with three queries for all of them."""
    names = [row.name for row in rows]
    said = {one.name: one for one in Topic.objects.filter(cluster=cluster, name__in=names, deleted_at=None)}
    liked = set(favourite_names(user_id, cluster, Favourite.Kind.TOPIC).filter(name__in=names))
    lags = topic_lags(cluster, names)
    return [_row(row, said.get(row.name), row.name in liked, lags.get(row.name)) for row in rows]


def topic_lags(cluster: Cluster, names: list[str]) -> dict[str, int | None]:
    lags: dict[str, int | None] = {}
    found = LiveSubscription.objects.filter(cluster=cluster, topic__in=names).values_list("topic", "lag")
    for topic, lag in found:
        before = lags.get(topic, 0)
        lags[topic] = None if lag is None or before is None else before + lag
    return lags


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
        body = described(cluster, [live], user_id)[0]
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


def _row(live: LiveTopic, said: Topic | None, is_favourite: bool, lag: int | None) -> dict[str, Any]:
    return {
        "name": live.name,
        "kind": live.kind,
        "read_queues": live.read_queues,
        "write_queues": live.write_queues,
        "perm": live.perm,
        "is_ordered": live.is_ordered,
        "brokers": sorted(live.brokers),
        "messages": live.messages,
        "put_rate": live.put_rate,
        "last_write_at": live.last_write_at,
        "group_count": live.group_count,
        # No group reads it: nothing waits. That is known.
        "lag": lag if live.group_count else 0,
        "is_live": True,
    } | _about(said, is_favourite)


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
    } | _about(said, False)


def _about(said: Topic | None, is_favourite: bool) -> dict[str, Any]:
    return {
        "owner": said.owner if said else "",
        "team": said.team if said else "",
        "description": said.description if said else "",
        "labels": said.labels if said else {},
        "document": said.document if said else "",
        "is_favourite": is_favourite,
    }

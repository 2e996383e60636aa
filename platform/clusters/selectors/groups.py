"""Consumer groups for lists and pages: live rows with what people said about them. No broker is asked.

Lag in seconds is the age of the oldest unread message at the moment that it was sampled. What is not known
(members of a group that nobody watches on Apache's brokers, for one) is None, never zero.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import F, Q, QuerySet

from clusters.models import Cluster, ConsumerGroup, Favourite, LiveGroup, LiveSubscription, RebalanceEvent
from clusters.selectors.live import PEOPLES_GROUPS
from clusters.selectors.topics import ABOUT, NOTHING_SAID, favourite_names, said_about
from console.core.problems import not_found
from console.core.rights import Grants

ORDERINGS = {
    "name": "name",
    "lag": "lag",
    # The older the oldest unread message, the more seconds behind.
    "seconds": "oldest_unread_at",
    "rate": "consume_rate",
    "eta": "eta_s",
    "members": "member_count",
    "topics": "topic_count",
}
_DESCENDS_WITH_TIME = {"seconds"}


def live_groups(cluster: Cluster, grants: Grants) -> QuerySet[LiveGroup]:
    return LiveGroup.objects.filter(grants.names_filter(cluster.name), cluster=cluster)


def filtered(
    rows: QuerySet[LiveGroup],
    cluster: Cluster,
    *,
    search: str = "",
    owner: str = "",
    team: str = "",
    has_members: bool | None = None,
    favourites_of: int | None = None,
    with_system: bool = True,
) -> QuerySet[LiveGroup]:
    if not with_system:
        rows = rows.filter(PEOPLES_GROUPS)
    if search:
        rows = rows.filter(name__icontains=search)
    if has_members is not None:
        rows = rows.filter(member_count__gt=0) if has_members else rows.filter(member_count=0)
    if owner or team:
        said = Q(owner=owner) if owner else Q()
        said &= Q(team=team) if team else Q()
        names = ConsumerGroup.objects.filter(said, cluster=cluster, deleted_at=None).values("name")
        rows = rows.filter(name__in=names)
    if favourites_of is not None:
        rows = rows.filter(name__in=favourite_names(favourites_of, cluster, Favourite.Kind.GROUP))
    return rows


def ordered(rows: QuerySet[LiveGroup], ordering: str) -> QuerySet[LiveGroup]:
    name = ordering.removeprefix("-")
    field = ORDERINGS[name]
    is_descending = ordering.startswith("-") != (name in _DESCENDS_WITH_TIME)
    if field == "name":
        return rows.order_by("-name" if is_descending else "name")
    by = F(field).desc(nulls_last=True) if is_descending else F(field).asc(nulls_last=True)
    return rows.order_by(by, "name")


LISTED = (
    "name",
    "topic_count",
    "lag",
    "lag_is_partial",
    "oldest_unread_at",
    "consume_rate",
    "eta_s",
    "never_clears",
    "member_count",
    "model",
    "consume_type",
    "is_sampled",
)
"""Columns of a live row that lists show."""


def described(
    cluster: Cluster, rows: list[dict[str, Any]], user_id: int | None, sampled_at: datetime | None
) -> list[dict[str, Any]]:
    """The rows of one page (LISTED), with two queries for all of them."""
    names = [row["name"] for row in rows]
    said = said_about(ConsumerGroup.objects.filter(cluster=cluster, name__in=names, deleted_at=None))
    liked = set(favourite_names(user_id, cluster, Favourite.Kind.GROUP).filter(name__in=names))
    return [
        row
        | {"lag_s": seconds_behind(row["lag"], row["oldest_unread_at"], sampled_at), "is_live": True}
        | said.get(row["name"], NOTHING_SAID)
        | {"is_favourite": row["name"] in liked}
        for row in rows
    ]


def get_group(cluster: Cluster, name: str) -> tuple[LiveGroup | None, ConsumerGroup | None]:
    live = LiveGroup.objects.filter(cluster=cluster, name=name).first()
    said = ConsumerGroup.objects.filter(cluster=cluster, name=name).first()
    if live is None and (said is None or said.deleted_at is not None):
        raise not_found("group", name)
    return live, said if said is not None and said.deleted_at is None else None


def detail(
    cluster: Cluster,
    live: LiveGroup | None,
    said: ConsumerGroup | None,
    user_id: int | None,
    sampled_at: datetime | None,
) -> dict[str, Any]:
    if live is not None:
        row = {name: getattr(live, name) for name in LISTED}
        body = described(cluster, [row], user_id, sampled_at)[0]
    else:
        assert said is not None
        body = _unseen(said)
    return body | {
        "members": None if live is None else live.members,
        "topics": subscriptions(cluster, body["name"], sampled_at),
        "declared": None if said is None else said.config,
    }


def subscriptions(cluster: Cluster, group: str, sampled_at: datetime | None) -> list[dict[str, Any]]:
    rows = LiveSubscription.objects.filter(cluster=cluster, group=group)
    return [subscription(row, sampled_at) for row in rows]


def readers(cluster: Cluster, topic: str, grants: Grants) -> QuerySet[LiveSubscription]:
    """The groups that consume a topic: the reverse index. Without their queues, which may be many."""
    seen = grants.names_filter(cluster.name, "group")
    return LiveSubscription.objects.filter(seen, cluster=cluster, topic=topic).defer("queues")


def subscription(row: LiveSubscription, sampled_at: datetime | None) -> dict[str, Any]:
    return reader(row, sampled_at) | {"queues": [_queue(queue, sampled_at) for queue in row.queues]}


def reader(row: LiveSubscription, sampled_at: datetime | None) -> dict[str, Any]:
    return {
        "group": row.group,
        "topic": row.topic,
        "expression": row.expression,
        "lag": row.lag,
        "lag_is_partial": row.lag_is_partial,
        "lag_s": seconds_behind(row.lag, row.oldest_unread_at, sampled_at),
        "consume_rate": row.consume_rate,
        "eta_s": row.eta_s,
        "never_clears": row.never_clears,
    }


def seconds_behind(
    lag: int | None, oldest_unread_at: datetime | None, sampled_at: datetime | None
) -> float | None:
    """0 when nothing is unread; None when that, or the message's time, is not known."""
    if lag == 0:
        return 0.0
    if lag is None or oldest_unread_at is None or sampled_at is None:
        return None
    return max(0.0, (sampled_at - oldest_unread_at).total_seconds())


def rebalances(cluster: Cluster, group: str) -> QuerySet[RebalanceEvent]:
    return RebalanceEvent.objects.filter(cluster=cluster, group=group)


def _queue(queue: dict[str, Any], sampled_at: datetime | None) -> dict[str, Any]:
    committed, maximum, oldest = queue.get("committed"), queue.get("max"), queue.get("oldest_ms")
    lag = None if committed is None or maximum is None else max(0, maximum - committed)
    eta = queue.get("eta_s")
    behind = None
    if lag == 0:
        behind = 0.0
    elif oldest is not None and sampled_at is not None:
        behind = max(0.0, sampled_at.timestamp() - oldest / 1000)
    return {
        "broker": queue["broker"],
        "queue": queue["queue"],
        "committed": committed,
        "max": maximum,
        "lag": lag,
        "lag_s": behind,
        "eta_s": None if eta == "never" else eta,
        "never_clears": eta == "never",
    }


def _unseen(said: ConsumerGroup) -> dict[str, Any]:
    figures = ("topic_count", "lag", "lag_s", "oldest_unread_at", "consume_rate", "eta_s", "member_count")
    return {
        "name": said.name,
        **dict.fromkeys(figures),
        "lag_is_partial": False,
        "never_clears": False,
        "model": "",
        "consume_type": "",
        "is_sampled": False,
        "is_live": False,
        "is_favourite": False,
    } | {name: getattr(said, name) for name in ABOUT}


def of_topic(cluster: Cluster, topic: str, names: list[str]) -> QuerySet[LiveSubscription]:
    return LiveSubscription.objects.filter(cluster=cluster, topic=topic, group__in=names)

"""Who sends to a topic, where it lies, who reads it: edges of the routing graph, from live rows alone.

Our brokers say which producer groups sent to a topic lately; of others only is known who is connected as a
producer. Groups that the caller may not see are counted, not named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Q, QuerySet

from clusters.models import Cluster, LiveBroker, LiveSubscription, LiveTopic
from clusters.selectors.topics import senders_of
from console.core.models.people import Role
from console.core.rights import Grants

ROUTED = ("name", "kind", "put_rate", "brokers")
"""Columns of a live topic that its part of the graph is made of."""
_EDGE = (
    "group",
    "topic",
    "lag",
    "lag_is_partial",
    "oldest_unread_at",
    "consume_rate",
    "eta_s",
    "never_clears",
    "expression",
)


def routed_topics(cluster: Cluster, grants: Grants, kind: str, search: str) -> QuerySet[LiveTopic]:
    """Those whose own name fits, and those that a group of a fitting name reads."""
    rows = LiveTopic.objects.filter(grants.names_filter(cluster.name), cluster=cluster, kind=kind)
    if not search:
        return rows
    readers = LiveSubscription.objects.filter(
        grants.names_filter(cluster.name, "group"), cluster=cluster, group__icontains=search
    )
    return rows.filter(Q(name__icontains=search) | Q(name__in=readers.values("topic")))


def named_topics(cluster: Cluster, names: Iterable[str]) -> Iterable[dict[str, Any]]:
    return LiveTopic.objects.filter(cluster=cluster, name__in=list(names)).values(*ROUTED)


def routing_rows(
    cluster: Cluster, topics: Iterable[Mapping[str, Any]], grants: Grants
) -> dict[str, dict[str, Any]]:
    """Of topics (ROUTED), by name: their brokers with their queues, their groups with their figures."""
    found = {row["name"]: _topic(row) for row in topics}
    edges = LiveSubscription.objects.filter(cluster=cluster, topic__in=list(found))
    sees_all = grants.may(Role.VIEWER, cluster.name)
    for edge in edges.values(*_EDGE):
        about = found[edge.pop("topic")]
        if sees_all or grants.may(Role.VIEWER, cluster.name, edge["group"]):
            about["groups"].append(_told(edge))
        else:
            about["hidden_groups"] += 1
    return found


def producer_edges(cluster: Cluster) -> list[dict[str, Any]]:
    """Producer groups by broker; `members` None: the broker does not say."""
    rows = LiveBroker.objects.filter(cluster=cluster, role="master").values_list("broker_name", "producers")
    edges: list[dict[str, Any]] = []
    for broker, producers in rows:
        if producers is None:
            edges.append({"broker": broker, "producer_group": None, "members": None})
        for group, members in sorted((producers or {}).items()):
            listed = [{"client_id": one[0], "address": one[1], "language": one[2]} for one in members]
            edges.append({"broker": broker, "producer_group": group, "members": listed})
    return edges


def _topic(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "topic": row["name"],
        "kind": row["kind"],
        "put_rate": row["put_rate"],
        "senders": senders_of(row["brokers"]),
        "brokers": [
            {
                "broker": broker,
                "read_queues": part["readQueues"],
                "write_queues": part["writeQueues"],
                "perm": part["perm"],
            }
            for broker, part in sorted(row["brokers"].items())
        ],
        "groups": [],
        "hidden_groups": 0,
    }


def _told(edge: dict[str, Any]) -> dict[str, Any]:
    """JSON values, in place: a page has thousands of edges, and these two are all that is not JSON yet."""
    if edge["lag"] is not None:
        edge["lag"] = str(edge["lag"])
    if edge["oldest_unread_at"] is not None:
        edge["oldest_unread_at"] = edge["oldest_unread_at"].isoformat()
    return edge

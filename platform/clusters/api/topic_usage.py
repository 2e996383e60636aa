"""Who uses a topic: its routes, its groups, its producers, and what a delete would hit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions.broker_changes import reach
from clusters.api.cluster_view import ClusterView
from clusters.api.group_shapes import TopicReaderSerializer
from clusters.api.lists import LIMIT, OFFSET, FreshnessSerializer, ListView, page_serializer
from clusters.api.outcomes import BrokerOutcomeSerializer
from clusters.gateway import topics as gateway
from clusters.models import Cluster, LiveBroker, LiveGroup, LiveTopic
from clusters.selectors import groups as group_selectors
from clusters.selectors import topics as selectors
from clusters.selectors.live import freshness_of
from console.core.fields import Int64Field
from console.core.models.people import Role
from console.core.needs import Need, Where
from console.core.problems import not_found
from console.core.rights import Grants
from console.core.shaping import shaped

TAGS = ["topics"]
READ = Need(Role.VIEWER, Where.NAME)
UNCERTAIN = (
    "Connected to brokers of this topic. Whether they send to it is known of brokers that say so: "
    "Apache RocketMQ's do not."
)


class RouteSerializer(serializers.Serializer[Any]):
    broker = serializers.CharField()
    read_queues = serializers.IntegerField(allow_null=True)
    write_queues = serializers.IntegerField(allow_null=True)
    perm = serializers.IntegerField(allow_null=True)
    members = serializers.ListField(child=serializers.JSONField())
    has_reachable_master = serializers.BooleanField()


class RoutesSerializer(serializers.Serializer[Any]):
    routes = RouteSerializer(many=True)
    freshness = FreshnessSerializer()


class TopicRoutesView(ClusterView):
    needs = {"GET": READ}
    name_kwarg = "topic"

    @extend_schema(
        operation_id="topics_routes",
        tags=TAGS,
        summary="Which brokers hold how many of its queues, from live rows.",
        responses=RoutesSerializer,
    )
    def get(self, request: Request, cluster: str, topic: str) -> Response:
        live, _ = selectors.get_topic(self.cluster, topic)
        held = {} if live is None else live.brokers
        members: dict[str, list[Any]] = {}
        for row in LiveBroker.objects.filter(cluster=self.cluster, broker_name__in=list(held)):
            members.setdefault(row.broker_name, []).append(
                {
                    "member": row.member,
                    "address": row.address,
                    "role": row.role,
                    "is_reachable": row.is_reachable,
                }
            )
        routes = [_route(name, queues, members.get(name, [])) for name, queues in sorted(held.items())]
        return Response(RoutesSerializer({"routes": routes, "freshness": freshness_of(self.cluster)}).data)


def _route(name: str, held: dict[str, Any], members: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "broker": name,
        "read_queues": held.get("readQueues"),
        "write_queues": held.get("writeQueues"),
        "perm": held.get("perm"),
        "members": members,
        "has_reachable_master": any(one["member"] == 0 and one["is_reachable"] for one in members),
    }


class TopicGroupsView(ListView):
    needs = {"GET": READ}
    name_kwarg = "topic"

    @extend_schema(
        operation_id="topics_groups",
        tags=TAGS,
        summary="The groups that consume it, with their lag on it.",
        parameters=[LIMIT, OFFSET],
        responses=page_serializer("TopicGroupPage", TopicReaderSerializer, freshness=FreshnessSerializer()),
    )
    def get(self, request: Request, cluster: str, topic: str) -> Response:
        selectors.get_topic(self.cluster, topic)
        ages = freshness_of(self.cluster)
        pages, rows = self.cut(group_selectors.readers(self.cluster, topic, self.grants))
        found = [group_selectors.reader(row, ages["sampled_at"]) for row in rows]
        return self.page(pages, shaped(TopicReaderSerializer, found), freshness=ages)


class ProducerSerializer(serializers.Serializer[Any]):
    group = serializers.CharField()
    client_id = serializers.CharField()
    address = serializers.CharField()
    language = serializers.CharField()
    version = serializers.IntegerField()
    last_seen_at = serializers.DateTimeField(allow_null=True)
    brokers = serializers.ListField(child=serializers.CharField())
    sends_here = serializers.BooleanField(
        allow_null=True,
        help_text="Whether its group sent to this topic in the last ten minutes; null: not known.",
    )


class ProducersSerializer(serializers.Serializer[Any]):
    producers = ProducerSerializer(many=True)
    note = serializers.CharField()
    brokers = BrokerOutcomeSerializer(many=True)
    is_complete = serializers.BooleanField()


class TopicProducersView(ClusterView):
    needs = {"GET": READ}
    name_kwarg = "topic"

    @extend_schema(
        operation_id="topics_producers",
        tags=TAGS,
        summary="Producers that are connected to its brokers, asked now.",
        responses=ProducersSerializer,
    )
    def get(self, request: Request, cluster: str, topic: str) -> Response:
        live, _ = selectors.get_topic(self.cluster, topic)
        return Response(producers_of(self.cluster, live.brokers if live else {}))


class ImpactGroupSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    lag = Int64Field(allow_null=True)
    member_count = serializers.IntegerField(allow_null=True)


class ImpactSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    messages = Int64Field(allow_null=True)
    last_write_at = serializers.DateTimeField(allow_null=True)
    put_rate = serializers.FloatField(allow_null=True)
    groups = ImpactGroupSerializer(many=True)
    hidden_groups = serializers.IntegerField(help_text="Groups that you may not see.")
    producers = ProducerSerializer(many=True)
    note = serializers.CharField()
    brokers = BrokerOutcomeSerializer(many=True)
    is_complete = serializers.BooleanField()


class TopicImpactView(ClusterView):
    needs = {"GET": READ}
    name_kwarg = "topic"

    @extend_schema(
        operation_id="topics_impact",
        tags=TAGS,
        summary="What a delete would hit: asked of the brokers now.",
        responses=ImpactSerializer,
    )
    def get(self, request: Request, cluster: str, topic: str) -> Response:
        return Response(impact_of(self.cluster, topic, self.grants))


def producers_of(cluster: Cluster, brokers: Mapping[str, Any]) -> dict[str, Any]:
    """`brokers` as a live topic has them."""
    reached = reach(cluster)
    rows, outcomes = gateway.producers(reached.address, sorted(brokers), reached.expected)
    senders = selectors.senders_of(brokers)
    listed = [
        {key: row[key] for key in ("group", "client_id", "address", "language", "version", "brokers")}
        | {"last_seen_at": _time(row["last_seen_ms"])}
        | {"sends_here": None if senders is None else row["group"] in senders}
        for row in rows
    ]
    return {
        "producers": listed,
        "note": UNCERTAIN,
        "brokers": [_without_answer(one.as_json()) for one in outcomes],
        "is_complete": all(one.ok for one in outcomes),
    }


def impact_of(cluster: Cluster, topic: str, grants: Grants) -> dict[str, Any]:
    reached = reach(cluster)
    found = gateway.topic_usage(reached.address, topic, (), reached.expected)
    there = [one for one in found if one.read_back is not None]
    if not there and all(one.ok for one in found):
        raise not_found("topic", topic)
    is_complete = all(one.ok for one in found)
    queues = [queue for one in there for queue in one.read_back["queues"]]
    writes = [queue["last_write_ms"] for queue in queues if queue["last_write_ms"]]
    names = sorted({group for one in there for group in one.read_back["groups"]})
    seen = [name for name in names if grants.may(Role.VIEWER, cluster.name, name)]
    live = LiveTopic.objects.filter(cluster=cluster, name=topic).first()
    said = {} if live is None else live.brokers
    producing = producers_of(cluster, {one.broker: said.get(one.broker, {}) for one in there})
    body = {
        "name": topic,
        "messages": sum(queue["max"] - queue["min"] for queue in queues) if is_complete else None,
        "last_write_at": _time(max(writes)) if writes else None,
        "put_rate": sum(one.read_back["put_rate"] for one in there) if is_complete else None,
        "groups": _groups(cluster, topic, seen),
        "hidden_groups": len(names) - len(seen),
        "producers": producing["producers"],
        "note": producing["note"],
        "brokers": [_without_answer(one.as_json()) for one in found],
        "is_complete": is_complete and producing["is_complete"],
    }
    return dict(ImpactSerializer(body).data)


def _groups(cluster: Cluster, topic: str, names: list[str]) -> list[dict[str, Any]]:
    """Lag and members as the collector saw them last; null where it did not."""
    lags = {row.group: row.lag for row in group_selectors.of_topic(cluster, topic, names)}
    rows = LiveGroup.objects.filter(cluster=cluster, name__in=names)
    members = dict(rows.values_list("name", "member_count"))
    return [{"name": name, "lag": lags.get(name), "member_count": members.get(name)} for name in names]


def _without_answer(outcome: dict[str, Any]) -> dict[str, Any]:
    """The answers are put together elsewhere in the body."""
    return outcome | {"read_back": None}


def _time(milliseconds: int | None) -> datetime | None:
    return None if not milliseconds else datetime.fromtimestamp(milliseconds / 1000, UTC)


_ONE = "clusters/<str:cluster>/topics/<str:topic>/"

urlpatterns = [
    path(f"{_ONE}routes/", TopicRoutesView.as_view(), name="topic-routes"),
    path(f"{_ONE}groups/", TopicGroupsView.as_view(), name="topic-groups"),
    path(f"{_ONE}producers/", TopicProducersView.as_view(), name="topic-producers"),
    path(f"{_ONE}impact/", TopicImpactView.as_view(), name="topic-impact"),
]

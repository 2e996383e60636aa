"""Who sends where and who reads it (routing), and who came to and went from groups (rebalances)."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.lists import (
    LIMIT,
    OFFSET,
    FreshnessSerializer,
    ListView,
    ordering_parameter,
    page_serializer,
)
from clusters.models import LiveTopic, RebalanceEvent
from clusters.selectors.live import freshness_of
from clusters.selectors.routing import ROUTED, producer_edges, routed_topics, routing_rows
from clusters.selectors.topics import ordered
from console.core.fields import Int64Field
from console.core.models.people import Role
from console.core.needs import Need, Where
from console.core.shaping import shaped

ORDERINGS = ("name", "rate", "lag", "groups")


class RoutingBrokerSerializer(serializers.Serializer[Any]):
    broker = serializers.CharField()
    read_queues = serializers.IntegerField()
    write_queues = serializers.IntegerField()
    perm = serializers.IntegerField()


class RoutingGroupSerializer(serializers.Serializer[Any]):
    group = serializers.CharField()
    lag = Int64Field(allow_null=True)
    lag_is_partial = serializers.BooleanField()
    oldest_unread_at = serializers.DateTimeField(allow_null=True)
    consume_rate = serializers.FloatField(allow_null=True)
    eta_s = serializers.FloatField(allow_null=True)
    never_clears = serializers.BooleanField()
    expression = serializers.CharField()


class RoutingTopicSerializer(serializers.Serializer[Any]):
    topic = serializers.CharField()
    kind = serializers.CharField()
    put_rate = serializers.FloatField(allow_null=True)
    senders = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="Producer groups that sent to it in the last ten minutes; null: a broker does not say.",
    )
    brokers = RoutingBrokerSerializer(many=True)
    groups = RoutingGroupSerializer(many=True)
    hidden_groups = serializers.IntegerField(help_text="Groups that you may not see.")


class RoutingProducerSerializer(serializers.Serializer[Any]):
    broker = serializers.CharField()
    producer_group = serializers.CharField(allow_null=True)
    members = serializers.ListField(
        child=serializers.DictField(), allow_null=True, help_text="null: the broker does not say."
    )


class RebalanceSerializer(serializers.Serializer[Any]):
    group = serializers.CharField()
    at = serializers.DateTimeField()
    joined = serializers.ListField(child=serializers.CharField())
    left = serializers.ListField(child=serializers.CharField())
    member_count = serializers.IntegerField()


class RoutingView(ListView):
    needs = {"GET": Need(Role.VIEWER, Where.INSIDE)}

    @extend_schema(
        operation_id="routing_get",
        tags=["routing"],
        summary="Topics with their brokers and groups; producers by broker.",
        parameters=[
            OpenApiParameter("search", str, description="Part of the name of a topic, or of a group on it."),
            OpenApiParameter("kind", str, enum=LiveTopic.Kind.values, description="normal by default."),
            ordering_parameter(ORDERINGS),
            LIMIT,
            OFFSET,
        ],
        responses=page_serializer(
            "RoutingPage",
            RoutingTopicSerializer,
            producers=RoutingProducerSerializer(many=True, allow_null=True),
            freshness=FreshnessSerializer(),
        ),
    )
    def get(self, request: Request, cluster: str) -> Response:
        kind = self.text_of("kind") or LiveTopic.Kind.NORMAL
        rows = routed_topics(self.cluster, self.grants, kind, self.text_of("search"))
        rows = ordered(rows, self.ordering_of(ORDERINGS, "name"))
        pages, topics = self.cut_wide(rows, ROUTED)
        listed = routing_rows(self.cluster, topics, self.grants).values()
        sees_all = self.grants.may(Role.VIEWER, self.cluster.name)
        return self.page(
            pages,
            shaped(RoutingTopicSerializer, listed),
            producers=producer_edges(self.cluster) if sees_all else None,
            freshness=freshness_of(self.cluster),
        )


class RebalancesView(ListView):
    needs = {"GET": Need(Role.VIEWER, Where.INSIDE)}

    @extend_schema(
        operation_id="rebalances_list",
        tags=["groups"],
        summary="Who joined and left groups, newest first, for 30 days.",
        parameters=[OpenApiParameter("group", str), LIMIT, OFFSET],
        responses=page_serializer("RebalancePage", RebalanceSerializer, freshness=FreshnessSerializer()),
    )
    def get(self, request: Request, cluster: str) -> Response:
        rows = RebalanceEvent.objects.filter(
            self.grants.names_filter(self.cluster.name, "group"), cluster=self.cluster
        )
        if group := self.text_of("group"):
            rows = rows.filter(group=group)
        pages, cut = self.cut(rows)
        return self.page(
            pages, RebalanceSerializer(cut, many=True).data, freshness=freshness_of(self.cluster)
        )


urlpatterns = [
    path("clusters/<str:cluster>/routing/", RoutingView.as_view(), name="routing"),
    path("clusters/<str:cluster>/rebalances/", RebalancesView.as_view(), name="rebalances"),
]

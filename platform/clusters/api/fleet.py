"""All clusters on one page."""

from __future__ import annotations

from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.selectors.fleet import fleet_rows
from console.core.fields import Int64Field
from console.core.needs import SIGNED_IN
from console.core.views import PlatformView


class TopLagSerializer(serializers.Serializer[Any]):
    group = serializers.CharField()
    lag = Int64Field()


class FleetRowSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.CharField()
    flavour = serializers.CharField()
    labels = serializers.DictField()
    health = serializers.CharField(help_text="ok, degraded, down or unknown.")
    health_reason = serializers.CharField()
    error = serializers.CharField(help_text="Why nothing could be asked.")
    versions = serializers.ListField(child=serializers.CharField())
    broker_count = serializers.IntegerField()
    topic_count = serializers.IntegerField(
        allow_null=True, help_text="Of kind normal: without retries, dead letters and the brokers' own."
    )
    group_count = serializers.IntegerField(allow_null=True, help_text="Without the brokers' own.")
    put_rate = serializers.FloatField(allow_null=True)
    got_rate = serializers.FloatField(allow_null=True)
    lag = Int64Field(allow_null=True)
    top_lag = TopLagSerializer(many=True, allow_null=True)
    disk_ratio = serializers.FloatField(allow_null=True, help_text="Of the fullest broker.")
    firing_alerts = serializers.IntegerField(allow_null=True)
    sampled_at = serializers.DateTimeField(allow_null=True)
    age_s = serializers.FloatField(allow_null=True)


class FleetSerializer(serializers.Serializer[Any]):
    clusters = FleetRowSerializer(many=True)


class FleetView(PlatformView):
    needs = {"GET": SIGNED_IN}

    @extend_schema(
        operation_id="fleet_get",
        tags=["clusters"],
        summary="Every cluster that you may see, with its health and how old that is.",
        responses=FleetSerializer,
    )
    def get(self, request: Request) -> Response:
        now = timezone.now()
        rows = fleet_rows(self.grants, now)
        for row in rows:
            at = row["sampled_at"]
            row["age_s"] = None if at is None else round((now - at).total_seconds(), 1)
        return Response(FleetSerializer({"clusters": rows}).data)


urlpatterns = [path("fleet/", FleetView.as_view(), name="fleet")]

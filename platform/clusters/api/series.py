"""History of a cluster, a broker, a topic or a group, for charts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.cluster_view import ClusterView
from clusters.selectors.live import freshness_of
from clusters.selectors.packing import RESOLUTIONS
from clusters.selectors.series import METRICS, choose_range, read_series
from console.core.models.people import Role
from console.core.needs import Need, Where
from console.core.problems import Problem

_ALL_METRICS = sorted({metric for metrics in METRICS.values() for metric in metrics})


class SeriesQuerySerializer(serializers.Serializer[Any]):
    subject = serializers.ChoiceField(sorted(METRICS))
    name = serializers.CharField(max_length=255, required=False, allow_blank=True, default="")
    metric = serializers.ChoiceField(_ALL_METRICS)
    to = serializers.DateTimeField(required=False)
    resolution = serializers.ChoiceField(RESOLUTIONS, required=False)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        # `from` is a word of Python's.
        return super().get_fields() | {"from": serializers.DateTimeField(required=False)}

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if data["metric"] not in METRICS[data["subject"]]:
            listed = ", ".join(METRICS[data["subject"]])
            raise serializers.ValidationError({"metric": f"a {data['subject']} has {listed}"})
        if (data["subject"] == "cluster") != (not data["name"]):
            raise serializers.ValidationError({"name": "is given for all subjects but the cluster"})
        return data


class PointSerializer(serializers.Serializer[Any]):
    at = serializers.IntegerField(help_text="Seconds since 1970.")
    value = serializers.FloatField(allow_null=True, help_text="null: not known then.")


class SeriesSerializer(serializers.Serializer[Any]):
    subject = serializers.CharField()
    name = serializers.CharField()
    metric = serializers.CharField()
    resolution_s = serializers.IntegerField()
    points = PointSerializer(many=True)
    sampled_at = serializers.DateTimeField(allow_null=True)


class SeriesView(ClusterView):
    needs = {"GET": Need(Role.VIEWER, Where.INSIDE)}

    @extend_schema(
        operation_id="series_get",
        tags=["series"],
        summary="Points of one series: 10 s for 2 hours, 1 min for 7 days, 1 h for 90 days.",
        parameters=[
            OpenApiParameter("subject", str, required=True, enum=sorted(METRICS)),
            OpenApiParameter("name", str, description="Of the broker group, topic or group."),
            OpenApiParameter("metric", str, required=True, enum=_ALL_METRICS),
            OpenApiParameter("from", datetime, description="An hour before `to` by default."),
            OpenApiParameter("to", datetime, description="Now by default."),
            OpenApiParameter("resolution", int, enum=list(RESOLUTIONS), description="Seconds."),
        ],
        responses=SeriesSerializer,
    )
    def get(self, request: Request, cluster: str) -> Response:
        asked = SeriesQuerySerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        query, now = asked.validated_data, timezone.now()
        self._check_rights(query["subject"], query["name"])
        end = query.get("to") or now
        start = query.get("from") or end - timedelta(hours=1)
        wanted = choose_range(start, end, query.get("resolution"), now)
        points = read_series(self.cluster, query["subject"], query["name"], query["metric"], wanted)
        return Response(
            {
                "subject": query["subject"],
                "name": query["name"],
                "metric": query["metric"],
                "resolution_s": wanted.resolution_s,
                "points": [{"at": at, "value": value} for at, value in points],
                "sampled_at": freshness_of(self.cluster)["sampled_at"],
            }
        )

    def _check_rights(self, subject: str, name: str) -> None:
        is_named = subject in ("topic", "group")
        if not (
            self.grants.may(Role.VIEWER, self.cluster.name, name)
            if is_named
            else self.grants.may(Role.VIEWER, self.cluster.name)
        ):
            raise Problem("permission_denied", "you may not see this", 403)


urlpatterns = [path("clusters/<str:cluster>/series/", SeriesView.as_view(), name="series")]

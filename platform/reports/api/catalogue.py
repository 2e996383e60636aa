"""REST: which reports there are, with their options, and whether Spark can run.

GET reports/
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.core.models.people import Role
from console.core.needs import SIGNED_IN
from console.core.views import PlatformView
from reports.api.option_shapes import ReportOptionSerializer
from reports.selectors.catalogue import REPORTS
from reports.selectors.placing import spark_state


class ReportSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    about = serializers.CharField()
    options = ReportOptionSerializer(many=True)


class SparkHostSerializer(serializers.Serializer[Any]):
    host = serializers.CharField()
    is_available = serializers.BooleanField(allow_null=True, help_text="Null: its agent has not looked yet.")
    missing = serializers.CharField(help_text="What it lacks, in a sentence.")
    is_silent = serializers.BooleanField()
    checked_at = serializers.DateTimeField(allow_null=True)


class ReportCatalogueSerializer(serializers.Serializer[Any]):
    is_available = serializers.BooleanField(
        allow_null=True, help_text="Some host can run Spark; null: no agent has looked yet."
    )
    missing = serializers.CharField(help_text="What is missing, in a sentence; empty when nothing is.")
    hosts = SparkHostSerializer(many=True, help_text="For those who may see all hosts.")
    reports = ReportSerializer(many=True)


class CatalogueView(PlatformView):
    needs = {"GET": SIGNED_IN}

    @extend_schema(operation_id="reports_catalogue", tags=["reports"], responses=ReportCatalogueSerializer)
    def get(self, request: Request) -> Response:
        """Every report with its options; and whether Spark can run, or what it lacks."""
        hosts = spark_state(timezone.now())
        answers = [host["is_available"] for host in hosts]
        is_available = True if True in answers else False if False in answers else None
        body = {
            "is_available": is_available,
            "missing": "" if is_available else next((h["missing"] for h in hosts if h["missing"]), ""),
            "hosts": hosts if self.grants.may(Role.VIEWER) else [],
            "reports": [
                {**asdict(report), "options": [asdict(option) for option in report.options]}
                for report in REPORTS
                if report.is_listed
            ],
        }
        return Response(ReportCatalogueSerializer(body).data)


urlpatterns = [path("reports/", CatalogueView.as_view(), name="reports")]

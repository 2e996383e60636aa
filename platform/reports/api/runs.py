"""REST: runs of reports.

    GET|POST reports/runs/ (?dry_run=true)    GET|DELETE reports/runs/{id}/
    POST     reports/runs/{id}/cancel/  retry/              GET reports/runs/{id}/log/

A report shows every topic and group of its cluster, so it takes a grant on all names.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.lists import DRY_RUN, LIMIT, OFFSET, ListView, ordering_parameter, page_serializer
from console.core.models.people import Role
from console.core.needs import Need, Where
from console.core.problems import Problem
from reports.actions.bringing import log_text
from reports.actions.known_settings import with_known
from reports.actions.runs import do_cancel_run, do_delete_run, do_retry_run, do_start_run, plan_run
from reports.api.option_shapes import described_requests
from reports.api.run_shapes import (
    ReportPlanSerializer,
    ReportRunDetailSerializer,
    ReportRunSerializer,
    RunRequestSerializer,
    run_wish,
)
from reports.models import ReportRun
from reports.selectors.runs import ORDERINGS, get_run, runs_of

TAGS = ["reports"]
SEE, RUN = Need(Role.VIEWER, Where.CLUSTER), Need(Role.OPERATOR, Where.CLUSTER)
_FILTERS = ("report", "state", "schedule")


class RunsView(ListView):
    needs = {"GET": SEE, "POST": RUN}

    @extend_schema(
        operation_id="report_runs_list",
        tags=TAGS,
        parameters=[
            *(OpenApiParameter(name, str) for name in _FILTERS),
            ordering_parameter(ORDERINGS),
            LIMIT,
            OFFSET,
        ],
        responses=page_serializer("ReportRunPage", ReportRunSerializer),
    )
    def get(self, request: Request, cluster: str) -> Response:
        """The newest first. `schedule` is a schedule's name."""
        rows = runs_of(self.cluster).order_by(self.ordering_of(ORDERINGS, "-created_at"), "pk")
        for field, name in (("report", "report"), ("state", "state"), ("schedule__name", "schedule")):
            if value := self.text_of(name):
                rows = rows.filter(**{field: value})
        # Of lists nobody needs the results.
        pages, runs = self.cut(rows.defer("summary", "tables", "log_tail"))
        return self.page(pages, ReportRunSerializer(runs, many=True).data)

    @extend_schema(
        operation_id="report_runs_create",
        tags=TAGS,
        parameters=[DRY_RUN],
        request=described_requests("ReportRunRequest", RunRequestSerializer),
        responses={200: ReportPlanSerializer, 202: ReportRunDetailSerializer},
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Run a report now. Progress comes on the websocket channel `reports/{cluster}`. With dry_run=true:
        on which host, and of which stores."""
        asked = RunRequestSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        wish = with_known(self.cluster, run_wish(asked.validated_data))
        if wish.paths and not self.grants.may(Role.ADMIN):
            raise Problem("permission_denied", "only administrators of the platform name paths", 403)
        if self.is_dry_run:
            plan = plan_run(self.cluster, wish, now=timezone.now())
            host = None if plan.host is None else plan.host.name
            shown = {"host": host, "stores": plan.stores, "left_out": plan.left_out, "missing": plan.missing}
            return Response(ReportPlanSerializer(shown).data)
        run = do_start_run(self.cluster, wish, actor=self.actor, now=timezone.now())
        return Response(ReportRunDetailSerializer(run).data, 202)


class RunView(ListView):
    needs = {"GET": SEE, "DELETE": RUN}

    @extend_schema(operation_id="report_runs_get", tags=TAGS, responses=ReportRunDetailSerializer)
    def get(self, request: Request, cluster: str, id: uuid.UUID) -> Response:
        """With its summary and its tables."""
        return Response(ReportRunDetailSerializer(get_run(self.cluster, id)).data)

    @extend_schema(operation_id="report_runs_delete", tags=TAGS, responses={204: None})
    def delete(self, request: Request, cluster: str, id: uuid.UUID) -> Response:
        """Its files go now; it stays in the list as expired for a while."""
        do_delete_run(get_run(self.cluster, id), actor=self.actor, now=timezone.now())
        return Response(status=204)


class _Verb(ListView):
    needs = {"POST": RUN}

    def change(self, id: uuid.UUID, action: Callable[..., ReportRun]) -> Response:
        run = action(get_run(self.cluster, id), actor=self.actor, now=timezone.now())
        return Response(ReportRunDetailSerializer(run).data, 202)


class CancelRunView(_Verb):
    @extend_schema(
        operation_id="report_runs_cancel", tags=TAGS, request=None, responses={202: ReportRunDetailSerializer}
    )
    def post(self, request: Request, cluster: str, id: uuid.UUID) -> Response:
        """One that waits is cancelled; one that runs is when its processes are gone."""
        return self.change(id, do_cancel_run)


class RetryRunView(_Verb):
    @extend_schema(
        operation_id="report_runs_retry", tags=TAGS, request=None, responses={202: ReportRunDetailSerializer}
    )
    def post(self, request: Request, cluster: str, id: uuid.UUID) -> Response:
        """The same again, as a run of its own."""
        return self.change(id, do_retry_run)


class ReportLogSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(help_text="The last 256 KB at most.")


class RunLogView(ListView):
    needs = {"GET": SEE}

    @extend_schema(operation_id="report_runs_log", tags=TAGS, responses=ReportLogSerializer)
    def get(self, request: Request, cluster: str, id: uuid.UUID) -> Response:
        """What Spark printed."""
        return Response({"text": log_text(get_run(self.cluster, id))})


_HERE = "clusters/<str:cluster>/reports/runs/"

urlpatterns = [
    path(_HERE, RunsView.as_view(), name="report-runs"),
    path(f"{_HERE}<uuid:id>/", RunView.as_view(), name="report-run"),
    path(f"{_HERE}<uuid:id>/cancel/", CancelRunView.as_view(), name="report-run-cancel"),
    path(f"{_HERE}<uuid:id>/retry/", RetryRunView.as_view(), name="report-run-retry"),
    path(f"{_HERE}<uuid:id>/log/", RunLogView.as_view(), name="report-run-log"),
]

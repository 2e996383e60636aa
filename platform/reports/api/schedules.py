"""REST: schedules of reports.

GET|POST reports/schedules/ (?dry_run=true)    GET|PATCH|DELETE reports/schedules/{id}/
POST     reports/schedules/{id}/run/           one of its runs, now
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.lists import DRY_RUN, LIMIT, OFFSET, SEARCH, ListView, ordering_parameter, page_serializer
from console.core.fields import Int64Field
from reports.actions.known_settings import with_known
from reports.actions.runs import Origin, RunWish, do_start_run
from reports.actions.schedules import (
    WISHED,
    Owner,
    ScheduleWish,
    check_schedule,
    do_change_schedule,
    do_create_schedule,
    do_delete_schedule,
    wish_of,
)
from reports.api.option_shapes import described_requests
from reports.api.run_shapes import ReportRunDetailSerializer, WishSerializer
from reports.api.runs import RUN, SEE, TAGS
from reports.models import ReportSchedule
from reports.selectors.runs import get_schedule, schedules_of
from reports.selectors.timetable import times

_SORTED = ("name", "next_at", "report", "created_at")
_SHOWN_TIMES = 5


class ReportScheduleRequestSerializer(WishSerializer):
    name = serializers.CharField(max_length=100)
    cron = serializers.CharField(
        max_length=100, help_text="Minute, hour, day, month, weekday: `0 6 * * MON`."
    )
    last_hours = serializers.IntegerField(
        min_value=1,
        max_value=24 * 366,
        default=None,
        allow_null=True,
        help_text="How far back a run looks from its moment; null: everything that is kept.",
    )
    is_enabled = serializers.BooleanField(default=True, help_text="False: paused.")


def schedule_wish(values: dict[str, Any]) -> ScheduleWish:
    wish = RunWish(**{name: values[name] for name in WISHED})
    own = {name: values[name] for name in ("name", "cron", "last_hours", "is_enabled")}
    return ScheduleWish(wish=wish, **own)


class ReportScheduleSerializer(serializers.Serializer[Any]):
    id = Int64Field()
    name = serializers.CharField()
    report = serializers.CharField()
    options = serializers.JSONField()
    brokers = serializers.ListField(child=serializers.CharField())
    allows_partial = serializers.BooleanField()
    cron = serializers.CharField()
    time_zone = serializers.CharField()
    last_hours = serializers.IntegerField(allow_null=True)
    is_enabled = serializers.BooleanField()
    keep_days = serializers.IntegerField()
    timeout_s = serializers.IntegerField()
    retries = serializers.IntegerField()
    owner = serializers.CharField(source="owner.username", help_text="Whose rights its runs have.")
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    next_at = serializers.DateTimeField(allow_null=True)
    note = serializers.CharField(help_text="Why its last moment made no run, or why it is paused.")


class ReportTimesSerializer(serializers.Serializer[Any]):
    times = serializers.ListField(child=serializers.DateTimeField(), help_text="When it would run next.")


class SchedulesView(ListView):
    needs = {"GET": SEE, "POST": RUN}

    @extend_schema(
        operation_id="report_schedules_list",
        tags=TAGS,
        parameters=[SEARCH, ordering_parameter(_SORTED), LIMIT, OFFSET],
        responses=page_serializer("ReportSchedulePage", ReportScheduleSerializer),
    )
    def get(self, request: Request, cluster: str) -> Response:
        rows = schedules_of(self.cluster).filter(name__icontains=self.text_of("search"))
        pages, found = self.cut(rows.order_by(self.ordering_of(_SORTED, "name"), "pk"))
        return self.page(pages, ReportScheduleSerializer(found, many=True).data)

    @extend_schema(
        operation_id="report_schedules_create",
        tags=TAGS,
        parameters=[DRY_RUN],
        request=described_requests("ReportScheduleRequest", ReportScheduleRequestSerializer),
        responses={200: ReportTimesSerializer, 201: ReportScheduleSerializer},
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Run a report by a cron expression in a time zone, with the rights of whoever asks. With
        dry_run=true: when that would be."""
        asked = ReportScheduleRequestSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        wish, now = schedule_wish(asked.validated_data), timezone.now()
        if self.is_dry_run:
            check_schedule(self.cluster, wish, now=now)
            found = islice(times(wish.cron, wish.wish.time_zone, now), _SHOWN_TIMES)
            return Response(ReportTimesSerializer({"times": list(found)}).data)
        schedule = do_create_schedule(self.cluster, wish, owner=Owner(self.actor, self.grants), now=now)
        return Response(ReportScheduleSerializer(schedule).data, 201)


class ScheduleView(ListView):
    needs = {"GET": SEE, "PATCH": RUN, "DELETE": RUN}

    @extend_schema(operation_id="report_schedules_get", tags=TAGS, responses=ReportScheduleSerializer)
    def get(self, request: Request, cluster: str, schedule: int) -> Response:
        return Response(ReportScheduleSerializer(get_schedule(self.cluster, schedule)).data)

    @extend_schema(
        operation_id="report_schedules_update",
        tags=TAGS,
        request=ReportScheduleRequestSerializer(partial=True),
        responses=ReportScheduleSerializer,
    )
    def patch(self, request: Request, cluster: str, schedule: int) -> Response:
        """What is not said stays; `is_enabled: false` pauses it. Whoever changes it is its owner from then
        on."""
        row = get_schedule(self.cluster, schedule)
        known = {name: getattr(row, name) for name in ("name", "cron", "last_hours", "is_enabled", *WISHED)}
        given = request.data if isinstance(request.data, dict) else {}
        if given.get("report", row.report) != row.report:
            known["options"] = {}
        asked = ReportScheduleRequestSerializer(data=known | given)
        asked.is_valid(raise_exception=True)
        wish, owner = schedule_wish(asked.validated_data), Owner(self.actor, self.grants)
        changed = do_change_schedule(row, wish, owner=owner, now=timezone.now())
        return Response(ReportScheduleSerializer(changed).data)

    @extend_schema(operation_id="report_schedules_delete", tags=TAGS, responses={204: None})
    def delete(self, request: Request, cluster: str, schedule: int) -> Response:
        """Its runs stay until their days are over."""
        do_delete_schedule(get_schedule(self.cluster, schedule), actor=self.actor, now=timezone.now())
        return Response(status=204)


class RunScheduleView(ListView):
    needs = {"POST": RUN}

    @extend_schema(
        operation_id="report_schedules_run",
        tags=TAGS,
        request=None,
        responses={202: ReportRunDetailSerializer},
    )
    def post(self, request: Request, cluster: str, schedule: int) -> Response:
        """Once, now, besides its times."""
        row: ReportSchedule = get_schedule(self.cluster, schedule)
        now = timezone.now()
        wish = with_known(self.cluster, wish_of(row, now))
        run = do_start_run(self.cluster, wish, actor=self.actor, now=now, origin=Origin(schedule=row))
        return Response(ReportRunDetailSerializer(run).data, 202)


_HERE = "clusters/<str:cluster>/reports/schedules/"

urlpatterns = [
    path(_HERE, SchedulesView.as_view(), name="report-schedules"),
    path(f"{_HERE}<int:schedule>/", ScheduleView.as_view(), name="report-schedule"),
    path(f"{_HERE}<int:schedule>/run/", RunScheduleView.as_view(), name="report-schedule-run"),
]

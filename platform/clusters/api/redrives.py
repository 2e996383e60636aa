"""REST: redrives of dead letters: asking for one, following it, calling it off.

    POST dlq/{group}/redrives/ (?dry_run=true)   GET redrives/   GET redrives/{id}/
    POST redrives/{id}/pause/ …/resume/ …/cancel/
    GET  redrives/{id}/outcomes/  …/export/?format=csv|json

Each letter has its outcome; a count alone would hide which failed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, ClassVar

import orjson
from django.http import HttpResponse
from django.urls import path
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions.dead_letters import csv_of
from clusters.actions.redrives import (
    RedriveRequest,
    do_cancel_redrive,
    do_create_redrive,
    do_pause_redrive,
    do_resume_redrive,
    get_redrive,
    plan_redrive,
    tallies_of,
    tally_of,
    visible_redrives,
)
from clusters.api.lists import DRY_RUN, LIMIT, OFFSET, ListView, ordering_parameter, page_serializer
from clusters.api.message_shapes import TopicField, reader_of
from clusters.api.messages import attachment
from clusters.models import Redrive, RedriveOutcome
from clusters.selectors.redriving import Tally
from console.core.fields import Int64Field
from console.core.models.people import Role
from console.core.needs import Need, Where
from console.core.problems import Problem

_SORTED = ("created_at", "group", "state")


class RedriveRequestSerializer(serializers.Serializer[Any]):
    all = serializers.BooleanField(default=False, help_text="Every dead letter that is there now.")
    selection = serializers.ListField(
        child=serializers.RegexField(r"^[0-9A-Fa-f]{32,56}$"),
        required=False,
        min_length=1,
        max_length=1000,
        help_text="Or these, by offset id.",
    )
    target = serializers.ChoiceField(
        Redrive.Target.choices,
        default=Redrive.Target.GROUP,
        help_text="group: the group alone; original: the topics they came from; topic: the one in `topic`.",
    )
    topic = TopicField(required=False)
    canary = serializers.IntegerField(min_value=0, max_value=1000, default=10)
    canary_window_s = serializers.IntegerField(
        min_value=0, max_value=86_400, default=60, help_text="How long to wait for the first to come back."
    )
    rate = serializers.IntegerField(min_value=1, max_value=500, default=50, help_text="Messages a second.")
    max_failure_share = serializers.FloatField(min_value=0, max_value=1, default=0.1)
    skips_redriven = serializers.BooleanField(
        default=True, help_text="Leave out what an earlier redrive has sent."
    )

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if values["all"] == ("selection" in values):
            raise serializers.ValidationError({"selection": "either all or a selection"})
        if (values["target"] == Redrive.Target.TOPIC) != ("topic" in values):
            raise serializers.ValidationError({"topic": "with the target `topic`, and only then"})
        return values


class TallySerializer(serializers.Serializer[Any]):
    sent = serializers.IntegerField()
    refused = serializers.IntegerField()
    unsure = serializers.IntegerField(help_text="Begun, not confirmed, not found: may have been sent.")
    came_back = serializers.IntegerField(help_text="Sent, and dead again.")
    skipped = serializers.IntegerField()
    under_way = serializers.IntegerField()


class RedriveSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    group = serializers.CharField()
    created_by = serializers.CharField()
    state = serializers.ChoiceField(Redrive.State.choices)
    reason = serializers.CharField(help_text="Why it stopped, or why it does not get on.")
    target = serializers.ChoiceField(Redrive.Target.choices)
    topic = serializers.CharField()
    canary = serializers.IntegerField()
    canary_window_s = serializers.IntegerField()
    canary_until = serializers.DateTimeField(allow_null=True)
    rate = serializers.IntegerField()
    max_failure_share = serializers.FloatField()
    total = Int64Field()
    position = Int64Field(help_text="Taken up so far.")
    outcomes = TallySerializer()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class RedrivePlanSerializer(serializers.Serializer[Any]):
    total = Int64Field()
    plan = serializers.ListField(child=serializers.CharField())


class CreateRedriveView(ListView):
    needs = {"POST": Need(Role.OPERATOR, Where.NAME)}
    name_kwarg = "group"

    @extend_schema(
        operation_id="redrives_create",
        tags=["dead letters"],
        parameters=[DRY_RUN],
        request=RedriveRequestSerializer,
        responses={200: RedrivePlanSerializer, 202: RedriveSerializer},
    )
    def post(self, request: Request, cluster: str, group: str) -> Response:
        """Send dead letters once more: `canary` first, then the rest at `rate`. It stops by itself when more
        than `max_failure_share` are refused, unsure or come back."""
        asked = RedriveRequestSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        wanted = _request(asked.validated_data)
        if self.is_dry_run:
            plan = plan_redrive(reader_of(self), group, wanted)
            return Response({"total": str(plan.total), "plan": plan.sentences})
        redrive = do_create_redrive(reader_of(self), group, wanted, now=timezone.now())
        return Response(redrive_json(redrive, Tally()), 202)


def _request(values: dict[str, Any]) -> RedriveRequest:
    selection = values.get("selection")
    return RedriveRequest(
        None if selection is None else tuple(dict.fromkeys(one.upper() for one in selection)),
        values["target"],
        values.get("topic", ""),
        values["canary"],
        values["canary_window_s"],
        values["rate"],
        values["max_failure_share"],
        values["skips_redriven"],
    )


class RedrivesView(ListView):
    needs = {"GET": Need(Role.VIEWER, Where.INSIDE)}

    @extend_schema(
        operation_id="redrives_list",
        tags=["dead letters"],
        parameters=[
            LIMIT,
            OFFSET,
            ordering_parameter(_SORTED),
            OpenApiParameter("group", str),
            OpenApiParameter("state", str, enum=Redrive.State.values),
        ],
        responses=page_serializer("RedrivePage", RedriveSerializer),
    )
    def get(self, request: Request, cluster: str) -> Response:
        """Redrives of groups that one may see, the newest first."""
        rows = visible_redrives(reader_of(self)).order_by(self.ordering_of(_SORTED, "-created_at"), "pk")
        if group := self.text_of("group"):
            rows = rows.filter(group=group)
        if state := self.text_of("state"):
            if state not in Redrive.State.values:
                raise Problem("invalid", f"{state!r} is no state of a redrive", 400, field="state")
            rows = rows.filter(state=state)
        pages, redrives = self.cut(rows)
        tallies = tallies_of(redrives)
        return self.page(pages, [redrive_json(redrive, tallies[redrive.pk]) for redrive in redrives])


class RedriveView(ListView):
    needs = {"GET": Need(Role.VIEWER, Where.INSIDE)}

    @extend_schema(operation_id="redrives_get", tags=["dead letters"], responses=RedriveSerializer)
    def get(self, request: Request, cluster: str, id: uuid.UUID) -> Response:
        redrive = get_redrive(reader_of(self), id)
        return Response(redrive_json(redrive, tally_of(redrive)))


class _ChangeView(ListView):
    needs = {"POST": Need(Role.OPERATOR, Where.INSIDE)}
    change: ClassVar[Callable[..., Redrive]]

    def changed(self, id: uuid.UUID) -> Response:
        reader = reader_of(self)
        redrive = type(self).change(reader, get_redrive(reader, id), now=timezone.now())
        return Response(redrive_json(redrive, tally_of(redrive)))


class PauseRedriveView(_ChangeView):
    change = staticmethod(do_pause_redrive)

    @extend_schema(
        operation_id="redrives_pause", tags=["dead letters"], request=None, responses=RedriveSerializer
    )
    def post(self, request: Request, cluster: str, id: uuid.UUID) -> Response:
        """What is under way is finished; nothing new is begun."""
        return self.changed(id)


class ResumeRedriveView(_ChangeView):
    change = staticmethod(do_resume_redrive)

    @extend_schema(
        operation_id="redrives_resume", tags=["dead letters"], request=None, responses=RedriveSerializer
    )
    def post(self, request: Request, cluster: str, id: uuid.UUID) -> Response:
        """One that was paused, or that stopped itself: its failures so far are accepted then."""
        return self.changed(id)


class CancelRedriveView(_ChangeView):
    change = staticmethod(do_cancel_redrive)

    @extend_schema(
        operation_id="redrives_cancel", tags=["dead letters"], request=None, responses=RedriveSerializer
    )
    def post(self, request: Request, cluster: str, id: uuid.UUID) -> Response:
        """It ends; what was sent stays sent."""
        return self.changed(id)


class OutcomeSerializer(serializers.ModelSerializer[RedriveOutcome]):
    position = Int64Field()
    queue_offset = Int64Field(allow_null=True)

    class Meta:
        model = RedriveOutcome
        fields = [
            "position",
            "offset_id",
            "msg_id",
            "state",
            "status",
            "topic",
            "new_msg_id",
            "new_offset_id",
            "queue",
            "queue_offset",
            "detail",
            "at",
        ]


class OutcomesView(ListView):
    needs = {"GET": Need(Role.VIEWER, Where.INSIDE)}

    @extend_schema(
        operation_id="redrives_outcomes",
        tags=["dead letters"],
        parameters=[LIMIT, OFFSET, OpenApiParameter("state", str, enum=RedriveOutcome.State.values)],
        responses=page_serializer("RedriveOutcomePage", OutcomeSerializer),
    )
    def get(self, request: Request, cluster: str, id: uuid.UUID) -> Response:
        """What became of every letter that was taken up."""
        rows = get_redrive(reader_of(self), id).outcomes.all()
        if state := self.text_of("state"):
            if state not in RedriveOutcome.State.values:
                raise Problem("invalid", f"{state!r} is no outcome", 400, field="state")
            rows = rows.filter(state=state)
        pages, outcomes = self.cut(rows)
        return self.page(pages, OutcomeSerializer(outcomes, many=True).data)


class OutcomeExportQuerySerializer(serializers.Serializer[Any]):
    format = serializers.ChoiceField(["csv", "json"], default="csv")


class OutcomeExportView(ListView):
    needs = {"GET": Need(Role.VIEWER, Where.INSIDE)}

    @extend_schema(
        operation_id="redrives_export",
        tags=["dead letters"],
        parameters=[OutcomeExportQuerySerializer],
        responses={
            (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR),
            (200, "application/json"): OutcomeSerializer(many=True),
        },
    )
    def get(self, request: Request, cluster: str, id: uuid.UUID) -> HttpResponse:
        """All outcomes as a file; cells that spreadsheets would run are quoted."""
        asked = OutcomeExportQuerySerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        redrive = get_redrive(reader_of(self), id)
        rows = OutcomeSerializer(redrive.outcomes.all(), many=True).data
        if asked.validated_data["format"] == "json":
            return attachment(orjson.dumps(rows), f"redrive-{id}.json", "application/json")
        columns = list(OutcomeSerializer.Meta.fields)
        cells = (["" if row[name] is None else str(row[name]) for name in columns] for row in rows)
        return attachment(csv_of(columns, cells).encode(), f"redrive-{id}.csv", "text/csv; charset=utf-8")


def redrive_json(redrive: Redrive, tally: Tally) -> dict[str, Any]:
    values = {name: getattr(redrive, name) for name in RedriveSerializer().fields if name != "outcomes"}
    return dict(RedriveSerializer(values | {"outcomes": asdict(tally)}).data)


_HERE = "clusters/<str:cluster>/redrives/"

urlpatterns = [
    path("clusters/<str:cluster>/dlq/<str:group>/redrives/", CreateRedriveView.as_view(), name="redrive-new"),
    path(_HERE, RedrivesView.as_view(), name="redrives"),
    path(f"{_HERE}<uuid:id>/", RedriveView.as_view(), name="redrive"),
    path(f"{_HERE}<uuid:id>/pause/", PauseRedriveView.as_view(), name="redrive-pause"),
    path(f"{_HERE}<uuid:id>/resume/", ResumeRedriveView.as_view(), name="redrive-resume"),
    path(f"{_HERE}<uuid:id>/cancel/", CancelRedriveView.as_view(), name="redrive-cancel"),
    path(f"{_HERE}<uuid:id>/outcomes/", OutcomesView.as_view(), name="redrive-outcomes"),
    path(f"{_HERE}<uuid:id>/export/", OutcomeExportView.as_view(), name="redrive-export"),
]

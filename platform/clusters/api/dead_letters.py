"""REST: dead letters: which groups have some, what they are, what they have in common, sending one again.

    GET  dlq/                                    groups with dead letters, from live rows
    GET  dlq/{group}/                            the letters, within a stated budget
    GET  dlq/{group}/signatures/                 by what they have in common
    GET  dlq/{group}/export/?format=csv|json
    POST dlq/{group}/messages/{id}/resend/       one, changed or as it is, to the group alone

A dead letter belongs to its group: rights are asked of the group's name.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
from django.db.models import F, QuerySet
from django.db.models.functions import Substr
from django.http import HttpResponse
from django.urls import path
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions.dead_letters import (
    as_csv,
    do_export_dead_letters,
    do_group_dead_letters,
    do_list_dead_letters,
)
from clusters.actions.messages import Scan
from clusters.actions.sends import do_resend_dead_letter
from clusters.api.cluster_view import ClusterView
from clusters.api.lists import (
    LIMIT,
    OFFSET,
    SEARCH,
    FreshnessSerializer,
    ListView,
    freshness,
    ordering_parameter,
    page_serializer,
)
from clusters.api.message_shapes import (
    MessageSerializer,
    SentSerializer,
    SqlField,
    iso,
    message_json,
    ms,
    reader_of,
    sent_json,
    sent_status,
)
from clusters.api.messages import PageSerializer, attachment, page_json, wanted_of
from clusters.api.sends import ContentSerializer, edits_of
from clusters.gateway.scanning import Budget
from clusters.models import LiveTopic, Redrive
from console.core.fields import Int64Field
from console.core.models.people import Role
from console.core.needs import Need, Where
from engine.protocol.names import DLQ_PREFIX

_SORTED = {
    "group": "group",
    "messages": "messages",
    "put_rate": "put_rate",
    "last_write_at": "last_write_at",
}
_LOOK = Need(Role.VIEWER, Where.NAME)
_EXPORT_BODY_BYTES = 64 * 1024


class DeadLetterGroupSerializer(serializers.Serializer[Any]):
    group = serializers.CharField()
    topic = serializers.CharField()
    messages = Int64Field(allow_null=True, help_text="null: not known.")
    put_rate = serializers.FloatField(allow_null=True, help_text="New ones per second.")
    last_write_at = serializers.DateTimeField(allow_null=True)
    redrive = serializers.CharField(allow_null=True, help_text="The state of one that is open.")


class DeadLetterGroupsView(ListView):
    needs = {"GET": Need(Role.VIEWER, Where.INSIDE)}

    @extend_schema(
        operation_id="dlq_list",
        tags=["dead letters"],
        parameters=[LIMIT, OFFSET, SEARCH, ordering_parameter(_SORTED)],
        responses=page_serializer(
            "DeadLetterGroupPage", DeadLetterGroupSerializer, freshness=FreshnessSerializer()
        ),
    )
    def get(self, request: Request, cluster: str) -> Response:
        """Groups that have dead letters, as the collector last saw them."""
        pages, topics = self.cut(self._rows())
        names = [topic.group for topic in topics]
        states = dict(
            Redrive.objects.filter(cluster=self.cluster, group__in=names, state__in=Redrive.OPEN).values_list(
                "group", "state"
            )
        )
        results = [
            {
                "group": topic.group,
                "topic": topic.name,
                "messages": None if topic.messages is None else str(topic.messages),
                "put_rate": topic.put_rate,
                "last_write_at": topic.last_write_at,
                "redrive": states.get(topic.group),
            }
            for topic in topics
        ]
        return self.page(pages, results, freshness=freshness(self.cluster))

    def _rows(self) -> QuerySet[Any]:
        asked = self.ordering_of(_SORTED, "-messages")
        field = F(asked.removeprefix("-"))
        order = field.desc(nulls_last=True) if asked.startswith("-") else field.asc(nulls_last=True)
        rows = LiveTopic.objects.filter(cluster=self.cluster, kind=LiveTopic.Kind.DLQ)
        rows = rows.exclude(messages=0).annotate(group=Substr("name", len(DLQ_PREFIX) + 1))
        rows = rows.filter(self.grants.names_filter(self.cluster.name, "group"))
        if text := self.text_of("search"):
            rows = rows.filter(group__icontains=text)
        return rows.order_by(order, "name")


class LetterQuerySerializer(serializers.Serializer[Any]):
    begin = serializers.DateTimeField(required=False)
    end = serializers.DateTimeField(required=False)
    key = serializers.CharField(required=False, max_length=255)
    tag = serializers.CharField(required=False, max_length=255)
    property = serializers.CharField(required=False, max_length=1024)
    body = serializers.CharField(required=False, max_length=1024)
    sql = SqlField(required=False)
    order = serializers.ChoiceField(["newest", "oldest"], default="newest")
    reasons = serializers.BooleanField(
        default=False, help_text="Look up how the last traced try ended: slower."
    )
    limit = serializers.IntegerField(min_value=1, max_value=100, default=32)
    max_scan = serializers.IntegerField(min_value=1, max_value=100_000, default=10_000)
    max_seconds = serializers.FloatField(min_value=0.1, max_value=10, default=3)


class DeadLetterSerializer(MessageSerializer):
    origin_id = serializers.CharField(help_text="The first message's offset id.")
    tries = serializers.IntegerField()
    reason = serializers.CharField(
        allow_null=True, help_text="EXCEPTION, TIME_OUT, FAILED …; null: not traced, so not known."
    )
    redriven = serializers.CharField(
        allow_null=True, help_text="What the last redrive that took it up made of it."
    )


class DeadLetterPageSerializer(PageSerializer):
    messages = DeadLetterSerializer(many=True)


class DeadLettersView(ClusterView):
    needs = {"GET": _LOOK}
    name_kwarg = "group"

    @extend_schema(
        operation_id="dlq_messages",
        tags=["dead letters"],
        parameters=[LetterQuerySerializer, OpenApiParameter("continue", str)],
        responses=DeadLetterPageSerializer,
    )
    def get(self, request: Request, cluster: str, group: str) -> Response:
        """The dead letters of a group, with where they came from and how often they were tried."""
        asked = LetterQuerySerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        values = asked.validated_data
        wanted = wanted_of(values, ms(values.get("begin")), ms(values.get("end")))
        budget = Budget(values["limit"], values["max_scan"], values["max_seconds"])
        found = do_list_dead_letters(
            reader_of(self),
            group,
            Scan("", wanted, budget, values["order"] == "newest"),
            request.query_params.get("continue"),
            with_reasons=values["reasons"],
            now=timezone.now(),
        )
        messages = [
            message_json(letter.shown)
            | {
                "origin_id": letter.origin_id,
                "tries": letter.shown.message.reconsume_times,
                "reason": letter.reason,
                "redriven": letter.redriven,
            }
            for letter in found.letters
        ]
        return Response(page_json(found.page) | {"messages": messages})


class SignatureSerializer(serializers.Serializer[Any]):
    topic = serializers.CharField()
    tag = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_null=True)
    key_stem = serializers.CharField(allow_null=True)
    count = serializers.IntegerField()
    first_at = serializers.DateTimeField(allow_null=True)
    last_at = serializers.DateTimeField(allow_null=True)
    samples = serializers.ListField(child=serializers.CharField(), help_text="Offset ids of the newest.")


class TriageSerializer(serializers.Serializer[Any]):
    signatures = SignatureSerializer(many=True)
    scanned = Int64Field()
    about = Int64Field()
    is_complete = serializers.BooleanField()
    reasons_for = serializers.IntegerField(help_text="Of so many letters the trace was looked up.")
    problems = serializers.ListField(child=serializers.CharField())


class TriageQuerySerializer(serializers.Serializer[Any]):
    max_scan = serializers.IntegerField(min_value=1, max_value=100_000, default=10_000)
    max_seconds = serializers.FloatField(min_value=0.1, max_value=10, default=5)
    reasons = serializers.BooleanField(default=True)


class SignaturesView(ClusterView):
    needs = {"GET": _LOOK}
    name_kwarg = "group"

    @extend_schema(
        operation_id="dlq_signatures",
        tags=["dead letters"],
        parameters=[TriageQuerySerializer],
        responses=TriageSerializer,
    )
    def get(self, request: Request, cluster: str, group: str) -> Response:
        """The dead letters by what they have in common: topic, tag, how the last traced try ended, stem of
        the key. The newest are looked at first; `is_complete` says whether all were."""
        asked = TriageQuerySerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        values = asked.validated_data
        budget = Budget(values["max_scan"], values["max_scan"], values["max_seconds"])
        triage = do_group_dead_letters(
            reader_of(self), group, budget, with_reasons=values["reasons"], now=timezone.now()
        )
        signatures = [
            {
                "topic": bundle.signature.topic,
                "tag": bundle.signature.tag,
                "reason": bundle.signature.reason,
                "key_stem": bundle.signature.key_stem,
                "count": bundle.count,
                "first_at": iso(bundle.first_ms),
                "last_at": iso(bundle.last_ms),
                "samples": list(bundle.samples),
            }
            for bundle in triage.bundles
        ]
        return Response(
            {
                "signatures": signatures,
                "scanned": str(triage.scanned),
                "about": str(triage.about),
                "is_complete": triage.is_complete,
                "reasons_for": triage.reasons_for,
                "problems": triage.problems,
            }
        )


class ExportQuerySerializer(serializers.Serializer[Any]):
    format = serializers.ChoiceField(["csv", "json"], default="csv")
    max_messages = serializers.IntegerField(min_value=1, max_value=10_000, default=1_000)


class ExportView(ClusterView):
    needs = {"GET": _LOOK}
    name_kwarg = "group"

    @extend_schema(
        operation_id="dlq_export",
        tags=["dead letters"],
        parameters=[ExportQuerySerializer],
        responses={
            (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR),
            (200, "application/json"): OpenApiResponse(OpenApiTypes.OBJECT),
        },
    )
    def get(self, request: Request, cluster: str, group: str) -> HttpResponse:
        """The oldest letters as a file. Cells that spreadsheets would run are quoted; a file that is not
        complete says so at its end."""
        asked = ExportQuerySerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        most = asked.validated_data["max_messages"]
        now = timezone.now()
        export = do_export_dead_letters(
            reader_of(self), group, Budget(most, most, 10), _EXPORT_BODY_BYTES, now=now
        )
        name = f"dead-letters-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        if asked.validated_data["format"] == "csv":
            return attachment(as_csv(export).encode(), f"{name}.csv", "text/csv; charset=utf-8")
        document = {
            "group": group,
            "about": str(export.about),
            "is_complete": export.is_complete,
            "messages": [message_json(shown) for shown in export.letters],
        }
        return attachment(orjson.dumps(document), f"{name}.json", "application/json")


class LetterResendView(ClusterView):
    needs = {"POST": Need(Role.OPERATOR, Where.NAME)}
    name_kwarg = "group"

    @extend_schema(
        operation_id="dlq_resend",
        tags=["dead letters"],
        request=ContentSerializer,
        responses={200: SentSerializer, 422: SentSerializer, 504: SentSerializer},
    )
    def post(self, request: Request, cluster: str, group: str, id: str) -> Response:
        """To the group alone that could not consume it. What is given replaces what is stored; what is not
        given stays as the stored bytes have it. The audit has digests of both bodies."""
        asked = ContentSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        sent = do_resend_dead_letter(reader_of(self), group, id, edits_of(asked.validated_data))
        return Response(sent_json(sent), sent_status(sent))


_HERE = "clusters/<str:cluster>/dlq/"

urlpatterns = [
    path(_HERE, DeadLetterGroupsView.as_view(), name="dlq"),
    path(f"{_HERE}<str:group>/", DeadLettersView.as_view(), name="dlq-messages"),
    path(f"{_HERE}<str:group>/signatures/", SignaturesView.as_view(), name="dlq-signatures"),
    path(f"{_HERE}<str:group>/export/", ExportView.as_view(), name="dlq-export"),
    path(f"{_HERE}<str:group>/messages/<str:id>/resend/", LetterResendView.as_view(), name="dlq-resend"),
]

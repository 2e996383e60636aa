"""REST: messages of a cluster: finding, reading, following, sending.

    GET  messages/?topic=…          by unique_key, by key, or by looking through within a stated budget
    GET  messages/queue/?topic=…    along one queue
    GET  messages/tail/?topic=…     what comes
    POST messages/                  send
    GET  messages/{id}/             one; ?full=true downloads its body
    POST messages/{id}/reveal/      without its masks, with a reason
    POST messages/{id}/resend/      the stored bytes again

Every answer about many says how far it looked; ids name places, rights are asked of what lies there.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import path
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions.messages import (
    KeySearch,
    Page,
    QueuePlace,
    Scan,
    do_browse_queue,
    do_find_by_id,
    do_find_by_key,
    do_scan_topic,
)
from clusters.actions.reading import do_download_body, do_reveal_message, do_show_message
from clusters.api.cluster_view import ClusterView
from clusters.api.message_shapes import MessageSerializer, SqlField, TopicField, message_json, ms, reader_of
from clusters.api.sends import SendPost
from clusters.api.tails import TailView
from clusters.api.traces import TraceView
from clusters.gateway.scanning import Budget, Wanted
from console.core.fields import Int64Field
from console.core.models.people import Role
from console.core.needs import Need, Where
from console.core.views import flag

LOOK = Need(Role.VIEWER, Where.INSIDE)
"""The topic stands in the query or in the message: actions look at the grants again."""


class FindSerializer(serializers.Serializer[Any]):
    topic = TopicField()
    unique_key = serializers.CharField(required=False, max_length=255, help_text="The producer's id.")
    key = serializers.CharField(required=False, max_length=255, help_text="A key, by the brokers' index.")
    begin = serializers.DateTimeField(required=False, help_text="Stored at or after.")
    end = serializers.DateTimeField(required=False, help_text="Stored before.")
    tag = serializers.CharField(required=False, max_length=255)
    property = serializers.CharField(required=False, max_length=1024, help_text="`name` or `name=value`.")
    body = serializers.CharField(required=False, max_length=1024, help_text="Text that the body holds.")
    sql = SqlField(required=False)
    order = serializers.ChoiceField(["newest", "oldest"], default="newest")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=32)
    max_scan = serializers.IntegerField(
        min_value=1, max_value=100_000, default=10_000, help_text="Messages to look at in this request."
    )
    max_seconds = serializers.FloatField(min_value=0.1, max_value=10, default=3)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if "unique_key" in values and "key" in values:
            raise serializers.ValidationError({"key": "either key or unique_key"})
        if "begin" in values and "end" in values and values["begin"] >= values["end"]:
            raise serializers.ValidationError({"end": "not after begin"})
        return values


_CONTINUE = OpenApiParameter("continue", str, description="The token of the answer before, to go on with.")


class PageSerializer(serializers.Serializer[Any]):
    messages = MessageSerializer(many=True)
    scanned = Int64Field(allow_null=True, help_text="In this search so far; null when an index was asked.")
    about = Int64Field(allow_null=True, help_text="How many there were to look at when it began.")
    stopped = serializers.ChoiceField(
        ["found_enough", "scan_budget", "time_budget", "end", "problem"], help_text="Why it stopped."
    )
    is_complete = serializers.BooleanField(help_text="Everything that was asked for was looked at.")
    note = serializers.CharField(help_text="The same in words.")
    problems = serializers.ListField(child=serializers.CharField(), help_text="What could not be read.")
    withheld = serializers.IntegerField(help_text="Passed over unread, because masks hide them from you.")

    def get_fields(self) -> dict[str, Any]:
        # A field of this name cannot be written as an attribute.
        fields = super().get_fields()
        fields["continue"] = serializers.CharField(allow_null=True)
        return fields


class MessagesView(SendPost, ClusterView):
    needs = {"GET": LOOK, "POST": Need(Role.OPERATOR, Where.INSIDE)}

    @extend_schema(
        operation_id="messages_find",
        tags=["messages"],
        parameters=[FindSerializer, _CONTINUE],
        responses=PageSerializer,
    )
    def get(self, request: Request, cluster: str) -> Response:
        """Messages of a topic: by the producer's id, by key, or by looking through what is left of time, tag,
        property, SQL92 and body text, within `max_scan` and `max_seconds`. It says how far it looked;
        `continue` goes on there."""
        asked = FindSerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        return Response(page_json(self._found(asked.validated_data, request.query_params.get("continue"))))

    def _found(self, asked: dict[str, Any], token: str | None) -> Page:
        reader, now = reader_of(self), timezone.now()
        topic, begin, end = asked["topic"], ms(asked.get("begin")), ms(asked.get("end"))
        if "unique_key" in asked:
            return do_find_by_id(reader, topic, asked["unique_key"], now=now)
        if "key" in asked and not asked.keys() & {"tag", "property", "body", "sql"}:
            return do_find_by_key(reader, KeySearch(topic, asked["key"], begin or 0, end), token, now=now)
        return do_scan_topic(reader, _scan(asked, begin, end), token, now=now)


def _scan(asked: dict[str, Any], begin: int | None, end: int | None) -> Scan:
    budget = Budget(asked["limit"], asked["max_scan"], asked["max_seconds"])
    return Scan(asked["topic"], wanted_of(asked, begin, end), budget, asked["order"] == "newest")


def wanted_of(asked: dict[str, Any], begin: int | None, end: int | None) -> Wanted:
    name, separator, value = asked.get("property", "").partition("=")
    return Wanted(
        asked.get("key"),
        asked.get("tag"),
        name or None,
        value if separator else None,
        asked.get("body"),
        begin or 0,
        Wanted().to_ms if end is None else end,
        asked.get("sql"),
    )


class QueueQuerySerializer(serializers.Serializer[Any]):
    topic = TopicField()
    broker = serializers.CharField(max_length=127)
    queue = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    offset = Int64Field(required=False, minimum=0, help_text="From here on; backwards: before here.")
    direction = serializers.ChoiceField(["next", "previous"], default="next")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=32)


class QueuePageSerializer(serializers.Serializer[Any]):
    messages = MessageSerializer(many=True, help_text="In the order of the queue.")
    min_offset = Int64Field()
    max_offset = Int64Field(help_text="What the next message will get.")
    previous = Int64Field(allow_null=True, help_text="`offset` for direction=previous.")
    next = Int64Field(allow_null=True, help_text="`offset` for direction=next.")
    problems = serializers.ListField(child=serializers.CharField())


class QueueView(ClusterView):
    needs = {"GET": LOOK}

    @extend_schema(
        operation_id="messages_browse",
        tags=["messages"],
        parameters=[QueueQuerySerializer],
        responses=QueuePageSerializer,
    )
    def get(self, request: Request, cluster: str) -> Response:
        """One queue from an offset on, or what lies before it."""
        asked = QueueQuerySerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        values = asked.validated_data
        place = QueuePlace(
            values["topic"],
            values["broker"],
            values["queue"],
            values.get("offset"),
            values["limit"],
            values["direction"] == "previous",
        )
        page = do_browse_queue(reader_of(self), place, now=timezone.now())
        return Response(
            {
                "messages": [message_json(shown) for shown in page.shown],
                "min_offset": str(page.low),
                "max_offset": str(page.high),
                "previous": None if page.previous is None else str(page.previous),
                "next": None if page.following is None else str(page.following),
                "problems": page.problems,
            }
        )


class MessageView(ClusterView):
    needs = {"GET": LOOK}

    @extend_schema(
        operation_id="messages_get",
        tags=["messages"],
        parameters=[OpenApiParameter("full", bool, description="Download the whole body.")],
        responses={
            (200, "application/json"): MessageSerializer,
            (200, "application/octet-stream"): OpenApiResponse(OpenApiTypes.BINARY, "With full=true."),
        },
    )
    def get(self, request: Request, cluster: str, id: str) -> HttpResponse:
        """The message at the place that its offset id names. Ids that name other addresses than this
        cluster's brokers are refused."""
        if not flag(request, "full"):
            return Response(message_json(do_show_message(reader_of(self), id, now=timezone.now())))
        body = do_download_body(reader_of(self), id, now=timezone.now())
        return attachment(body, f"{id}.bin")


class RevealSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(min_length=3, max_length=500)


class RevealView(ClusterView):
    needs = {"POST": LOOK}

    @extend_schema(
        operation_id="messages_reveal",
        tags=["messages"],
        request=RevealSerializer,
        responses=MessageSerializer,
    )
    def post(self, request: Request, cluster: str, id: str) -> Response:
        """Without its masks. Who does it, and why, stands in the audit."""
        asked = RevealSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        reason = asked.validated_data["reason"]
        return Response(message_json(do_reveal_message(reader_of(self), id, reason, now=timezone.now())))


def attachment(body: bytes, name: str, content_type: str = "application/octet-stream") -> HttpResponse:
    """To be saved, never shown: whatever a body holds, no browser is to make anything of it."""
    answer = HttpResponse(body, content_type=content_type)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return answer


def page_json(page: Page) -> dict[str, Any]:
    return {
        "messages": [message_json(shown) for shown in page.shown],
        "scanned": None if page.scanned is None else str(page.scanned),
        "about": None if page.about is None else str(page.about),
        "stopped": page.stopped,
        "is_complete": page.is_complete,
        "note": page.note,
        "problems": page.problems,
        "withheld": page.withheld,
        "continue": page.token,
    }


_HERE = "clusters/<str:cluster>/messages/"

urlpatterns = [
    path(_HERE, MessagesView.as_view(), name="messages"),
    path(f"{_HERE}queue/", QueueView.as_view(), name="messages-queue"),
    path(f"{_HERE}tail/", TailView.as_view(), name="messages-tail"),
    path(f"{_HERE}<str:id>/", MessageView.as_view(), name="message"),
    path(f"{_HERE}<str:id>/reveal/", RevealView.as_view(), name="message-reveal"),
    path(f"{_HERE}<str:id>/trace/", TraceView.as_view(), name="message-trace"),
]

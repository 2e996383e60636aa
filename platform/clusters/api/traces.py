"""REST: the trace of one message, joined with its stored copies and where its groups stand."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions.traces import do_trace_message
from clusters.api.cluster_view import ClusterView
from clusters.api.message_shapes import MessageSerializer, TopicField, iso, message_json, reader_of
from console.core.models.people import Role
from console.core.needs import Need, Where


class EventSerializer(serializers.Serializer[Any]):
    at = serializers.DateTimeField(allow_null=True)
    kind = serializers.ChoiceField(["send", "store", "transaction", "wait", "try"])
    group = serializers.CharField(allow_null=True)
    is_ok = serializers.BooleanField(allow_null=True, help_text="null: not known.")
    took_ms = serializers.IntegerField(allow_null=True)
    text = serializers.CharField()
    attempt = serializers.IntegerField(allow_null=True, help_text="Of a try: which one, from 1 on.")
    code = serializers.CharField(allow_null=True, help_text="How it ended: SUCCESS, EXCEPTION, TIME_OUT …")
    host = serializers.CharField(allow_null=True, help_text="Of a send: where it was stored.")


class GroupStandSerializer(serializers.Serializer[Any]):
    group = serializers.CharField()
    has_passed = serializers.BooleanField(allow_null=True, help_text="By its committed offset.")


class StorySerializer(serializers.Serializer[Any]):
    msg_id = serializers.CharField()
    copies = MessageSerializer(many=True, help_text="Several when it was sent again.")
    events = EventSerializer(many=True)
    groups = GroupStandSerializer(many=True)
    doubts = serializers.ListField(child=serializers.CharField(), help_text="What is not known, and why.")


class TraceQuerySerializer(serializers.Serializer[Any]):
    topic = TopicField()


class TraceView(ClusterView):
    needs = {"GET": Need(Role.VIEWER, Where.INSIDE)}

    @extend_schema(
        operation_id="messages_trace",
        tags=["messages"],
        parameters=[
            TraceQuerySerializer,
            OpenApiParameter("id", str, OpenApiParameter.PATH, description="The producer's id (msg_id)."),
        ],
        responses=StorySerializer,
    )
    def get(self, request: Request, cluster: str, id: str) -> Response:
        """Sent, stored, waited, tried: as far as the brokers' log and the clients' traces tell. `doubts` says
        what cannot be known, for instance because a client does not trace."""
        asked = TraceQuerySerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        story = do_trace_message(reader_of(self), asked.validated_data["topic"], id, now=timezone.now())
        events = [
            {
                "at": iso(event.at_ms),
                "kind": event.kind,
                "group": event.group,
                "is_ok": event.is_ok,
                "took_ms": event.took_ms,
                "text": event.text,
                "attempt": event.attempt,
                "code": event.code,
                "host": event.host,
            }
            for event in story.events
        ]
        groups = [{"group": stand.group, "has_passed": stand.has_passed} for stand in story.groups]
        copies = [message_json(shown) for shown in story.copies]
        return Response(
            {
                "msg_id": story.msg_id,
                "copies": copies,
                "events": events,
                "groups": groups,
                "doubts": story.doubts,
            }
        )

"""REST: sending a message, and a stored one again."""

from __future__ import annotations

import base64
from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions.sends import Edits, do_resend_message, do_send_message
from clusters.api.cluster_view import ClusterView
from clusters.api.message_shapes import SentSerializer, TopicField, ms, reader_of, sent_json, sent_status
from clusters.gateway.sends import Outgoing
from console.core.models.people import Role
from console.core.needs import Need, Where

MAX_BODY_BYTES = 4 * 1024 * 1024
_SEND = Need(Role.OPERATOR, Where.INSIDE)
"""The topic stands in the body or in the message: actions look at the grants again."""


class ContentSerializer(serializers.Serializer[Any]):
    """What of a message can be written by hand."""

    body = serializers.CharField(required=False, trim_whitespace=False, help_text="As text.")
    body_base64 = serializers.CharField(required=False, help_text="Or as bytes.")
    tags = serializers.CharField(required=False, allow_blank=True, max_length=255)
    keys = serializers.ListField(
        child=serializers.RegexField(r"^\S+$", max_length=255), required=False, max_length=64
    )
    properties = serializers.DictField(
        child=serializers.CharField(max_length=8192), required=False, help_text="The application's own."
    )

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if "body" in values and "body_base64" in values:
            raise serializers.ValidationError({"body": "either body or body_base64"})
        body = _body(values)
        if body is not None and not 0 < len(body) <= MAX_BODY_BYTES:
            raise serializers.ValidationError({"body": f"1 to {MAX_BODY_BYTES} bytes"})
        return {name: value for name, value in values.items() if name != "body_base64"} | (
            {} if body is None else {"body": body}
        )


def _body(values: dict[str, Any]) -> bytes | None:
    if "body_base64" in values:
        try:
            return base64.b64decode(values["body_base64"], validate=True)
        except ValueError:  # binascii.Error is one; what is not ASCII is a plain one
            raise serializers.ValidationError({"body_base64": "not base64"}) from None
    return values["body"].encode() if "body" in values else None


class SendSerializer(ContentSerializer):
    topic = TopicField()
    delay_level = serializers.IntegerField(min_value=1, max_value=64, required=False)
    delay_ms = serializers.IntegerField(min_value=1, max_value=2**53, required=False)
    deliver_at = serializers.DateTimeField(required=False)
    sharding_key = serializers.CharField(
        required=False, max_length=255, help_text="Messages of one key go to one queue, in order."
    )
    is_transactional = serializers.BooleanField(default=False, help_text="Stored half, then committed.")

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        values = super().validate(values)
        if "body" not in values:
            raise serializers.ValidationError({"body": "body or body_base64 is needed"})
        if len(values.keys() & {"delay_level", "delay_ms", "deliver_at"}) > 1:
            raise serializers.ValidationError("one of delay_level, delay_ms and deliver_at")
        special = values.keys() & {"delay_level", "delay_ms", "deliver_at", "sharding_key"}
        if values["is_transactional"] and special:
            raise serializers.ValidationError({"is_transactional": f"not together with {min(special)}"})
        return values


class SendPost:
    """The POST of messages/, beside the GET of clusters.api.messages."""

    @extend_schema(
        operation_id="messages_send",
        tags=["messages"],
        request=SendSerializer,
        responses={200: SentSerializer, 422: SentSerializer, 504: SentSerializer},
    )
    def post(self: ClusterView, request: Request, cluster: str) -> Response:  # type: ignore[misc]
        """Send one message. It is tried once; the answer is what the broker said. 504 with `fate: unsure`
        means that it may have been stored."""
        asked = SendSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        values = asked.validated_data
        sent = do_send_message(reader_of(self), _outgoing(values))
        return Response(sent_json(sent), sent_status(sent))


def _outgoing(values: dict[str, Any]) -> Outgoing:
    return Outgoing(
        values["topic"],
        values["body"],
        values.get("tags") or None,
        tuple(values.get("keys", ())),
        values.get("properties", {}),
        values.get("delay_level", 0),
        values.get("delay_ms", 0),
        ms(values.get("deliver_at")) or 0,
        values.get("sharding_key"),
        values["is_transactional"],
    )


class ResendSerializer(serializers.Serializer[Any]):
    topic = TopicField(required=False, help_text="Another topic than the one that it was sent to.")


class ResendView(ClusterView):
    needs = {"POST": _SEND}

    @extend_schema(
        operation_id="messages_resend",
        tags=["messages"],
        request=ResendSerializer,
        responses={200: SentSerializer, 422: SentSerializer, 504: SentSerializer},
    )
    def post(self, request: Request, cluster: str, id: str) -> Response:
        """The stored bytes once more, with tags, keys and the application's properties. The new message says
        where it came from (SIGNALBOX_ORIGIN_TOPIC, SIGNALBOX_ORIGIN_ID)."""
        asked = ResendSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        sent = do_resend_message(reader_of(self), id, topic=asked.validated_data.get("topic"))
        return Response(sent_json(sent), sent_status(sent))


def edits_of(values: dict[str, Any]) -> Edits:
    keys = values.get("keys")
    return Edits(
        values.get("body"),
        values.get("tags"),
        None if keys is None else tuple(keys),
        values.get("properties"),
    )


urlpatterns = [
    path("clusters/<str:cluster>/messages/<str:id>/resend/", ResendView.as_view(), name="message-resend"),
]

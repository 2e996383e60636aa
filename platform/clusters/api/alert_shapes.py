"""What alerts look like in JSON."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from rest_framework import serializers

from clusters.gateway.mail import require_mail
from clusters.gateway.webhooks import read_url
from clusters.models import Alert, AlertChannel, AlertDelivery, AlertRule, AlertSilence
from console.core.fields import Int64Field

_PATTERN = re.compile(r"[A-Za-z0-9%|_.*-]+")
LONGEST_SILENCE = timedelta(days=90)


class PatternField(serializers.CharField):
    """Of names: `*` stands for anything."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=255, **options)

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not _PATTERN.fullmatch(text):
            raise serializers.ValidationError("letters, digits, %, |, -, _, . and * only", "pattern")
        return text


class AlertSerializer(serializers.Serializer[Any]):
    id = Int64Field()
    rule = serializers.CharField(source="rule.name")
    severity = serializers.CharField(source="rule.severity")
    cluster = serializers.CharField(source="cluster.name")
    subject = serializers.CharField()
    name = serializers.CharField()
    state = serializers.ChoiceField(Alert.State.choices)
    value = serializers.FloatField(allow_null=True)
    summary = serializers.CharField()
    since = serializers.DateTimeField()
    fired_at = serializers.DateTimeField(allow_null=True)
    resolved_at = serializers.DateTimeField(allow_null=True)
    seen_at = serializers.DateTimeField()
    is_silenced = serializers.BooleanField()


class AlertRuleSerializer(serializers.ModelSerializer[AlertRule]):
    id = Int64Field(read_only=True)
    cluster_pattern = PatternField(default="*")
    name_pattern = PatternField(default="*")
    threshold = serializers.FloatField(default=0, min_value=0, max_value=1e18)
    for_s = serializers.IntegerField(default=60, min_value=0, max_value=86_400)
    channels = serializers.SlugRelatedField(
        many=True, slug_field="name", queryset=AlertChannel.objects.all(), default=list
    )

    class Meta:
        model = AlertRule
        fields = [
            "id",
            "name",
            "kind",
            "cluster_pattern",
            "name_pattern",
            "threshold",
            "for_s",
            "severity",
            "channels",
            "is_enabled",
            "created_by",
            "created_at",
        ]
        read_only_fields = ["created_by", "created_at"]


class AlertChannelSerializer(serializers.ModelSerializer[AlertChannel]):
    """`url` and `secret` are taken and never given back."""

    id = Int64Field(read_only=True)
    url = serializers.CharField(write_only=True, required=False, max_length=2048)
    secret = serializers.CharField(write_only=True, required=False, max_length=255, min_length=8)
    recipients = serializers.ListField(child=serializers.EmailField(), required=False, max_length=20)
    has_secret = serializers.SerializerMethodField()

    class Meta:
        model = AlertChannel
        fields = [
            "id",
            "name",
            "kind",
            "url",
            "host",
            "secret",
            "has_secret",
            "recipients",
            "is_enabled",
            "created_by",
            "created_at",
        ]
        read_only_fields = ["host", "created_by", "created_at"]

    def get_has_secret(self, channel: AlertChannel) -> bool:
        return bool(channel.sealed_secret)

    def validate_url(self, url: str) -> str:
        read_url(url)
        return url

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        kind = data.get("kind", self.instance.kind if self.instance else None)
        if kind == AlertChannel.Kind.MAIL:
            require_mail()
            if not data.get("recipients", self.instance.recipients if self.instance else None):
                raise serializers.ValidationError({"recipients": "somebody must get the mail"})
        elif not data.get("url") and not (self.instance and self.instance.sealed_url):
            raise serializers.ValidationError({"url": "a webhook has an address"})
        return data


class AlertSilenceSerializer(serializers.ModelSerializer[AlertSilence]):
    id = Int64Field(read_only=True)
    cluster_pattern = PatternField(default="*")
    name_pattern = PatternField(default="*")
    rule = serializers.SlugRelatedField(
        slug_field="name", queryset=AlertRule.objects.all(), allow_null=True, default=None
    )
    reason = serializers.CharField(max_length=255, min_length=3)

    class Meta:
        model = AlertSilence
        fields = [
            "id",
            "cluster_pattern",
            "name_pattern",
            "rule",
            "starts_at",
            "ends_at",
            "reason",
            "created_by",
            "created_at",
        ]
        read_only_fields = ["created_by", "created_at"]

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if not data["starts_at"] < data["ends_at"] <= data["starts_at"] + LONGEST_SILENCE:
            raise serializers.ValidationError(
                {"ends_at": f"after it starts, and within {LONGEST_SILENCE.days} days"}
            )
        return data


class AlertDeliverySerializer(serializers.Serializer[Any]):
    id = Int64Field()
    channel = serializers.CharField(source="channel.name")
    alert = Int64Field(source="alert_id", allow_null=True)
    event = serializers.ChoiceField(AlertDelivery.Event.choices)
    state = serializers.ChoiceField(AlertDelivery.State.choices)
    attempts = serializers.IntegerField()
    error = serializers.CharField()
    created_at = serializers.DateTimeField()
    next_attempt_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class TestFireSerializer(serializers.Serializer[Any]):
    deliveries = AlertDeliverySerializer(many=True)
    is_complete = serializers.BooleanField()

"""Topics as the API writes and reads them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from clusters.actions.describing import ABOUT
from clusters.actions.topics import TopicWish
from clusters.api.lists import FreshnessSerializer
from clusters.models import LiveTopic
from console.core.fields import Int64Field, TopicNameField

__all__ = ["FreshnessSerializer"]

MAX_QUEUES = 1024
PERMS = {2: "write", 4: "read", 6: "read and write"}


class LabelsField(serializers.DictField):
    """A few short words about a thing."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=serializers.CharField(max_length=255, allow_blank=True), **options)

    def to_internal_value(self, data: Any) -> dict[str, str]:
        labels: dict[str, str] = super().to_internal_value(data)
        if len(labels) > 32 or any(not key or len(key) > 64 for key in labels):
            raise serializers.ValidationError("32 labels at most, names of 1 to 64 characters", "labels")
        return labels


class AboutSerializer(serializers.Serializer[Any]):
    owner = serializers.CharField(max_length=150, allow_blank=True, required=False)
    team = serializers.CharField(max_length=64, allow_blank=True, required=False)
    description = serializers.CharField(max_length=4000, allow_blank=True, required=False)
    labels = LabelsField(required=False)


class TopicChangeSerializer(AboutSerializer):
    read_queues = serializers.IntegerField(min_value=1, max_value=MAX_QUEUES, required=False)
    write_queues = serializers.IntegerField(min_value=1, max_value=MAX_QUEUES, required=False)
    perm = serializers.ChoiceField(list(PERMS.items()), required=False, help_text="4 read, 2 write, 6 both.")
    is_ordered = serializers.BooleanField(required=False)
    attributes = serializers.DictField(child=serializers.CharField(max_length=255), required=False)
    brokers = serializers.ListField(
        child=serializers.CharField(max_length=127),
        required=False,
        max_length=256,
        help_text="Names of broker groups; none means all masters.",
    )


class NewTopicSerializer(TopicChangeSerializer):
    name = TopicNameField()


class TopicRowSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(LiveTopic.Kind.choices)
    read_queues = serializers.IntegerField(allow_null=True, help_text="Of all brokers together.")
    write_queues = serializers.IntegerField(allow_null=True)
    perm = serializers.IntegerField(allow_null=True)
    is_ordered = serializers.BooleanField(allow_null=True)
    brokers = serializers.ListField(child=serializers.CharField())
    messages = Int64Field(allow_null=True, help_text="Kept messages; null: not known.")
    put_rate = serializers.FloatField(allow_null=True, help_text="Messages per second.")
    last_write_at = serializers.DateTimeField(allow_null=True)
    group_count = serializers.IntegerField(allow_null=True)
    lag = Int64Field(allow_null=True, help_text="Of all its groups together; null when one is not known.")
    is_live = serializers.BooleanField(help_text="Whether the collector has seen it on a broker.")
    owner = serializers.CharField(allow_blank=True)
    team = serializers.CharField(allow_blank=True)
    description = serializers.CharField(allow_blank=True)
    labels = serializers.DictField(child=serializers.CharField())
    document = serializers.CharField(allow_blank=True)
    is_favourite = serializers.BooleanField()


class QueueSerializer(serializers.Serializer[Any]):
    broker = serializers.CharField()
    queue = serializers.IntegerField()
    min = Int64Field()
    max = Int64Field()
    messages = Int64Field()


class DriftSerializer(serializers.Serializer[Any]):
    broker = serializers.CharField(allow_blank=True)
    field = serializers.CharField(allow_blank=True, help_text="Empty: the thing as a whole.")
    declared = serializers.CharField(allow_blank=True)
    live = serializers.CharField(allow_blank=True)


class TopicSerializer(TopicRowSerializer):
    queues = QueueSerializer(many=True)
    declared = serializers.JSONField(allow_null=True)
    drift = DriftSerializer(many=True)
    freshness = FreshnessSerializer()


def wish_of(name: str, given: dict[str, Any]) -> TopicWish:
    spec = {
        key: given[key]
        for key in ("read_queues", "write_queues", "perm", "is_ordered", "attributes")
        if key in given
    }
    about = {key: given[key] for key in ABOUT if key in given}
    return TopicWish(name, spec, tuple(given.get("brokers", ())), about)

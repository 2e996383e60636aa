"""Consumer groups as the API writes and reads them. Null is "not known", never zero."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from clusters.actions.describing import ABOUT
from clusters.actions.groups import GroupWish
from clusters.api.lists import FreshnessSerializer
from clusters.api.topic_shapes import AboutSerializer
from clusters.gateway.groups import FIELDS
from console.core.fields import GroupNameField, Int64Field


class GroupChangeSerializer(AboutSerializer):
    is_enabled = serializers.BooleanField(required=False, help_text="Whether its members may consume.")
    is_from_min_enabled = serializers.BooleanField(required=False)
    is_broadcast_enabled = serializers.BooleanField(required=False)
    is_ordered = serializers.BooleanField(required=False)
    retry_queues = serializers.IntegerField(min_value=0, max_value=1024, required=False)
    retry_max_times = serializers.IntegerField(min_value=-1, max_value=10_000, required=False)
    consume_timeout_min = serializers.IntegerField(min_value=1, max_value=10_080, required=False)
    slow_broker_id = serializers.IntegerField(min_value=0, max_value=2**31 - 1, required=False)
    notifies_members = serializers.BooleanField(required=False)


class NewGroupSerializer(GroupChangeSerializer):
    name = GroupNameField()


class GroupRowSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    topic_count = serializers.IntegerField(allow_null=True)
    lag = Int64Field(allow_null=True, help_text="Unread messages.")
    lag_is_partial = serializers.BooleanField(
        help_text="Some queue with messages has no committed offset: what is unread there is not known."
    )
    lag_s = serializers.FloatField(allow_null=True, help_text="Age of the oldest unread message, seconds.")
    oldest_unread_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was stored; null: nothing is unread, or not known."
    )
    consume_rate = serializers.FloatField(allow_null=True)
    eta_s = serializers.FloatField(allow_null=True, help_text="Until nothing is unread, at today's pace.")
    never_clears = serializers.BooleanField(help_text="Some queue's lag does not shrink.")
    member_count = serializers.IntegerField(allow_null=True)
    model = serializers.CharField(allow_blank=True)
    consume_type = serializers.CharField(allow_blank=True)
    is_sampled = serializers.BooleanField()
    is_live = serializers.BooleanField()
    owner = serializers.CharField(allow_blank=True)
    team = serializers.CharField(allow_blank=True)
    description = serializers.CharField(allow_blank=True)
    labels = serializers.DictField(child=serializers.CharField())
    document = serializers.CharField(allow_blank=True)
    is_favourite = serializers.BooleanField()


class QueueLagSerializer(serializers.Serializer[Any]):
    broker = serializers.CharField()
    queue = serializers.IntegerField()
    committed = Int64Field(allow_null=True)
    max = Int64Field(allow_null=True)
    lag = Int64Field(allow_null=True)
    lag_s = serializers.FloatField(allow_null=True)
    eta_s = serializers.FloatField(allow_null=True)
    never_clears = serializers.BooleanField()


class TopicReaderSerializer(serializers.Serializer[Any]):
    """A group on a topic; its queues are in what is told of the group."""

    group = serializers.CharField()
    topic = serializers.CharField()
    expression = serializers.CharField(allow_blank=True)
    lag = Int64Field(allow_null=True)
    lag_is_partial = serializers.BooleanField()
    lag_s = serializers.FloatField(allow_null=True)
    consume_rate = serializers.FloatField(allow_null=True)
    eta_s = serializers.FloatField(allow_null=True)
    never_clears = serializers.BooleanField()


class SubscriptionSerializer(TopicReaderSerializer):
    queues = QueueLagSerializer(many=True)


class LiveMemberSerializer(serializers.Serializer[Any]):
    client_id = serializers.CharField()
    address = serializers.CharField()
    language = serializers.CharField()
    version = serializers.CharField()


class GroupSerializer(GroupRowSerializer):
    members = LiveMemberSerializer(many=True, allow_null=True, help_text="Null: not sampled.")
    topics = SubscriptionSerializer(many=True)
    declared = serializers.JSONField(allow_null=True)
    freshness = FreshnessSerializer()


def wish_of(name: str, given: dict[str, Any]) -> GroupWish:
    spec = {key: given[key] for key in FIELDS if key in given}
    return GroupWish(name, spec, {key: given[key] for key in ABOUT if key in given})

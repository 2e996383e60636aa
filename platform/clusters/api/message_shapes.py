"""Serializers that all views of messages share: one message as a caller sees it, what a send came to."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers

from clusters.actions.reading import Reader, Shown
from clusters.api.cluster_view import ClusterView
from clusters.gateway.sends import Sent
from console.core.fields import Int64Field, TopicNameField
from engine.errors import Refused
from engine.protocol.names import MAX_RETRY_OR_DLQ_TOPIC_LENGTH
from engine.protocol.sql92 import sql_filter


class TopicField(TopicNameField):
    """Retry and dead-letter topics may be longer."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.max_length = MAX_RETRY_OR_DLQ_TOPIC_LENGTH
        self.validators = [
            validator for validator in self.validators if getattr(validator, "code", "") != "max_length"
        ]


class SqlField(serializers.CharField):
    """An SQL92 expression over properties, as subscriptions have it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            max_length=8192, help_text="SQL92 over properties: `price > 10 AND TAGS = 'paid'`.", **options
        )

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        try:
            sql_filter(text)
        except Refused as refusal:
            raise serializers.ValidationError(refusal.text, "sql") from None
        return text


class BodySerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(["json", "text", "binary", "damaged", "masked"])
    size = serializers.IntegerField(allow_null=True, help_text="Bytes of the whole body, decompressed.")
    is_cut = serializers.BooleanField(help_text="There is more: GET messages/{id}/?full=true.")
    text = serializers.CharField(allow_null=True)
    base64 = serializers.CharField(allow_null=True)
    detail = serializers.CharField()


class MessageSerializer(serializers.Serializer[Any]):
    offset_id = serializers.CharField(help_text="Where it lies: what messages/{id}/ takes.")
    msg_id = serializers.CharField(help_text="The id that its producer gave, the same through retries.")
    topic = serializers.CharField()
    origin_topic = serializers.CharField(help_text="Of a dead letter or a retry: the topic it was sent to.")
    broker = serializers.CharField()
    queue = serializers.IntegerField()
    queue_offset = Int64Field()
    commit_log_offset = Int64Field()
    born_at = serializers.DateTimeField(allow_null=True, help_text="By the producer's clock.")
    born_host = serializers.CharField()
    stored_at = serializers.DateTimeField(allow_null=True)
    store_host = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes of the stored record.")
    flag = serializers.IntegerField()
    is_compressed = serializers.BooleanField()
    reconsume_times = serializers.IntegerField()
    tags = serializers.CharField(allow_null=True)
    keys = serializers.ListField(child=serializers.CharField())
    properties = serializers.DictField(child=serializers.CharField())
    body = BodySerializer()
    is_masked = serializers.BooleanField(help_text="A rule hides some of it from you.")


class SentSerializer(serializers.Serializer[Any]):
    fate = serializers.ChoiceField(
        ["sent", "refused", "unsure"],
        help_text="unsure: its answer was lost, it may or may not be stored.",
    )
    status = serializers.CharField(help_text="As the broker said: SEND_OK, FLUSH_DISK_TIMEOUT …")
    msg_id = serializers.CharField()
    offset_id = serializers.CharField()
    topic = serializers.CharField()
    broker = serializers.CharField()
    queue = serializers.IntegerField(allow_null=True)
    queue_offset = Int64Field(allow_null=True)
    transaction = serializers.CharField(help_text="COMMIT, of a transactional message.")
    recall_handle = serializers.CharField()
    detail = serializers.CharField()
    rocketmq_code = serializers.IntegerField(allow_null=True)


def message_json(shown: Shown) -> dict[str, Any]:
    message = shown.message
    return {
        "offset_id": message.offset_id,
        "msg_id": message.msg_id,
        "topic": message.topic,
        "origin_topic": message.origin_topic,
        "broker": message.broker,
        "queue": message.queue,
        "queue_offset": str(message.queue_offset),
        "commit_log_offset": str(message.commit_log_offset),
        "born_at": iso(message.born_ms),
        "born_host": message.born_host,
        "stored_at": iso(message.stored_ms),
        "store_host": message.store_host,
        "size": message.size,
        "flag": message.flag,
        "is_compressed": message.is_compressed,
        "reconsume_times": message.reconsume_times,
        "tags": shown.tags,
        "keys": shown.keys,
        "properties": shown.properties,
        "body": asdict(shown.body),
        "is_masked": shown.is_masked,
    }


def sent_json(sent: Sent) -> dict[str, Any]:
    offset = None if sent.queue_offset is None else str(sent.queue_offset)
    return asdict(sent) | {"fate": sent.fate.value, "queue_offset": offset}


def sent_status(sent: Sent) -> int:
    """A refusal is the caller's to change; what is unsure is not a success."""
    return {"sent": 200, "refused": 422, "unsure": 504}[sent.fate.value]


def iso(moment_ms: int | None) -> str | None:
    """None too for a clock that names no year that we could write."""
    if moment_ms is None:
        return None
    try:
        moment = datetime.fromtimestamp(moment_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)


def reader_of(view: ClusterView) -> Reader:
    return Reader(view.cluster, view.grants, view.actor)

"""How changes on several brokers are answered: each broker's outcome, 200 or 201 only when all are fine."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers
from rest_framework.response import Response

from clusters.gateway.writes import BrokerOutcome

MULTI_STATUS = 207


class BrokerOutcomeSerializer(serializers.Serializer[Any]):
    broker = serializers.CharField()
    address = serializers.CharField(allow_blank=True)
    ok = serializers.BooleanField()
    detail = serializers.CharField(allow_blank=True, help_text="Why not; empty when it is fine.")
    read_back = serializers.JSONField(help_text="What the broker has now; null when it has none.")


class OutcomesSerializer(serializers.Serializer[Any]):
    brokers = BrokerOutcomeSerializer(many=True)
    is_complete = serializers.BooleanField(help_text="Whether every broker did it.")


class PlannedBrokerSerializer(serializers.Serializer[Any]):
    broker = serializers.CharField()
    address = serializers.CharField(allow_blank=True)
    change = serializers.ChoiceField(["create", "update", "delete", "none", "unknown"])
    now = serializers.JSONField(allow_null=True)
    then = serializers.JSONField(allow_null=True)
    detail = serializers.CharField(allow_blank=True)


class PlanSerializer(serializers.Serializer[Any]):
    brokers = PlannedBrokerSerializer(many=True)
    is_complete = serializers.BooleanField(help_text="Whether every broker said what it has.")


CHANGED = PolymorphicProxySerializer(
    component_name="ChangeAnswer",
    serializers=[OutcomesSerializer, PlanSerializer],
    resource_type_field_name=None,
)
"""Done, or with ?dry_run=true planned."""


def answered(outcomes: list[BrokerOutcome], status: int = 200, **extra: Any) -> Response:
    is_complete = all(one.ok for one in outcomes)
    body = {"brokers": [one.as_json() for one in outcomes], "is_complete": is_complete, **extra}
    return Response(body, status if is_complete else MULTI_STATUS)


def planned(rows: list[dict[str, Any]]) -> Response:
    return Response({"brokers": rows, "is_complete": all(row["change"] != "unknown" for row in rows)})

"""Settings of all brokers of a cluster in one answer: drift, differences, and what may be changed."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.brokers import OWN, SEE, TAGS
from clusters.api.cluster_view import ClusterView
from clusters.gateway import broker_groups
from clusters.gateway.addressing import address_of
from clusters.models import Cluster
from clusters.provisioning.inventory import spec_of
from clusters.provisioning.settings_rules import FOR_GOOD, RULES
from clusters.selectors import brokers as selectors
from clusters.selectors.broker_settings import Told, matrix
from console.core.models.people import Role


class BrokerSettingAnswerSerializer(serializers.Serializer[Any]):
    broker = serializers.CharField()
    broker_name = serializers.CharField()
    address = serializers.CharField()
    is_reachable = serializers.BooleanField()
    error = serializers.CharField(allow_blank=True)


class BrokerSettingCellSerializer(serializers.Serializer[Any]):
    broker = serializers.CharField()
    wanted = serializers.CharField(allow_null=True, help_text="By the console's rows; null: not said there.")
    running = serializers.CharField(allow_null=True, help_text="As the broker says; null: it does not say.")
    is_drifted = serializers.BooleanField()


class BrokerSettingLineSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    cells = BrokerSettingCellSerializer(many=True, help_text="In the order of the brokers.")
    is_drifted = serializers.BooleanField(help_text="Some broker runs with another value than it should.")
    is_different = serializers.BooleanField(help_text="Brokers run with different values.")
    rule = serializers.CharField(allow_null=True, help_text="What may be set; null: not by the console.")
    is_live = serializers.BooleanField(help_text="Changed while brokers run; else they restart in turn.")


class BrokerSettingsSerializer(serializers.Serializer[Any]):
    brokers = BrokerSettingAnswerSerializer(many=True)
    settings = BrokerSettingLineSerializer(many=True)


class BrokerSettingsView(ClusterView):
    needs = {"GET": SEE}

    @extend_schema(
        operation_id="broker_settings",
        tags=TAGS,
        summary="Settings of all brokers side by side, asked of each of them now.",
        responses=BrokerSettingsSerializer,
    )
    def get(self, request: Request, cluster: str) -> Response:
        rows = selectors.broker_rows(self.cluster)
        said = broker_groups.configs(address_of(self.cluster), [row.address for row in rows])
        answers = {at: answer if isinstance(answer, dict) else None for at, answer in said.items()}
        told = [Told(row.label, _wanted(row), answers[row.address]) for row in rows]
        hidden = frozenset() if self.grants.may(Role.ADMIN, cluster) else OWN
        is_ours = self.cluster.kind == Cluster.Kind.MANAGED
        body = {
            "brokers": [_answer(row, said[row.address]) for row in rows],
            "settings": [
                line | _rule(line["key"], is_ours) for line in matrix(told) if line["key"] not in hidden
            ],
        }
        return Response(BrokerSettingsSerializer(body).data)


def _wanted(row: selectors.BrokerRow) -> dict[str, str]:
    return {} if row.process is None else dict(spec_of(row.process).settings)


def _answer(row: selectors.BrokerRow, said: Any) -> dict[str, Any]:
    is_reachable = isinstance(said, dict)
    return {
        "broker": row.label,
        "broker_name": row.broker_name,
        "address": row.address,
        "is_reachable": is_reachable,
        "error": "" if is_reachable else said.text,
    }


def _rule(key: str, is_ours: bool) -> dict[str, Any]:
    rule = RULES.get(key)
    if rule is None or not is_ours or key in FOR_GOOD:
        return {"rule": None, "is_live": False}
    return {"rule": rule.words, "is_live": rule.is_live}


urlpatterns = [path("clusters/<str:cluster>/broker_settings/", BrokerSettingsView.as_view())]

"""Brokers: processes beside live figures, settings with their drift, write permission, log tails."""

from __future__ import annotations

import time
from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions import broker_processes as actions
from clusters.api.cluster_shapes import ProcessSerializer, process
from clusters.api.lists import DRY_RUN, FreshnessSerializer, ListView, freshness
from clusters.api.outcomes import MULTI_STATUS, OutcomesSerializer
from clusters.gateway import broker_groups
from clusters.gateway.addressing import address_of
from clusters.provisioning.inventory import name_server_addresses, spec_of
from clusters.selectors import brokers as selectors
from clusters.selectors.brokers import BrokerRow
from clusters.selectors.live import INT64
from console.core.fields import Int64Field
from console.core.int64 import as_texts
from console.core.models.people import Role
from console.core.needs import Need, Where
from console.core.problems import Problem

TAGS = ["brokers"]
SEE = Need(Role.VIEWER, Where.INSIDE)
OWN = {"namesrvAddr", "storePathRootDir", "logDir", "signalboxClusterSecretFile", "signalboxSecretKeyFile"}
"""Shown to administrators alone: paths of hosts."""


@extend_schema_field(OpenApiTypes.OBJECT)
class SaidField(serializers.JSONField):
    """What a broker says about itself, with 64-bit numbers as strings."""

    def to_representation(self, value: Any) -> Any:
        return as_texts(value, INT64)


class LiveSerializer(serializers.Serializer[Any]):
    role = serializers.CharField(allow_blank=True)
    member = serializers.IntegerField(help_text="brokerId on the wire: the master is 0.")
    version = serializers.CharField(allow_blank=True)
    epoch = Int64Field(allow_null=True)
    ha = SaidField()
    rates = serializers.JSONField()
    disk_ratio = serializers.FloatField(allow_null=True)
    retention = SaidField(
        allow_null=True, help_text="When segments are deleted and writes refused; null: not known."
    )
    damage = SaidField(
        allow_null=True, help_text="Damaged records; null: none were found, or (without retention) not known."
    )
    certificate = SaidField(allow_null=True, help_text="Of its TLS port; null: none, or not known.")
    log = SaidField()
    booted_at = serializers.DateTimeField(allow_null=True)
    sampled_at = serializers.DateTimeField(allow_null=True)
    is_reachable = serializers.BooleanField()
    error = serializers.CharField(allow_blank=True)


class BrokerSerializer(serializers.Serializer[Any]):
    label = serializers.CharField()
    broker_name = serializers.CharField()
    address = serializers.CharField()
    is_master = serializers.BooleanField(allow_null=True, help_text="As it should be; null: not ours to say.")
    process = ProcessSerializer(allow_null=True)
    live = LiveSerializer(allow_null=True, help_text="Null: the collector has not seen it.")


class BrokersSerializer(serializers.Serializer[Any]):
    results = BrokerSerializer(many=True)
    name_servers = ProcessSerializer(many=True)
    freshness = FreshnessSerializer()


def shown(row: BrokerRow, name_servers: list[str]) -> dict[str, Any]:
    own = row.process
    return {
        "label": row.label,
        "broker_name": row.broker_name,
        "address": row.address,
        "is_master": None if own is None else own.is_master,
        "process": None if own is None else process(own, name_servers),
        "live": None if row.live is None else LiveSerializer(row.live).data,
    }


class BrokersView(ListView):
    needs = {"GET": SEE}

    @extend_schema(
        operation_id="brokers_list",
        tags=TAGS,
        summary="Brokers and name servers: what should run beside what was last seen.",
        responses=BrokersSerializer,
    )
    def get(self, request: Request, cluster: str) -> Response:
        servers = selectors.name_servers(self.cluster)
        addresses = [server.address for server in servers]
        body = {
            "results": [shown(row, addresses) for row in selectors.broker_rows(self.cluster)],
            "name_servers": [process(server, addresses) for server in servers],
            "freshness": freshness(self.cluster),
        }
        return Response(body)


class BrokerView(ListView):
    needs = {"GET": SEE}

    @extend_schema(operation_id="brokers_read", tags=TAGS, summary="One broker.", responses=BrokerSerializer)
    def get(self, request: Request, cluster: str, broker: str) -> Response:
        row = selectors.get_broker(self.cluster, broker)
        return Response(shown(row, name_server_addresses(self.cluster)))


class SettingSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    wanted = serializers.CharField(allow_null=True, help_text="By the console's rows; null: not said there.")
    running = serializers.CharField(allow_null=True, help_text="As the broker says; null: it says nothing.")
    is_drifted = serializers.BooleanField()


class SettingsSerializer(serializers.Serializer[Any]):
    broker = serializers.CharField()
    address = serializers.CharField()
    is_reachable = serializers.BooleanField()
    error = serializers.CharField(allow_blank=True)
    settings = SettingSerializer(many=True)
    different = serializers.ListField(child=serializers.CharField(), help_text="Keys that drifted.")


class BrokerConfigView(ListView):
    needs = {"GET": SEE}

    @extend_schema(
        operation_id="brokers_config",
        tags=TAGS,
        summary="Settings of one broker as they should be and as it says they are.",
        responses=SettingsSerializer,
    )
    def get(self, request: Request, cluster: str, broker: str) -> Response:
        row = selectors.get_broker(self.cluster, broker)
        wanted = {} if row.process is None else dict(spec_of(row.process).settings)
        said = broker_groups.configs(address_of(self.cluster), [row.address])[row.address]
        running = said if isinstance(said, dict) else {}
        is_admin = self.grants.may(Role.ADMIN, cluster)
        rows = [each for each in compare(wanted, running) if is_admin or each["key"] not in OWN]
        body = {
            "broker": row.label,
            "address": row.address,
            "is_reachable": isinstance(said, dict),
            "error": "" if isinstance(said, dict) else said.text,
            "settings": rows,
            "different": [each["key"] for each in rows if each["is_drifted"]],
        }
        return Response(body)


NOT_COMPARED = frozenset({"signalboxProfile", "brokerRole"})
"""A profile is not a running broker's setting, and who is master is the group's own affair."""


def compare(wanted: dict[str, str], running: dict[str, str]) -> list[dict[str, Any]]:
    """Pure. Without an answer nothing is said to have drifted."""
    return [
        {
            "key": key,
            "wanted": wanted.get(key),
            "running": running.get(key),
            "is_drifted": bool(running)
            and key in wanted
            and key not in NOT_COMPARED
            and wanted[key] != running.get(key),
        }
        for key in sorted({*wanted, *running})
    ]


class PermissionSerializer(serializers.Serializer[Any]):
    is_writable = serializers.BooleanField()


class WritePermissionView(ListView):
    needs = {"PUT": Need(Role.OPERATOR, Where.CLUSTER)}

    @extend_schema(
        operation_id="brokers_write_permission",
        tags=TAGS,
        summary="Let a broker group take writes, or refuse them; read back from its master.",
        parameters=[DRY_RUN],
        request=PermissionSerializer,
        responses={200: OutcomesSerializer, 207: OutcomesSerializer},
    )
    def put(self, request: Request, cluster: str, group: str) -> Response:
        form = PermissionSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        row, wanted = selectors.master_of(self.cluster, group), form.validated_data["is_writable"]
        about = {"broker": group, "address": row.address, "detail": ""}
        if self.is_dry_run:
            planned = {**about, "ok": True, "read_back": None, "detail": "would be changed"}
            return Response({"brokers": [planned], "is_complete": True})
        done = actions.do_permit_writes(self.cluster, group, row.address, wanted, actor=self.actor)
        outcome = {**about, "ok": done.is_ok, "read_back": {"brokerPermission": done.read_back}}
        body = {"brokers": [outcome], "is_complete": done.is_ok}
        return Response(body, 200 if done.is_ok else MULTI_STATUS)


class LogSerializer(serializers.Serializer[Any]):
    process = serializers.CharField()
    host = serializers.CharField()
    lines = serializers.ListField(child=serializers.CharField())
    is_cut = serializers.BooleanField(help_text="There is more before these lines.")
    size_bytes = Int64Field()


class ProcessLogView(ListView):
    needs = {"GET": Need(Role.OPERATOR, Where.CLUSTER)}

    @extend_schema(
        operation_id="processes_log",
        tags=TAGS,
        summary="The last lines that a broker or name server wrote, read by its host's agent.",
        parameters=[
            OpenApiParameter("lines", int, description="2,000 at most."),
            OpenApiParameter("kind", str, enum=["log", "out"]),
        ],
        responses=LogSerializer,
    )
    def get(self, request: Request, cluster: str, process: str) -> Response:
        kind, text = self.text_of("kind") or "log", self.text_of("lines") or "200"
        if kind not in ("log", "out"):
            raise Problem("invalid", "kind is log or out", 400, field="kind")
        if not (text.isdigit() and 0 < len(text) < 6 and 1 <= int(text) <= actions.MOST_LINES):
            raise Problem("invalid", f"lines is from 1 to {actions.MOST_LINES}", 400, field="lines")
        found = actions.read_log(
            self.cluster, process, kind, int(text), timezone.now(), pause=lambda: time.sleep(0.05)
        )
        return Response(found)


urlpatterns = [
    path("clusters/<str:cluster>/brokers/", BrokersView.as_view()),
    path("clusters/<str:cluster>/brokers/<str:broker>/", BrokerView.as_view()),
    path("clusters/<str:cluster>/brokers/<str:broker>/config/", BrokerConfigView.as_view()),
    path("clusters/<str:cluster>/broker_groups/<str:group>/write_permission/", WritePermissionView.as_view()),
    path("clusters/<str:cluster>/processes/<str:process>/log/", ProcessLogView.as_view()),
]

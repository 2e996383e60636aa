"""How clusters look in JSON, and what a request for one may say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Q
from rest_framework import serializers

from clusters.actions.clusters import ClusterRequest
from clusters.models import Broker, BrokerGroup, Cluster, NameServer, Operation
from clusters.provisioning.settings_rules import checked
from clusters.provisioning.states import is_drifted

ORDERINGS = ("name", "created_at", "kind", "profile")


class LabelsField(serializers.DictField):
    """A few short texts by name."""

    child = serializers.CharField(max_length=255, allow_blank=True)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        labels: dict[str, Any] = super().to_internal_value(data)
        if len(labels) > 64 or any(len(key) > 64 for key in labels):
            raise serializers.ValidationError("64 labels with names of 64 characters at most", "labels")
        return labels


class OverridesField(serializers.DictField):
    """Keys of broker.conf that the console may set (docs/provisioning.md)."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        return checked(super().to_internal_value(data), self.field_name or "overrides")


class NewClusterSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(["managed"], default="managed")
    name = serializers.CharField(max_length=63)
    name_servers = serializers.IntegerField(min_value=1, max_value=9, default=1)
    groups = serializers.IntegerField(min_value=1, max_value=64, default=1)
    group_names = serializers.ListField(
        child=serializers.CharField(max_length=63),
        max_length=64,
        required=False,
        help_text="In place of groups.",
    )
    slaves = serializers.IntegerField(min_value=0, max_value=8, default=0, help_text="Of each group.")
    hosts = serializers.ListField(
        child=serializers.CharField(max_length=63), min_length=1, max_length=500, required=False
    )
    profile = serializers.ChoiceField(Cluster.Profile.choices, default=Cluster.Profile.FAST)
    access_control = serializers.ChoiceField(
        Cluster.AccessControl.choices,
        required=False,
        help_text="Left out: on with the profile safe, off without.",
    )
    overrides = OverridesField(default=dict)
    release = serializers.CharField(max_length=63, default="builtin")
    allow_same_host = serializers.BooleanField(default=False)
    needs_approval = serializers.BooleanField(default=False)
    labels = LabelsField(default=dict)
    broker_cluster_name = serializers.CharField(max_length=63, default="DefaultCluster")


def cluster_request(values: dict[str, Any]) -> ClusterRequest:
    given = {name: value for name, value in values.items() if name not in ("kind", "group_names")}
    if values.get("group_names"):
        given["groups"] = values["group_names"]
    return ClusterRequest(**given)


class AttachSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(["attached"])
    name = serializers.CharField(max_length=63)
    name_servers = serializers.ListField(
        child=serializers.CharField(max_length=300), min_length=1, max_length=16
    )
    broker_cluster_name = serializers.CharField(max_length=127, default="", allow_blank=True)
    access_key = serializers.CharField(max_length=255, default="", allow_blank=True)
    secret_key = serializers.CharField(max_length=1000, default="", allow_blank=True, write_only=True)
    uses_tls = serializers.BooleanField(default=False)
    labels = LabelsField(default=dict)


class ClusterChangesSerializer(serializers.Serializer[Any]):
    labels = LabelsField(required=False)
    needs_approval = serializers.BooleanField(required=False)
    repairs_drift = serializers.BooleanField(required=False)


class ClusterSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(Cluster.Kind.choices)
    flavour = serializers.ChoiceField(Cluster.Flavour.choices)
    profile = serializers.ChoiceField(Cluster.Profile.choices)
    broker_cluster_name = serializers.CharField()
    release = serializers.CharField()
    labels = LabelsField()
    needs_approval = serializers.BooleanField()
    repairs_drift = serializers.BooleanField()
    access_control = serializers.ChoiceField(Cluster.AccessControl.choices)
    has_access_control = serializers.BooleanField(help_text="Whether access control is on.")
    uses_tls = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    deleted_at = serializers.DateTimeField(allow_null=True)
    groups = serializers.IntegerField(allow_null=True, help_text="Null: an attached cluster's are live rows.")
    brokers = serializers.IntegerField(allow_null=True)
    brokers_running = serializers.IntegerField(allow_null=True)
    name_servers = serializers.IntegerField()
    open_operation = serializers.UUIDField(allow_null=True)


SHOWN = (
    "name",
    "kind",
    "flavour",
    "profile",
    "broker_cluster_name",
    "release",
    "labels",
    "needs_approval",
    "repairs_drift",
    "access_control",
    "has_access_control",
    "uses_tls",
    "created_at",
    "deleted_at",
)


def with_counts(rows: Sequence[Cluster]) -> list[tuple[Cluster, dict[str, Any]]]:
    """Four queries for any number of clusters."""
    ids = [row.pk for row in rows]
    groups = _counted(BrokerGroup, "cluster_id", ids)
    brokers = _counted(Broker, "group__cluster_id", ids, up=Count("pk", filter=Q(observed="running")))
    servers = _counted(NameServer, "cluster_id", ids)
    open_ones = dict(
        Operation.objects.filter(cluster_id__in=ids, state__in=Operation.OPEN)
        .order_by("created_at")
        .values_list("cluster_id", "pk")
    )
    return [(row, _about(row, groups, brokers, servers, open_ones)) for row in rows]


def _about(row: Cluster, groups: Any, brokers: Any, servers: Any, open_ones: Any) -> dict[str, Any]:
    is_managed = row.kind == Cluster.Kind.MANAGED
    return {
        "groups": groups.get(row.pk, (0,))[0] if is_managed else None,
        "brokers": brokers.get(row.pk, (0, 0))[0] if is_managed else None,
        "brokers_running": brokers.get(row.pk, (0, 0))[1] if is_managed else None,
        "name_servers": servers.get(row.pk, (0,))[0] if is_managed else len(row.name_server_addresses),
        "open_operation": open_ones.get(row.pk),
    }


def _counted(model: Any, field: str, ids: list[int], **more: Any) -> dict[int, tuple[int, ...]]:
    rows = model.objects.filter(**{f"{field}__in": ids}).order_by().values(field)
    rows = rows.annotate(total=Count("pk"), **more)
    return {row[field]: (row["total"], *(row[name] for name in more)) for row in rows}


def shown(row: Cluster, about: dict[str, Any]) -> dict[str, Any]:
    return {**{name: getattr(row, name) for name in SHOWN}, **about}


def shown_one(row: Cluster) -> dict[str, Any]:
    [(cluster, about)] = with_counts([row])
    return shown(cluster, about)


class ProcessSerializer(serializers.Serializer[Any]):
    label = serializers.CharField()
    host = serializers.CharField()
    address = serializers.CharField()
    desired = serializers.CharField()
    observed = serializers.CharField()
    observed_at = serializers.DateTimeField(allow_null=True)
    since = serializers.DateTimeField(allow_null=True)
    pid = serializers.IntegerField(allow_null=True)
    crash_count = serializers.IntegerField(help_text="In the last minutes.")
    next_start_at = serializers.DateTimeField(allow_null=True)
    last_exit = serializers.CharField(allow_blank=True)
    is_drifted = serializers.BooleanField(help_text="It runs with other settings than it should.")


def process(row: NameServer | Broker, name_servers: list[str]) -> dict[str, Any]:
    names = (
        "label",
        "address",
        "desired",
        "observed",
        "observed_at",
        "since",
        "pid",
        "next_start_at",
        "last_exit",
    )
    about = {name: getattr(row, name) for name in names}
    about |= {"host": row.host.name, "crash_count": len(row.crashes)}
    return about | {"is_drifted": is_drifted(row, name_servers)}


class BrokerMemberSerializer(ProcessSerializer):
    member = serializers.IntegerField()
    is_master = serializers.BooleanField()


class BrokerGroupSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    master_member = serializers.IntegerField()
    is_draining = serializers.BooleanField()
    overrides = serializers.JSONField()
    members = BrokerMemberSerializer(many=True)


class ClusterDetailSerializer(ClusterSerializer):
    overrides = serializers.JSONField()
    name_server_addresses = serializers.ListField(child=serializers.CharField())
    broker_addresses = serializers.ListField(child=serializers.CharField())
    group_rows = BrokerGroupSerializer(many=True)
    name_server_rows = ProcessSerializer(many=True)
    access_key = serializers.CharField(allow_blank=True)


def detail(row: Cluster) -> dict[str, Any]:
    servers = list(row.name_servers.select_related("host", "cluster"))
    addresses = [each.address for each in servers] or list(row.name_server_addresses)
    return {
        **shown_one(row),
        "overrides": row.overrides,
        "access_key": row.access_key,
        "name_server_addresses": addresses,
        "broker_addresses": list(row.broker_addresses),
        "group_rows": [_group(group, addresses) for group in row.groups.all()],
        "name_server_rows": [process(each, addresses) for each in servers],
    }


def _group(group: BrokerGroup, name_servers: list[str]) -> dict[str, Any]:
    members = group.brokers.select_related("host", "group__cluster")
    return {
        "name": group.name,
        "master_member": group.master_member,
        "is_draining": group.is_draining,
        "overrides": group.overrides,
        "members": [
            process(each, name_servers) | {"member": each.member, "is_master": each.is_master}
            for each in members
        ],
    }

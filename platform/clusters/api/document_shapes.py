"""Declarative documents as they are written: strict, so that a key that is misspelt is not passed over."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from clusters.api.acl_shapes import AclPolicySerializer, UserNameField
from clusters.api.group_shapes import GroupChangeSerializer
from clusters.api.topic_shapes import LabelsField, TopicChangeSerializer
from clusters.models import AclUser, Cluster
from clusters.selectors.access_decisions import normal_entry
from console.core.fields import GroupNameField, TopicNameField
from console.core.problems import Problem

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


class StrictSerializer(serializers.Serializer[Any]):
    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = sorted(set(map(str, data)) - set(self.fields))
            if unknown:
                known = ", ".join(self.fields)
                raise serializers.ValidationError({unknown[0]: [f"unknown; there are {known}"]}, "unknown")
        return super().to_internal_value(data)


class DocumentTopicSerializer(StrictSerializer, TopicChangeSerializer):
    name = TopicNameField()


class DocumentGroupSerializer(StrictSerializer, GroupChangeSerializer):
    name = GroupNameField()


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "enum": ["generate"]},
            {
                "type": "object",
                "properties": {"cluster": {"type": "string"}, "user": {"type": "string"}},
                "required": ["cluster", "user"],
                "additionalProperties": False,
            },
        ]
    }
)
class SecretReferenceField(serializers.Field[Any, Any, Any, Any]):
    """`generate`, or the user whose secret it shares. Never a secret."""

    def to_internal_value(self, data: Any) -> Any:
        if data == "generate":
            return data
        is_reference = isinstance(data, dict) and set(data) == {"cluster", "user"}
        if is_reference and all(isinstance(text, str) and text for text in data.values()):
            return data
        raise serializers.ValidationError(
            "secrets do not belong in documents: say generate, or {cluster, user} whose secret it shares",
            "secret",
        )

    def to_representation(self, value: Any) -> Any:
        return value


class DocumentPolicySerializer(StrictSerializer, AclPolicySerializer):
    pass


class DocumentUserSerializer(StrictSerializer):
    name = UserNameField()
    kind = serializers.ChoiceField(AclUser.Kind.choices, default=AclUser.Kind.NORMAL)
    status = serializers.ChoiceField(AclUser.Status.choices, default=AclUser.Status.ENABLE)
    secret = SecretReferenceField(default="generate")
    labels = LabelsField(required=False)
    policies = DocumentPolicySerializer(many=True, default=list)

    def validate_policies(self, given: list[dict[str, Any]]) -> list[dict[str, Any]]:
        try:
            return [normal_entry(row, f"[{number}]") for number, row in enumerate(given)]
        except Problem as problem:
            where = problem.errors[0]["field"]
            raise serializers.ValidationError(f"{where}: {problem.detail}", "invalid") from None


class LayoutSerializer(StrictSerializer):
    name_servers = serializers.IntegerField(min_value=1, max_value=9, default=1)
    groups = serializers.IntegerField(min_value=1, max_value=64, default=1)
    slaves = serializers.IntegerField(min_value=0, max_value=8, default=0)
    hosts = serializers.ListField(child=serializers.CharField(max_length=64), required=False, max_length=64)
    profile = serializers.ChoiceField(Cluster.Profile.choices, default=Cluster.Profile.FAST)
    access_control = serializers.ChoiceField(Cluster.AccessControl.choices, required=False)
    overrides = serializers.DictField(child=serializers.CharField(max_length=1024), required=False)
    allow_same_host = serializers.BooleanField(default=False)


class DocumentClusterSerializer(StrictSerializer):
    name = serializers.CharField(max_length=64)
    layout = LayoutSerializer(
        required=False, help_text="Of a managed cluster; without it the cluster must exist."
    )
    labels = LabelsField(required=False)
    topics = DocumentTopicSerializer(many=True, default=list, max_length=20_000)
    groups = DocumentGroupSerializer(many=True, default=list, max_length=20_000)
    users = DocumentUserSerializer(many=True, default=list, max_length=20_000)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        for kind in ("topics", "groups", "users"):
            _refuse_doubles(given[kind], kind)
        return given


class DocumentSerializer(StrictSerializer):
    name = serializers.RegexField(NAME)
    prune = serializers.BooleanField(
        default=False, help_text="Delete what this document made before and no longer names."
    )
    clusters = DocumentClusterSerializer(many=True, allow_empty=False, max_length=100)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        _refuse_doubles(given["clusters"], "clusters")
        return given


def _refuse_doubles(rows: list[dict[str, Any]], kind: str) -> None:
    seen = set()
    for number, row in enumerate(rows):
        if row["name"] in seen:
            text = f"{row['name']} stands twice"
            raise serializers.ValidationError({f"{kind}[{number}].name": [text]}, "twice")
        seen.add(row["name"])


def checked_document(data: dict[str, Any]) -> dict[str, Any]:
    """Plain values, as JSON has them; a 400 names every field that is wrong."""
    form = DocumentSerializer(data=data)
    form.is_valid(raise_exception=True)
    return _plain(form.validated_data)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value

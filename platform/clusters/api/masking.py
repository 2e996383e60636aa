"""REST: rules that mask bodies and properties of messages.

    /masking/                      all rules, with patterns of clusters: for administrators of everything
    /clusters/{cluster}/masking/   those that hold for one cluster; rules of that cluster alone are made here

Who may see less than others may know that, and by which rule.
"""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions.masking import do_create_mask_rule, do_delete_mask_rule
from clusters.api.cluster_view import ClusterView
from clusters.models import MaskRule
from clusters.selectors.masking import is_path, rules_for
from console.core.fields import Int64Field
from console.core.models.people import PATTERN_LENGTH, Role
from console.core.needs import Need, Where
from console.core.problems import not_found
from console.core.views import PlatformView

_ROLES = {role.label: role.value for role in Role}
_PATTERN = r"^[A-Za-z0-9_.%|*?+-]+$"


@extend_schema_field({"type": "string", "enum": list(_ROLES)})
class RoleNameField(serializers.Field[Any, Any, Any, Any]):
    """Roles by name."""

    default_error_messages = {"invalid": f"one of {', '.join(_ROLES)}"}

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, str) or data not in _ROLES:
            self.fail("invalid")
        return _ROLES[data]

    def to_representation(self, value: Any) -> str:
        return str(Role(value).label)


class MaskRuleSerializer(serializers.Serializer[Any]):
    id = Int64Field(read_only=True)
    cluster_pattern = serializers.RegexField(_PATTERN, max_length=PATTERN_LENGTH)
    topic_pattern = serializers.RegexField(_PATTERN, max_length=PATTERN_LENGTH)
    up_to_role = RoleNameField(default=Role.OPERATOR, help_text="Who has at most this role is masked.")
    is_default = serializers.BooleanField(
        default=False, help_text="Holds for topics that no other rule names."
    )
    hides_body = serializers.BooleanField(default=False)
    json_paths = serializers.ListField(
        child=serializers.CharField(max_length=255),
        default=list,
        max_length=64,
        help_text="`card.number`, `items[*].iban`, `*.secret`. Bodies that are not JSON are hidden whole.",
    )
    properties = serializers.ListField(
        child=serializers.CharField(max_length=255), default=list, max_length=64
    )
    reveal_role = RoleNameField(default=Role.ADMIN, help_text="Who may look with a reason.")
    note = serializers.CharField(max_length=255, default="", allow_blank=True)
    created_by = serializers.CharField(read_only=True)
    created_at = serializers.DateTimeField(read_only=True)

    def validate_json_paths(self, paths: list[str]) -> list[str]:
        for text in paths:
            if not is_path(text):
                raise serializers.ValidationError(f"{text!r} is not a path like items[*].iban")
        return paths


class ClusterMaskRuleSerializer(MaskRuleSerializer):
    cluster_pattern = serializers.CharField(read_only=True)


class AllMaskRulesView(PlatformView):
    needs = {"GET": Need(Role.ADMIN, Where.PLATFORM), "POST": Need(Role.ADMIN, Where.PLATFORM)}

    @extend_schema(operation_id="masking_list_all", tags=["masking"], responses=MaskRuleSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Every rule."""
        return Response(MaskRuleSerializer(MaskRule.objects.all(), many=True).data)

    @extend_schema(
        operation_id="masking_create_anywhere",
        tags=["masking"],
        request=MaskRuleSerializer,
        responses={201: MaskRuleSerializer},
    )
    def post(self, request: Request) -> Response:
        """A rule for all clusters that its pattern names, those to come as well."""
        asked = MaskRuleSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        rule = do_create_mask_rule(asked.validated_data, actor=self.actor, now=timezone.now())
        return Response(MaskRuleSerializer(rule).data, 201)


class AnyMaskRuleView(PlatformView):
    needs = {"DELETE": Need(Role.ADMIN, Where.PLATFORM)}

    @extend_schema(operation_id="masking_delete_anywhere", tags=["masking"], responses={204: None})
    def delete(self, request: Request, rule: int) -> Response:
        do_delete_mask_rule(_rule(MaskRule.objects.all(), rule), actor=self.actor, now=timezone.now())
        return Response(status=204)


class MaskRulesView(ClusterView):
    needs = {"GET": Need(Role.VIEWER, Where.INSIDE), "POST": Need(Role.ADMIN, Where.CLUSTER)}

    @extend_schema(operation_id="masking_list", tags=["masking"], responses=MaskRuleSerializer(many=True))
    def get(self, request: Request, cluster: str) -> Response:
        """The rules that hold for this cluster: everybody may know that something is masked, and by whom."""
        return Response(MaskRuleSerializer(rules_for(self.cluster.name), many=True).data)

    @extend_schema(
        operation_id="masking_create",
        tags=["masking"],
        request=ClusterMaskRuleSerializer,
        responses={201: MaskRuleSerializer},
    )
    def post(self, request: Request, cluster: str) -> Response:
        """A rule for this cluster."""
        asked = ClusterMaskRuleSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        values = asked.validated_data | {"cluster_pattern": self.cluster.name}
        rule = do_create_mask_rule(values, actor=self.actor, now=timezone.now())
        return Response(MaskRuleSerializer(rule).data, 201)


class MaskRuleView(ClusterView):
    needs = {"DELETE": Need(Role.ADMIN, Where.CLUSTER)}

    @extend_schema(operation_id="masking_delete", tags=["masking"], responses={204: None})
    def delete(self, request: Request, cluster: str, rule: int) -> Response:
        """A rule of this cluster alone; one with a wider pattern is deleted at /masking/."""
        own = MaskRule.objects.filter(cluster_pattern=self.cluster.name)
        do_delete_mask_rule(_rule(own, rule), actor=self.actor, now=timezone.now())
        return Response(status=204)


def _rule(rules: QuerySet[MaskRule], number: int) -> MaskRule:
    rule = rules.filter(pk=number).first()
    if rule is None:
        raise not_found("masking rule", str(number))
    return rule


urlpatterns = [
    path("masking/", AllMaskRulesView.as_view(), name="all-mask-rules"),
    path("masking/<int:rule>/", AnyMaskRuleView.as_view(), name="any-mask-rule"),
    path("clusters/<str:cluster>/masking/", MaskRulesView.as_view(), name="mask-rules"),
    path("clusters/<str:cluster>/masking/<int:rule>/", MaskRuleView.as_view(), name="mask-rule"),
]

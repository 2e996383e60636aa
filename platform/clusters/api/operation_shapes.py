"""How operations, steps and plans look in JSON, and how a view answers with one."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response

from clusters.models import Operation, Step
from clusters.provisioning.plans.plan import Plan
from console.core.fields import Int64Field


class StepSerializer(serializers.ModelSerializer[Step]):
    id = Int64Field()
    host = serializers.SerializerMethodField()
    result = serializers.JSONField(read_only=True)

    class Meta:
        model = Step
        fields = (
            "id",
            "position",
            "kind",
            "summary",
            "host",
            "is_undo",
            "state",
            "attempts",
            "progress",
            "error",
            "result",
            "worker",
            "started_at",
            "finished_at",
        )
        read_only_fields = fields

    @extend_schema_field({"type": ["string", "null"]})
    def get_host(self, step: Step) -> str | None:
        return None if step.host is None else step.host.name


class OperationSerializer(serializers.ModelSerializer[Operation]):
    cluster = serializers.SerializerMethodField()
    plan = serializers.ListField(child=serializers.CharField())
    step_count = serializers.IntegerField(allow_null=True, default=None)
    done_count = serializers.IntegerField(allow_null=True, default=None)
    revision = serializers.CharField()

    class Meta:
        model = Operation
        fields = (
            "id",
            "cluster",
            "kind",
            "summary",
            "plan",
            "state",
            "error",
            "created_by",
            "created_at",
            "approved_by",
            "approved_at",
            "finished_at",
            "revision",
            "step_count",
            "done_count",
        )
        read_only_fields = fields

    @extend_schema_field({"type": ["string", "null"]})
    def get_cluster(self, operation: Operation) -> str | None:
        return None if operation.cluster is None else operation.cluster.name


class OperationDetailSerializer(OperationSerializer):
    steps = serializers.SerializerMethodField()

    class Meta(OperationSerializer.Meta):
        fields = (*OperationSerializer.Meta.fields, "request", "steps")
        read_only_fields = fields

    @extend_schema_field(StepSerializer(many=True))
    def get_steps(self, operation: Operation) -> Any:
        rows = operation.steps.select_related("host").order_by("is_undo", "position", "id")
        return StepSerializer(rows, many=True).data


class LineSerializer(serializers.Serializer[Any]):
    id = Int64Field()
    step = Int64Field(source="step_id")
    at = serializers.DateTimeField()
    text = serializers.CharField()


class PlannedStepSerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    kind = serializers.CharField()
    summary = serializers.CharField()
    host = serializers.CharField(allow_null=True)


class OperationPlanSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    summary = serializers.CharField()
    plan = serializers.ListField(child=serializers.CharField())
    warnings = serializers.ListField(child=serializers.CharField())
    steps = PlannedStepSerializer(many=True)
    needs_approval = serializers.BooleanField()


PLANNED_OR_BEGUN = {200: OperationPlanSerializer, 202: OperationDetailSerializer}
"""?dry_run=true shows the plan; without it the operation begins."""


def plan_answer(plan: Plan, *, needs_approval: bool) -> Response:
    steps = [
        {"position": number, "kind": spec.kind, "summary": spec.summary, "host": spec.host}
        for number, spec in plan.steps
    ]
    body = {
        "kind": plan.kind,
        "summary": plan.summary,
        "plan": plan.sentences,
        "warnings": plan.warnings,
        "steps": steps,
        "needs_approval": needs_approval,
    }
    return Response(body)


def begun(operation: Operation) -> Response:
    return Response(
        OperationDetailSerializer(operation).data,
        202,
        headers={"Location": f"/api/v1/operations/{operation.pk}/"},
    )

"""Declarative documents: plan, apply, drift. YAML or JSON."""

from __future__ import annotations

from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions import documents as actions
from clusters.actions.document_plans import CHANGE, CREATE, DELETE, DIFFERS, NONE, Change
from clusters.api.document_shapes import DocumentSerializer, checked_document
from clusters.models import Document
from clusters.selectors.document_text import MAX_BYTES, parse_document, write_document
from console.core.models.people import Role
from console.core.needs import Need, Where
from console.core.problems import Problem
from console.core.views import PlatformView

TAGS = ["documents"]
ADMIN = Need(Role.ADMIN, Where.PLATFORM)


class DocumentParser(BaseParser):
    """JSON is YAML too, and its limits are the same."""

    media_type = "application/yaml"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> dict[str, Any]:
        return parse_document(stream.read(MAX_BYTES + 1))


class JsonDocumentParser(DocumentParser):
    media_type = "application/json"


class DocumentDiffSerializer(serializers.Serializer[Any]):
    broker = serializers.CharField(allow_blank=True, help_text="Empty: about the thing as a whole.")
    field = serializers.CharField(allow_blank=True)
    now = serializers.JSONField(allow_null=True)
    then = serializers.JSONField(allow_null=True)


class DocumentChangeSerializer(serializers.Serializer[Any]):
    cluster = serializers.CharField()
    kind = serializers.ChoiceField(["cluster", "topic", "group", "user", "policies"])
    name = serializers.CharField()
    change = serializers.ChoiceField([CREATE, CHANGE, DELETE, NONE, DIFFERS])
    diffs = DocumentDiffSerializer(many=True)
    note = serializers.CharField(allow_blank=True)


class DocumentPlanSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    create = DocumentChangeSerializer(many=True)
    change = DocumentChangeSerializer(many=True)
    delete = DocumentChangeSerializer(many=True)
    differs = DocumentChangeSerializer(many=True, help_text="Drift that a document does not change.")
    unchanged = serializers.IntegerField()


class DocumentAppliedSerializer(DocumentPlanSerializer):
    operations = serializers.ListField(child=serializers.UUIDField(), help_text="One per cluster.")


class DocumentDriftSerializer(DocumentPlanSerializer):
    applied_at = serializers.DateTimeField()
    applied_by = serializers.CharField()
    has_drift = serializers.BooleanField()


class DocumentRowSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    applied_at = serializers.DateTimeField()
    applied_by = serializers.CharField()

    clusters = serializers.SerializerMethodField()

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_clusters(self, kept: Document) -> list[str]:
        return [cluster["name"] for cluster in kept.content["clusters"]]


class DocumentTextSerializer(DocumentRowSerializer):
    text = serializers.SerializerMethodField(help_text="YAML: what was applied, with what it left unsaid.")
    operations = serializers.ListField(source="outcome", child=serializers.CharField())

    def get_text(self, kept: Document) -> str:
        return write_document(kept.content)


class DocumentsView(PlatformView):
    needs = {"GET": ADMIN}

    @extend_schema(
        operation_id="documents_list",
        tags=TAGS,
        summary="Documents that were applied.",
        responses=DocumentRowSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        rows = Document.objects.defer("outcome")[:1000]
        return Response(DocumentRowSerializer(rows, many=True).data)


class DocumentView(PlatformView):
    needs = {"GET": ADMIN}

    @extend_schema(
        operation_id="documents_get",
        tags=TAGS,
        summary="What was applied last under that name.",
        responses=DocumentTextSerializer,
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(DocumentTextSerializer(actions.kept_document(name)).data)


class DocumentPlanView(PlatformView):
    needs = {"POST": ADMIN}
    parser_classes = [JsonDocumentParser, DocumentParser]

    @extend_schema(
        operation_id="documents_plan",
        tags=TAGS,
        summary="What a document would create, change and delete.",
        request={"application/json": DocumentSerializer, "application/yaml": DocumentSerializer},
        responses=DocumentPlanSerializer,
    )
    def post(self, request: Request) -> Response:
        document = checked_document(_mapping(request.data))
        return Response(planned(document["name"], actions.plan_document(document, now=timezone.now())))


class DocumentApplyView(PlatformView):
    needs = {"POST": ADMIN}
    parser_classes = [JsonDocumentParser, DocumentParser]

    @extend_schema(
        operation_id="documents_apply",
        tags=TAGS,
        summary="Make it so: one operation per cluster, one step per object.",
        request={"application/json": DocumentSerializer, "application/yaml": DocumentSerializer},
        responses={200: DocumentAppliedSerializer, 202: DocumentAppliedSerializer},
    )
    def post(self, request: Request) -> Response:
        document = checked_document(_mapping(request.data))
        if self.is_dry_run:
            changes = actions.plan_document(document, now=timezone.now())
            return Response(planned(document["name"], changes) | {"operations": []})
        changes, operations = actions.do_apply_document(document, actor=self.actor, now=timezone.now())
        body = planned(document["name"], changes)
        body["operations"] = [str(operation.pk) for operation in operations]
        return Response(body, 202 if operations else 200)


class DocumentDriftView(PlatformView):
    needs = {"GET": ADMIN}

    @extend_schema(
        operation_id="documents_drift",
        tags=TAGS,
        summary="What differs now from what was applied under that name.",
        responses=DocumentDriftSerializer,
    )
    def get(self, request: Request, name: str) -> Response:
        kept, changes = actions.document_drift(name, now=timezone.now())
        body = planned(name, changes) | {
            "applied_at": kept.applied_at,
            "applied_by": kept.applied_by,
            "has_drift": bool(changes),
        }
        return Response(DocumentDriftSerializer(body).data)


def planned(name: str, changes: list[Change]) -> dict[str, Any]:
    listed = {
        kind: [c.as_json() for c in changes if c.change == kind] for kind in (CREATE, CHANGE, DELETE, DIFFERS)
    }
    return {"name": name, **listed, "unchanged": sum(change.change == NONE for change in changes)}


def _mapping(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise Problem("bad_document", "send a document as YAML or JSON", 400, field="document")
    return data


urlpatterns = [
    path("documents/", DocumentsView.as_view(), name="documents"),
    path("documents/plan/", DocumentPlanView.as_view(), name="documents-plan"),
    path("documents/apply/", DocumentApplyView.as_view(), name="documents-apply"),
    path("documents/<str:name>/", DocumentView.as_view(), name="document"),
    path("documents/<str:name>/drift/", DocumentDriftView.as_view(), name="documents-drift"),
]

"""REST: the audit chain. Read, checked and exported; nothing here changes a row."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.urls import path
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console import audit_reading
from console.core import audit
from console.core.fields import Int64Field
from console.core.models import AuditEntry
from console.core.models.people import Role
from console.core.needs import SIGNED_IN, Need, Where
from console.core.paging import Pages
from console.core.problems import not_found
from console.core.views import PlatformView

FORMS: dict[str, tuple[str, Callable[[list[AuditEntry]], bytes], bytes]] = {
    "ndjson": ("application/x-ndjson", audit_reading.as_lines, b""),
    "csv": ("text/csv; charset=utf-8", audit_reading.as_csv, audit_reading.csv_head()),
}


class EntrySerializer(serializers.Serializer[Any]):
    id = Int64Field()
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    address = serializers.CharField()
    action = serializers.CharField()
    cluster = serializers.CharField()
    target = serializers.CharField()
    phase = serializers.ChoiceField(AuditEntry.Phase.choices)
    intent_id = Int64Field(allow_null=True)
    is_ok = serializers.BooleanField(allow_null=True)
    details = serializers.JSONField()
    hash = serializers.CharField()


class ChangeSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class EntryDetailSerializer(EntrySerializer):
    previous_hash = serializers.CharField()
    intent = EntrySerializer(allow_null=True, help_text="Of an outcome.")
    outcomes = EntrySerializer(many=True, help_text="Of an intent; none: nobody knows how it ended.")
    changes = ChangeSerializer(many=True)


class VerdictSerializer(serializers.Serializer[Any]):
    is_intact = serializers.BooleanField()
    checked = Int64Field(help_text="Rows that fit, from the first.")
    broken_at = Int64Field(allow_null=True)
    reason = serializers.CharField()


class AuditQuerySerializer(serializers.Serializer[Any]):
    actor = serializers.CharField(required=False, max_length=150, help_text="Part of the name.")
    action = serializers.CharField(
        required=False, max_length=64, help_text="Whole, or with a dot at its end: `topic.`"
    )
    cluster = serializers.CharField(required=False, max_length=128)
    target = serializers.CharField(required=False, max_length=255, help_text="Part of it.")
    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False)
    is_ok = serializers.BooleanField(required=False, allow_null=True, default=None)


class ExportQuerySerializer(AuditQuerySerializer):
    format = serializers.ChoiceField(list(FORMS), default="ndjson")


class _View(PlatformView):
    query: type[AuditQuerySerializer] = AuditQuerySerializer

    def asked(self) -> dict[str, Any]:
        asked = self.query(data=self.request.query_params)
        asked.is_valid(raise_exception=True)
        return dict(asked.validated_data)

    def rows(self) -> QuerySet[AuditEntry]:
        return audit_reading.visible(self.grants, self.request.user)


class AuditView(_View):
    needs = {"GET": SIGNED_IN}
    pagination_class = Pages

    @extend_schema(
        operation_id="audit_list",
        tags=["audit"],
        parameters=[AuditQuerySerializer],
        responses=EntrySerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        """The newest first: all for administrators, else one's own and those of one's clusters."""
        pages = Pages()
        found = audit_reading.filtered(self.rows(), **self.asked())
        rows = pages.paginate_queryset(found, request, self)
        return pages.get_paginated_response(EntrySerializer(rows, many=True).data)


class EntryView(_View):
    needs = {"GET": SIGNED_IN}

    @extend_schema(operation_id="audit_get", tags=["audit"], responses=EntryDetailSerializer)
    def get(self, request: Request, entry: int) -> Response:
        """With the other half of the pair, and what `before` and `after` differ in."""
        row = self.rows().select_related("intent").filter(pk=entry).first()
        if row is None:
            raise not_found("audit row", str(entry))
        outcomes = list(row.outcomes.order_by("id"))
        details = row.details
        for other in (row.intent, *outcomes):
            details = details | (other.details if other is not None else {})
        body = EntrySerializer(row).data | {
            "previous_hash": row.previous_hash,
            "intent": None if row.intent is None else EntrySerializer(row.intent).data,
            "outcomes": EntrySerializer(outcomes, many=True).data,
            "changes": audit_reading.changes(details),
        }
        return Response(body)


class VerifyView(PlatformView):
    needs = {"GET": Need(Role.ADMIN, Where.PLATFORM)}

    @extend_schema(operation_id="audit_verify", tags=["audit"], responses=VerdictSerializer)
    def get(self, request: Request) -> Response:
        """Walks the whole chain."""
        verdict = audit.verify()
        body = {
            "is_intact": verdict.broken_at is None,
            "checked": verdict.checked,
            "broken_at": verdict.broken_at,
            "reason": verdict.reason,
        }
        return Response(VerdictSerializer(body).data)


class ExportView(_View):
    needs = {"GET": SIGNED_IN}
    query = ExportQuerySerializer

    @extend_schema(
        operation_id="audit_export",
        tags=["audit"],
        parameters=[
            AuditQuerySerializer,
            OpenApiParameter("format", str, enum=list(FORMS), default="ndjson"),
        ],
        responses={
            (200, "application/x-ndjson"): OpenApiResponse(OpenApiTypes.STR, "One JSON object a line."),
            (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, "With a head line."),
        },
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """The oldest first, as a stream. Leaves a row, which is its last when nothing filters it out."""
        asked = self.asked()
        form = asked.pop("format")
        named = {name: str(value) for name, value in asked.items() if value not in ("", None)}
        audit.record(self.actor, "audit.export", details={"format": form, **named}, now=timezone.now())
        content_type, encode, head = FORMS[form]
        found = audit_reading.filtered(self.rows(), **asked)
        stream = _astream if isinstance(request._request, ASGIRequest) else _stream
        response = StreamingHttpResponse(stream(found, encode, head), content_type=content_type)
        response["Content-Disposition"] = f'attachment; filename="audit.{form}"'
        return response


def _stream(
    rows: QuerySet[AuditEntry], encode: Callable[[list[AuditEntry]], bytes], head: bytes
) -> Iterator[bytes]:
    yield head
    last = 0
    while chunk := audit_reading.chunk_after(rows, last):
        yield encode(chunk)
        last = chunk[-1].id


async def _astream(
    rows: QuerySet[AuditEntry], encode: Callable[[list[AuditEntry]], bytes], head: bytes
) -> AsyncIterator[bytes]:
    """Django would gather a plain iterator in memory before it sends the first byte over ASGI."""
    yield head
    last = 0
    while chunk := await sync_to_async(audit_reading.chunk_after)(rows, last):
        yield encode(chunk)
        last = chunk[-1].id


urlpatterns = [
    path("audit/", AuditView.as_view(), name="audit"),
    path("audit/export/", ExportView.as_view(), name="audit-export"),
    path("audit/verify/", VerifyView.as_view(), name="audit-verify"),
    path("audit/<int:entry>/", EntryView.as_view(), name="audit-entry"),
]

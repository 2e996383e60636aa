"""Long lists of one cluster: searched, sorted and cut in the database, with the age of what they show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers
from rest_framework.response import Response

from clusters.api.cluster_view import ClusterView
from clusters.selectors.live import freshness_of
from console.core.paging import Pages
from console.core.problems import Problem

LIMIT = OpenApiParameter("limit", int, description="Rows of one page, 500 at most.")
OFFSET = OpenApiParameter("offset", int, description="Rows to skip.")
SEARCH = OpenApiParameter("search", str, description="Part of the name, in any case.")
DRY_RUN = OpenApiParameter("dry_run", bool, description="Only say what would be done.")


def ordering_parameter(fields: Any) -> OpenApiParameter:
    listed = [sign + name for name in fields for sign in ("", "-")]
    return OpenApiParameter("ordering", str, enum=listed, description="Unknown figures come last.")


class BrokerAgeSerializer(serializers.Serializer[Any]):
    broker = serializers.CharField()
    sampled_at = serializers.DateTimeField(allow_null=True)
    is_reachable = serializers.BooleanField()


class FreshnessSerializer(serializers.Serializer[Any]):
    sampled_at = serializers.DateTimeField(
        allow_null=True, help_text="The oldest of the masters' answers; null: some master never answered."
    )
    brokers = BrokerAgeSerializer(many=True)


def page_serializer(name: str, row: type[serializers.Serializer[Any]], **extra: Any) -> Any:
    return inline_serializer(
        name,
        {
            "count": serializers.IntegerField(),
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            "results": row(many=True),
            **extra,
        },
    )


freshness = freshness_of


class ListView(ClusterView):
    def ordering_of(self, allowed: Any, default: str) -> str:
        asked = self.request.query_params.get("ordering") or default
        if asked.removeprefix("-") not in allowed:
            listed = ", ".join(allowed)
            raise Problem("invalid", f"lists are sorted by {listed}, not by {asked!r}", 400, field="ordering")
        return asked

    def text_of(self, name: str) -> str:
        """A filter's text. Databases refuse zero bytes."""
        text = self.request.query_params.get(name, "")
        if "\0" in text or len(text) > 255:
            raise Problem("invalid", f"{name} is too long or has a zero byte", 400, field=name)
        return text

    def cut(self, rows: QuerySet[Any]) -> tuple[Pages, list[Any]]:
        pages = Pages()
        return pages, list(pages.paginate_queryset(rows, self.request, self) or [])

    def cut_wide(self, rows: QuerySet[Any], columns: Sequence[str]) -> tuple[Pages, list[dict[str, Any]]]:
        """Of wide rows: sorted by key alone, then the page's rows: a sort need not carry their JSON."""
        pages, keys = self.cut(rows.values_list("pk", flat=True))
        found = {
            row.pop("pk"): row
            for row in rows.model._default_manager.filter(pk__in=keys).values("pk", *columns)
        }
        return pages, [found[key] for key in keys if key in found]

    def page(self, pages: Pages, results: list[Any], **extra: Any) -> Response:
        response = pages.get_paginated_response(results)
        if "freshness" in extra:
            extra["freshness"] = FreshnessSerializer(extra["freshness"]).data
        response.data = {**response.data, **extra}
        return response

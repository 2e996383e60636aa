"""REST: one search over clusters, topics, groups, people, operations and message ids."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.core.needs import SIGNED_IN
from console.core.views import PlatformView
from console.searching import KINDS, search


class SearchQuerySerializer(serializers.Serializer[Any]):
    q = serializers.CharField(max_length=255, help_text="Part of a name, or a whole id.")
    kind = serializers.MultipleChoiceField(choices=KINDS, required=False, help_text="Only these kinds.")
    limit = serializers.IntegerField(min_value=1, max_value=50, default=10, help_text="Of each kind.")


class SearchHitSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(KINDS)
    name = serializers.CharField()
    cluster = serializers.CharField(allow_null=True)
    detail = serializers.CharField()
    url = serializers.CharField()


class FoundSerializer(serializers.Serializer[Any]):
    q = serializers.CharField()
    results = SearchHitSerializer(many=True)
    more = serializers.ListField(
        child=serializers.CharField(), help_text="Kinds of which there are more than are shown."
    )


class SearchView(PlatformView):
    needs = {"GET": SIGNED_IN}

    @extend_schema(
        operation_id="search",
        tags=["search"],
        parameters=[SearchQuerySerializer],
        responses=FoundSerializer,
    )
    def get(self, request: Request) -> Response:
        """Only what one may see. Asks no broker: a message id is known by its shape."""
        query = SearchQuerySerializer(data=request.query_params)
        query.is_valid(raise_exception=True)
        asked = query.validated_data
        kinds = tuple(kind for kind in KINDS if not asked.get("kind") or kind in asked["kind"])
        found = search(asked["q"], self.grants, kinds=kinds, limit=asked["limit"])
        return Response({"q": asked["q"], "results": [asdict(hit) for hit in found.hits], "more": found.more})


urlpatterns = [path("search/", SearchView.as_view(), name="search")]

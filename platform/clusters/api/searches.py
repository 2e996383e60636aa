"""REST: search jobs: through topics and days, while one does something else.

    POST searches/ (?dry_run=true)   GET searches/   GET|DELETE searches/{id}/
    POST searches/{id}/cancel/       POST searches/{id}/continue/   GET searches/{id}/results/

Jobs are their owner's; administrators of the cluster see everybody's.
"""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions.searches import (
    SearchRequest,
    do_cancel_search,
    do_continue_search,
    do_create_search,
    do_delete_search,
    estimate_search,
    get_search,
    hits_for,
    visible_searches,
)
from clusters.api.lists import DRY_RUN, LIMIT, OFFSET, ListView, ordering_parameter, page_serializer
from clusters.api.message_shapes import SqlField, TopicField, iso, ms, reader_of
from clusters.api.messages import wanted_of
from clusters.gateway.scanning import Wanted
from clusters.models import SearchHit, SearchJob
from console.core.fields import Int64Field
from console.core.models.people import Role
from console.core.needs import Need, Where

MOST_SCANNED = 10_000_000
_LOOK = Need(Role.VIEWER, Where.INSIDE)
_SORTED = ("created_at", "state", "found")


class SearchRequestSerializer(serializers.Serializer[Any]):
    topics = serializers.ListField(child=TopicField(), min_length=1, max_length=20)
    begin = serializers.DateTimeField(required=False)
    end = serializers.DateTimeField(required=False)
    key = serializers.CharField(required=False, max_length=255)
    tag = serializers.CharField(required=False, max_length=255)
    property = serializers.CharField(required=False, max_length=1024, help_text="`name` or `name=value`.")
    body = serializers.CharField(required=False, max_length=1024, help_text="Text that the body holds.")
    sql = SqlField(required=False)
    runner = serializers.ChoiceField(
        SearchJob.Runner.choices,
        required=False,
        help_text="Without it: spark for more than 10,000,000 messages, celery for fewer.",
    )
    max_scan = serializers.IntegerField(
        min_value=1, max_value=MOST_SCANNED, default=1_000_000, help_text="Of celery: spark looks at all."
    )
    max_hits = serializers.IntegerField(min_value=1, max_value=10_000, default=1_000)
    keep_days = serializers.IntegerField(min_value=1, max_value=30, default=7)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if not values.keys() & {"key", "tag", "property", "body", "sql", "begin", "end"}:
            raise serializers.ValidationError(
                "say what is looked for: a time, key, tag, property, body or SQL92"
            )
        if "begin" in values and "end" in values and values["begin"] >= values["end"]:
            raise serializers.ValidationError({"end": "not after begin"})
        return values


class LookedForSerializer(serializers.Serializer[Any]):
    """As it was asked for; null: does not matter."""

    begin = serializers.DateTimeField(allow_null=True)
    end = serializers.DateTimeField(allow_null=True)
    key = serializers.CharField(allow_null=True)
    tag = serializers.CharField(allow_null=True)
    property = serializers.CharField(allow_null=True)
    body = serializers.CharField(allow_null=True)
    sql = serializers.CharField(allow_null=True)


class SearchJobSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    created_by = serializers.CharField()
    runner = serializers.ChoiceField(SearchJob.Runner.choices)
    topics = serializers.ListField(child=serializers.CharField())
    wanted = serializers.SerializerMethodField()
    state = serializers.ChoiceField(SearchJob.State.choices)
    stopped = serializers.CharField(help_text="Of one that is done: end, max_hits or max_scan.")
    estimate = Int64Field(allow_null=True, help_text="Messages in range when it was made.")
    scanned = Int64Field()
    found = serializers.IntegerField()
    max_scan = Int64Field()
    max_hits = serializers.IntegerField()
    is_complete = serializers.SerializerMethodField(help_text="Everything in range was looked at.")
    problems = serializers.ListField(child=serializers.CharField())
    error = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(help_text="Then it is deleted with its results.")

    @extend_schema_field(LookedForSerializer)
    def get_wanted(self, job: SearchJob) -> dict[str, Any]:
        return looked_for(Wanted(**job.query))

    def get_is_complete(self, job: SearchJob) -> bool:
        return job.stopped == "end" and not job.problems


def looked_for(wanted: Wanted) -> dict[str, Any]:
    pair = wanted.property_name
    if pair is not None and wanted.property_value is not None:
        pair = f"{pair}={wanted.property_value}"
    return {
        "begin": iso(wanted.from_ms or None),
        "end": iso(wanted.to_ms if wanted.to_ms < Wanted().to_ms else None),
        "key": wanted.key,
        "tag": wanted.tag,
        "property": pair,
        "body": wanted.body,
        "sql": wanted.sql,
    }


class EstimateSerializer(serializers.Serializer[Any]):
    messages = Int64Field(help_text="In range now.")
    is_within_limit = serializers.BooleanField(help_text="All of them would be looked at.")
    runner = serializers.ChoiceField(SearchJob.Runner.choices)


class SearchesView(ListView):
    needs = {"GET": _LOOK, "POST": _LOOK}

    @extend_schema(
        operation_id="searches_list",
        tags=["searches"],
        parameters=[LIMIT, OFFSET, ordering_parameter(_SORTED)],
        responses=page_serializer("SearchJobPage", SearchJobSerializer),
    )
    def get(self, request: Request, cluster: str) -> Response:
        """One's own jobs; an administrator of the cluster sees everybody's."""
        rows = visible_searches(reader_of(self)).order_by(self.ordering_of(_SORTED, "-created_at"), "pk")
        pages, jobs = self.cut(rows)
        return self.page(pages, SearchJobSerializer(jobs, many=True).data)

    @extend_schema(
        operation_id="searches_create",
        tags=["searches"],
        parameters=[DRY_RUN],
        request=SearchRequestSerializer,
        responses={200: EstimateSerializer, 202: SearchJobSerializer},
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Look through topics in the background. Progress comes on the websocket channel `jobs/{cluster}`;
        results are kept for `keep_days`. With dry_run=true: how many messages that would be."""
        asked = SearchRequestSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        wanted = _request(asked.validated_data)
        if self.is_dry_run:
            estimate = estimate_search(reader_of(self), wanted)
            body = {
                "messages": estimate.messages,
                "is_within_limit": estimate.is_within(wanted.max_scan),
                "runner": estimate.runner,
            }
            return Response(EstimateSerializer(body).data)
        job = do_create_search(reader_of(self), wanted, now=timezone.now())
        return Response(SearchJobSerializer(job).data, 202)


def _request(values: dict[str, Any]) -> SearchRequest:
    return SearchRequest(
        tuple(dict.fromkeys(values["topics"])),
        wanted_of(values, ms(values.get("begin")), ms(values.get("end"))),
        values.get("runner", ""),
        values["max_scan"],
        values["max_hits"],
        timedelta(days=values["keep_days"]),
    )


class SearchView(ListView):
    needs = {"GET": _LOOK, "DELETE": _LOOK}

    @extend_schema(operation_id="searches_get", tags=["searches"], responses=SearchJobSerializer)
    def get(self, request: Request, cluster: str, id: uuid.UUID) -> Response:
        return Response(SearchJobSerializer(get_search(reader_of(self), id)).data)

    @extend_schema(operation_id="searches_delete", tags=["searches"], responses={204: None})
    def delete(self, request: Request, cluster: str, id: uuid.UUID) -> Response:
        """With its results; one that runs ends."""
        reader = reader_of(self)
        do_delete_search(reader, get_search(reader, id), now=timezone.now())
        return Response(status=204)


class CancelSearchView(ListView):
    needs = {"POST": _LOOK}

    @extend_schema(
        operation_id="searches_cancel", tags=["searches"], request=None, responses=SearchJobSerializer
    )
    def post(self, request: Request, cluster: str, id: uuid.UUID) -> Response:
        """It stops; what it has found stays."""
        reader = reader_of(self)
        job = do_cancel_search(reader, get_search(reader, id), now=timezone.now())
        return Response(SearchJobSerializer(job).data)


class ContinueSearchSerializer(serializers.Serializer[Any]):
    max_scan = serializers.IntegerField(
        min_value=1, max_value=MOST_SCANNED, default=1_000_000, help_text="So many more."
    )
    max_hits = serializers.IntegerField(
        min_value=1, max_value=10_000, default=1_000, help_text="So many more."
    )


class ContinueSearchView(ListView):
    needs = {"POST": _LOOK}

    @extend_schema(
        operation_id="searches_continue",
        tags=["searches"],
        request=ContinueSearchSerializer,
        responses={202: SearchJobSerializer},
    )
    def post(self, request: Request, cluster: str, id: uuid.UUID) -> Response:
        """One that stopped at a limit, was cancelled or failed goes on where it stopped."""
        asked = ContinueSearchSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        more = asked.validated_data
        reader = reader_of(self)
        job = get_search(reader, id)
        job = do_continue_search(reader, job, more["max_scan"], more["max_hits"], now=timezone.now())
        return Response(SearchJobSerializer(job).data, 202)


class JobHitSerializer(serializers.ModelSerializer[SearchHit]):
    queue_offset = Int64Field()

    class Meta:
        model = SearchHit
        fields = [
            "topic",
            "broker",
            "queue",
            "queue_offset",
            "offset_id",
            "msg_id",
            "stored_at",
            "body_bytes",
        ]


class SearchResultsView(ListView):
    needs = {"GET": _LOOK}

    @extend_schema(
        operation_id="searches_results",
        tags=["searches"],
        parameters=[LIMIT, OFFSET],
        responses=page_serializer("SearchHitPage", JobHitSerializer, job=SearchJobSerializer()),
    )
    def get(self, request: Request, cluster: str, id: uuid.UUID) -> Response:
        """Where the messages lie, in the order they were found; messages/{offset_id}/ shows one."""
        reader = reader_of(self)
        job = get_search(reader, id)
        pages, hits = self.cut(hits_for(reader, job))
        return self.page(pages, JobHitSerializer(hits, many=True).data, job=SearchJobSerializer(job).data)


_HERE = "clusters/<str:cluster>/searches/"

urlpatterns = [
    path(_HERE, SearchesView.as_view(), name="searches"),
    path(f"{_HERE}<uuid:id>/", SearchView.as_view(), name="search"),
    path(f"{_HERE}<uuid:id>/cancel/", CancelSearchView.as_view(), name="search-cancel"),
    path(f"{_HERE}<uuid:id>/continue/", ContinueSearchView.as_view(), name="search-continue"),
    path(f"{_HERE}<uuid:id>/results/", SearchResultsView.as_view(), name="search-results"),
]

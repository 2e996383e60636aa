"""Resetting a group's offsets: preview, apply, list, undo."""

from __future__ import annotations

from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions import offsets as actions
from clusters.actions.reset_plans import KINDS, Target
from clusters.api.cluster_view import ClusterView
from clusters.api.lists import DRY_RUN, LIMIT, OFFSET, ListView, page_serializer
from clusters.api.outcomes import MULTI_STATUS
from clusters.models import OffsetReset
from console.core.fields import GroupNameField, Int64Field, TopicNameField
from console.core.models.people import Role
from console.core.needs import Need, Where
from console.core.problems import Problem

TAGS = ["offsets"]
READ = Need(Role.VIEWER, Where.NAME)
WRITE = Need(Role.OPERATOR, Where.NAME)


class ExactQueueSerializer(serializers.Serializer[Any]):
    topic = TopicNameField()
    broker = serializers.CharField(max_length=127)
    queue = serializers.IntegerField(min_value=0, max_value=65_535)
    offset = Int64Field(minimum=0)


class NewResetSerializer(serializers.Serializer[Any]):
    to = serializers.ChoiceField(KINDS, help_text="`latest` skips the backlog.")
    topics = serializers.ListField(
        child=TopicNameField(), required=False, max_length=200, help_text="None: all that it has offsets on."
    )
    at = serializers.DateTimeField(required=False, help_text="Of `time`: the first message at or after it.")
    by = Int64Field(required=False, help_text="Of `shift`: negative goes back.")
    queues = ExactQueueSerializer(many=True, required=False, help_text="Of `exact`.", max_length=20_000)
    source_group = GroupNameField(required=False, help_text="Of `copy`: the group to stand beside.")

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        wanted = {"time": "at", "shift": "by", "exact": "queues", "copy": "source_group"}
        for kind, field in wanted.items():
            if given["to"] == kind and not given.get(field):
                raise serializers.ValidationError({field: f"a reset to {kind!r} needs it"}, "required")
            if given["to"] != kind and field in given:
                raise serializers.ValidationError({field: f"only for a reset to {kind!r}"}, "invalid")
        if given["to"] == "exact" and given.get("topics"):
            raise serializers.ValidationError({"topics": "exact queues name their topics"}, "invalid")
        return given


class QueueResetSerializer(serializers.Serializer[Any]):
    topic = serializers.CharField()
    broker = serializers.CharField()
    queue = serializers.IntegerField(help_text="-1: the broker did not even say which queues there are.")
    committed = Int64Field(allow_null=True, help_text="Before; null: nothing was committed.")
    min = Int64Field(allow_null=True)
    max = Int64Field(allow_null=True)
    to = Int64Field(allow_null=True, help_text="Null: it stays, and detail says why.")
    replayed = Int64Field(allow_null=True)
    skipped = Int64Field(allow_null=True)
    detail = serializers.CharField(allow_blank=True)


class PreviewQueueSerializer(QueueResetSerializer):
    consumed_meanwhile = Int64Field(allow_null=True, required=False, help_text="Of an undo.")


class DoneQueueSerializer(QueueResetSerializer):
    read_back = Int64Field(allow_null=True)
    ok = serializers.BooleanField()


class PreviewSerializer(serializers.Serializer[Any]):
    queues = PreviewQueueSerializer(many=True)
    replayed = Int64Field(allow_null=True)
    skipped = Int64Field(allow_null=True)
    members_online = serializers.IntegerField(allow_null=True)
    is_complete = serializers.BooleanField(help_text="Whether every queue can be moved.")


class ResetRowSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    group = serializers.CharField()
    target = serializers.JSONField()
    state = serializers.ChoiceField(OffsetReset.State.choices)
    undoes = serializers.UUIDField(source="undoes_id", allow_null=True)
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class ResetSerializer(ResetRowSerializer):
    queues = serializers.SerializerMethodField()
    is_complete = serializers.SerializerMethodField()

    def get_queues(self, reset: OffsetReset) -> DoneQueueSerializer(many=True):  # type: ignore[valid-type]
        rows = [{"read_back": None, "ok": False} | row for row in reset.queues]
        return DoneQueueSerializer(rows, many=True).data

    def get_is_complete(self, reset: OffsetReset) -> bool:
        return reset.state == OffsetReset.State.DONE


RESET = PolymorphicProxySerializer(
    component_name="ResetAnswer",
    serializers=[PreviewSerializer, ResetSerializer],
    resource_type_field_name=None,
)


class ResetsView(ListView):
    needs = {"GET": READ, "POST": WRITE}
    name_kwarg = "group"

    @extend_schema(
        operation_id="resets_list",
        tags=TAGS,
        summary="Resets of this group, newest first.",
        parameters=[LIMIT, OFFSET],
        responses=page_serializer("ResetPage", ResetRowSerializer),
    )
    def get(self, request: Request, cluster: str, group: str) -> Response:
        rows = OffsetReset.objects.filter(cluster=self.cluster, group=group).defer("queues")
        pages, cut = self.cut(rows)
        return self.page(pages, ResetRowSerializer(cut, many=True).data)

    @extend_schema(
        operation_id="resets_create",
        tags=TAGS,
        summary="Put the group elsewhere on its queues; a dry run shows every queue's from and to.",
        parameters=[DRY_RUN],
        request=NewResetSerializer,
        responses={200: RESET, 201: ResetSerializer, 207: ResetSerializer},
    )
    def post(self, request: Request, cluster: str, group: str) -> Response:
        form = NewResetSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        target = _target(form.validated_data)
        for topic in {*target.topics, *(place[0] for place in target.queues)}:
            self.require(Role.VIEWER, cluster, topic)
        if target.source_group:
            self.require(Role.VIEWER, cluster, target.source_group)
        if self.is_dry_run:
            return Response(PreviewSerializer(actions.preview_reset(self.cluster, group, target)).data)
        reset = actions.do_reset_offsets(self.cluster, group, target, actor=self.actor, now=timezone.now())
        return _answer(reset, 201)


class ResetView(ClusterView):
    needs = {"GET": READ}
    name_kwarg = "group"

    @extend_schema(
        operation_id="resets_read",
        tags=TAGS,
        summary="One reset with the old offsets of every queue.",
        responses=ResetSerializer,
    )
    def get(self, request: Request, cluster: str, group: str, reset: Any) -> Response:
        return Response(ResetSerializer(actions.get_reset(self.cluster, group, reset)).data)


class ResetUndoView(ClusterView):
    needs = {"POST": WRITE}
    name_kwarg = "group"

    @extend_schema(
        operation_id="resets_undo",
        tags=TAGS,
        summary="Put the old offsets back; a dry run shows what was consumed meanwhile.",
        parameters=[DRY_RUN],
        request=None,
        responses={200: RESET, 201: ResetSerializer, 207: ResetSerializer},
    )
    def post(self, request: Request, cluster: str, group: str, reset: Any) -> Response:
        found = actions.get_reset(self.cluster, group, reset)
        if self.is_dry_run:
            return Response(PreviewSerializer(actions.preview_undo(self.cluster, group, found)).data)
        undone = actions.do_undo_reset(self.cluster, group, found, actor=self.actor, now=timezone.now())
        return _answer(undone, 201)


def _target(given: dict[str, Any]) -> Target:
    at = given.get("at")
    queues = {(row["topic"], row["broker"], row["queue"]): row["offset"] for row in given.get("queues", ())}
    return Target(
        given["to"],
        tuple(given.get("topics", ())),
        None if at is None else int(at.timestamp() * 1000),
        given.get("by", 0),
        queues,
        given.get("source_group", ""),
    )


def _answer(reset: OffsetReset, status: int) -> Response:
    """Nothing moved at all is a problem; some of it is 207."""
    if reset.state == OffsetReset.State.FAILED:
        first = next((row for row in reset.queues if row["detail"]), None)
        detail = first["detail"] if first else "no queue was moved"
        queues = DoneQueueSerializer(reset.queues, many=True).data
        raise Problem("not_reset", detail, 502, reset=str(reset.id), queues=queues)
    body = ResetSerializer(reset).data
    return Response(body, status if reset.state == OffsetReset.State.DONE else MULTI_STATUS)


_ALL = "clusters/<str:cluster>/groups/<str:group>/resets/"

urlpatterns = [
    path(_ALL, ResetsView.as_view(), name="resets"),
    path(f"{_ALL}<uuid:reset>/", ResetView.as_view(), name="reset"),
    path(f"{_ALL}<uuid:reset>/undo/", ResetUndoView.as_view(), name="reset-undo"),
]

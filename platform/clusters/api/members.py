"""Members of a group, asked now: queues, subscriptions, stacks; the diagnosis; one message directly."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions import groups as actions
from clusters.actions.diagnoses import gather_members, group_evidence
from clusters.api.cluster_view import ClusterView
from clusters.api.outcomes import BrokerOutcomeSerializer
from clusters.selectors.diagnosis import STATES, diagnose
from clusters.selectors.members import differing_subscriptions
from clusters.selectors.thread_dumps import parse_dump, where_listeners_stand
from console.core import audit
from console.core.fields import Int64Field, TopicNameField
from console.core.models.people import Role
from console.core.needs import Need, Where
from console.core.problems import Problem, not_found
from console.core.views import flag

TAGS = ["groups"]
READ = Need(Role.VIEWER, Where.NAME)
WRITE = Need(Role.OPERATOR, Where.NAME)


class MemberQueueSerializer(serializers.Serializer[Any]):
    topic = serializers.CharField()
    broker = serializers.CharField()
    queue = serializers.IntegerField()
    committed = Int64Field(allow_null=True, required=False)
    cached_messages = serializers.IntegerField(required=False)
    is_locked = serializers.BooleanField(required=False)
    last_pull_ms = Int64Field(allow_null=True, required=False)
    last_consume_ms = Int64Field(allow_null=True, required=False)
    waiting_acks = serializers.IntegerField(required=False)


class MemberSubscriptionSerializer(serializers.Serializer[Any]):
    topic = serializers.CharField()
    expression = serializers.CharField()
    type = serializers.CharField()


class MemberSerializer(serializers.Serializer[Any]):
    client_id = serializers.CharField()
    address = serializers.CharField()
    language = serializers.CharField()
    version = serializers.IntegerField(help_text="RocketMQ's version number of the client.")
    protocol = serializers.CharField()
    consume_type = serializers.CharField(allow_null=True)
    brokers = serializers.ListField(child=serializers.CharField())
    queues = MemberQueueSerializer(many=True, allow_null=True, help_text="Null: the member did not say.")
    subscriptions = MemberSubscriptionSerializer(many=True, allow_null=True)
    rates = serializers.JSONField(allow_null=True)
    properties = serializers.JSONField(allow_null=True)
    detail = serializers.CharField(allow_blank=True, help_text="Why the member did not say.")


class MembersSerializer(serializers.Serializer[Any]):
    model = serializers.CharField(allow_blank=True)
    members = MemberSerializer(many=True)
    differing_subscriptions = serializers.ListField(child=serializers.JSONField())
    brokers = BrokerOutcomeSerializer(many=True)
    is_complete = serializers.BooleanField(help_text="Every broker answered, and every member did.")


class MembersView(ClusterView):
    needs = {"GET": READ}
    name_kwarg = "group"

    @extend_schema(
        operation_id="groups_members",
        tags=TAGS,
        summary="Members with protocol, version, queues and subscriptions, asked now.",
        responses=MembersSerializer,
    )
    def get(self, request: Request, cluster: str, group: str) -> Response:
        found = gather_members(self.cluster, group)
        body = {
            "model": found.model,
            "members": found.members,
            "differing_subscriptions": differing_subscriptions(found.members),
            "brokers": [one.as_json() | {"read_back": None} for one in found.outcomes],
            "is_complete": found.is_complete,
        }
        return Response(MembersSerializer(body).data)


class ThreadSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    state = serializers.CharField()
    is_listener = serializers.BooleanField()
    is_idle = serializers.BooleanField()
    frames = serializers.ListField(child=serializers.CharField())


class StackSerializer(serializers.Serializer[Any]):
    client_id = serializers.CharField()
    listeners_stand_in = serializers.ListField(child=serializers.JSONField())
    threads = ThreadSerializer(many=True)


class MemberStackView(ClusterView):
    """An operator's: stacks tell of the inside of somebody's program, and taking one costs it time."""

    needs = {"POST": WRITE}
    name_kwarg = "group"

    @extend_schema(
        operation_id="groups_member_stack",
        tags=TAGS,
        summary="Where every thread of one member stands, asked now.",
        request=None,
        responses=StackSerializer,
    )
    def post(self, request: Request, cluster: str, group: str, client_id: str) -> Response:
        details = {"client_id": client_id}
        with audit.attempt(self.actor, "group.stack", cluster=cluster, target=group, details=details):
            found = gather_members(self.cluster, group, only=client_id, jstack=True)
            if client_id not in found.infos:
                raise not_found("member", client_id)
            info = found.infos[client_id]
            if isinstance(info, str):
                raise Problem("no_answer", f"{client_id}: {info}", 504)
        threads = parse_dump(info["stack"] or "")
        body = {
            "client_id": client_id,
            "listeners_stand_in": [asdict(stand) for stand in where_listeners_stand(threads)],
            "threads": threads,
        }
        return Response(StackSerializer(body).data)


class FindingSerializer(serializers.Serializer[Any]):
    check_name = serializers.CharField(source="check")
    state = serializers.ChoiceField(STATES)
    code = serializers.CharField(help_text="What was found, within its check: for other languages.")
    values = serializers.DictField(child=serializers.CharField(), help_text="What the text tells.")
    text = serializers.CharField()
    advice = serializers.CharField(allow_blank=True)
    evidence = serializers.ListField(child=serializers.JSONField())


class DiagnosisSerializer(serializers.Serializer[Any]):
    group = serializers.CharField()
    asked_at = serializers.DateTimeField()
    worst = serializers.ChoiceField(STATES)
    findings = FindingSerializer(many=True)


class DiagnosisView(ClusterView):
    needs = {"GET": READ}
    name_kwarg = "group"

    @extend_schema(
        operation_id="groups_diagnosis",
        tags=TAGS,
        summary="Checks with evidence and advice.",
        parameters=[OpenApiParameter("stacks", bool, description="Also take thread stacks (an operator's).")],
        responses=DiagnosisSerializer,
    )
    def get(self, request: Request, cluster: str, group: str) -> Response:
        wants_stacks = flag(request, "stacks")
        if wants_stacks:
            self.require(Role.OPERATOR, cluster, group)
        now = timezone.now()
        findings = diagnose(group_evidence(self.cluster, group, now=now, jstack=wants_stacks))
        worst = max((finding.state for finding in findings), key=STATES.index)
        body = {"group": group, "asked_at": now, "worst": worst, "findings": findings}
        return Response(DiagnosisSerializer(body).data)


class ConsumeSerializer(serializers.Serializer[Any]):
    client_id = serializers.CharField(max_length=255)
    message_id = serializers.RegexField(
        r"^[0-9A-Fa-f]{32,56}$", help_text="The offset message id: it names the broker and the place."
    )
    topic = TopicNameField()


class ConsumedSerializer(serializers.Serializer[Any]):
    result = serializers.CharField(allow_null=True)
    is_ordered = serializers.BooleanField()
    remark = serializers.CharField(allow_blank=True)
    spent_ms = serializers.IntegerField()


class ConsumeView(ClusterView):
    needs = {"POST": WRITE}
    name_kwarg = "group"

    @extend_schema(
        operation_id="groups_consume",
        tags=TAGS,
        summary="Have one member run its listener on one message now.",
        request=ConsumeSerializer,
        responses=ConsumedSerializer,
    )
    def post(self, request: Request, cluster: str, group: str) -> Response:
        form = ConsumeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        self.require(Role.VIEWER, cluster, asked["topic"])
        result = actions.do_consume_directly(
            self.cluster,
            group,
            asked["client_id"],
            asked["message_id"].upper(),
            asked["topic"],
            actor=self.actor,
            now=timezone.now(),
        )
        return Response(result)


_ONE = "clusters/<str:cluster>/groups/<str:group>/"

urlpatterns = [
    path(f"{_ONE}members/", MembersView.as_view(), name="group-members"),
    path(f"{_ONE}members/<str:client_id>/stack/", MemberStackView.as_view(), name="group-member-stack"),
    path(f"{_ONE}diagnosis/", DiagnosisView.as_view(), name="group-diagnosis"),
    path(f"{_ONE}consume/", ConsumeView.as_view(), name="group-consume"),
]

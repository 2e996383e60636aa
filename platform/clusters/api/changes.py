"""Changes of a managed cluster that take time: each is a plan with ?dry_run=true, else an operation (202)."""

from __future__ import annotations

from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions import repairs, restarts, sizes
from clusters.actions.old_agents import refuse_old_agents
from clusters.actions.operations import do_start_operation
from clusters.api.cluster_view import ClusterView
from clusters.api.lists import DRY_RUN
from clusters.api.operation_shapes import PLANNED_OR_BEGUN, begun, plan_answer
from clusters.models import Cluster
from clusters.provisioning.plans.plan import Plan
from console.core.models.people import Role
from console.core.needs import Need, Where

TAGS = ["clusters"]


class WithApproval(serializers.Serializer[Any]):
    needs_approval = serializers.BooleanField(default=False, help_text="A second person must approve it.")


class GrowSerializer(WithApproval):
    name_servers = serializers.IntegerField(min_value=0, max_value=9, default=0)
    groups = serializers.IntegerField(min_value=0, max_value=64, default=0)
    group_names = serializers.ListField(
        child=serializers.CharField(max_length=63), max_length=64, required=False
    )
    slaves = serializers.IntegerField(min_value=0, max_value=8, default=0)
    to_groups = serializers.ListField(
        child=serializers.CharField(max_length=63),
        max_length=64,
        required=False,
        help_text="Groups that get the slaves, when no group is added; all by default.",
    )
    hosts = serializers.ListField(
        child=serializers.CharField(max_length=63), min_length=1, max_length=500, required=False
    )
    allow_same_host = serializers.BooleanField(default=False)


class ShrinkSerializer(WithApproval):
    group = serializers.CharField(max_length=63)
    member = serializers.IntegerField(
        min_value=0, max_value=10**6, required=False, allow_null=True, help_text="One slave; else the group."
    )
    ignore_groups = serializers.ListField(
        child=serializers.CharField(max_length=255), max_length=1000, default=list
    )
    data = serializers.ChoiceField(sizes.DATA, default="trash")


class RestartSerializer(WithApproval):
    groups = serializers.ListField(
        child=serializers.CharField(max_length=63), max_length=64, required=False, allow_null=True
    )
    name_servers = serializers.BooleanField(default=False)


class UpgradeSerializer(WithApproval):
    release = serializers.CharField(max_length=63)


class ConfigureSerializer(WithApproval):
    changes = serializers.DictField(
        child=serializers.CharField(max_length=1000, allow_null=True),
        help_text="null takes an override away.",
    )
    group = serializers.CharField(max_length=63, required=False)
    process = serializers.CharField(max_length=127, required=False)


class AccessControlSerializer(WithApproval):
    access_control = serializers.ChoiceField(Cluster.AccessControl.choices)


class PromoteSerializer(WithApproval):
    group = serializers.CharField(max_length=63)
    member = serializers.IntegerField(min_value=0, max_value=10**6, required=False, allow_null=True)
    unclean = serializers.BooleanField(default=False)


class ChangeView(ClusterView):
    form: type[serializers.Serializer[Any]] = WithApproval

    def plan(self, values: dict[str, Any]) -> Plan:
        raise NotImplementedError

    def begin(self, request: Request) -> Response:
        form = self.form(data=request.data or {})
        form.is_valid(raise_exception=True)
        values = dict(form.validated_data)
        asked = values.pop("needs_approval")
        plan, needs = self.plan(values), asked or self.cluster.needs_approval
        refuse_old_agents(plan, self.cluster.access_control)
        if self.is_dry_run or not plan.positions:
            return plan_answer(plan, needs_approval=needs)
        return begun(
            do_start_operation(
                self.cluster, plan, values, needs_approval=asked, actor=self.actor, now=timezone.now()
            )
        )


def _schema(name: str, summary: str, form: type[serializers.Serializer[Any]]) -> Any:
    return extend_schema(
        operation_id=f"clusters_{name}",
        tags=TAGS,
        summary=summary,
        parameters=[DRY_RUN],
        request=form,
        responses=PLANNED_OR_BEGUN,
    )


ADMIN = {"POST": Need(Role.ADMIN, Where.CLUSTER)}
OPERATOR = {"POST": Need(Role.OPERATOR, Where.CLUSTER)}


class GrowView(ChangeView):
    needs, form = ADMIN, GrowSerializer

    def plan(self, values: dict[str, Any]) -> Plan:
        names = values.pop("group_names", None)
        request = sizes.GrowRequest(**(values | ({"groups": names} if names else {})))
        return sizes.plan_grow(self.cluster, request, timezone.now())

    @_schema("grow", "Add name servers, broker groups or slaves.", GrowSerializer)
    def post(self, request: Request, cluster: str) -> Response:
        return self.begin(request)


class ShrinkView(ChangeView):
    needs, form = ADMIN, ShrinkSerializer

    def plan(self, values: dict[str, Any]) -> Plan:
        return sizes.plan_shrink(
            self.cluster,
            values["group"],
            values.get("member"),
            ignore_groups=values["ignore_groups"],
            data=values["data"],
        )

    @_schema("shrink", "Remove a broker group once it is consumed, or one slave.", ShrinkSerializer)
    def post(self, request: Request, cluster: str) -> Response:
        return self.begin(request)


class RestartView(ChangeView):
    needs, form = OPERATOR, RestartSerializer

    def plan(self, values: dict[str, Any]) -> Plan:
        return restarts.plan_restart(
            self.cluster, values.get("groups"), name_servers=values["name_servers"], now=timezone.now()
        )

    @_schema("restart", "Restart brokers one after the other, slaves first.", RestartSerializer)
    def post(self, request: Request, cluster: str) -> Response:
        return self.begin(request)


class UpgradeView(ChangeView):
    needs, form = ADMIN, UpgradeSerializer

    def plan(self, values: dict[str, Any]) -> Plan:
        return restarts.plan_upgrade(self.cluster, values["release"], timezone.now())

    @_schema("upgrade", "Run another release of the engine; rolling back returns.", UpgradeSerializer)
    def post(self, request: Request, cluster: str) -> Response:
        return self.begin(request)


class ConfigureView(ChangeView):
    needs, form = OPERATOR, ConfigureSerializer

    def plan(self, values: dict[str, Any]) -> Plan:
        scope = {name: values[name] for name in ("process", "group") if values.get(name)}
        return restarts.plan_configure(self.cluster, scope, values["changes"], timezone.now())

    @_schema("configure", "Change settings, while brokers run where that can be.", ConfigureSerializer)
    def post(self, request: Request, cluster: str) -> Response:
        return self.begin(request)


class AccessControlView(ChangeView):
    needs, form = ADMIN, AccessControlSerializer

    def plan(self, values: dict[str, Any]) -> Plan:
        return restarts.plan_access_control(self.cluster, values["access_control"], timezone.now())

    @_schema("access_control", "Turn access control on, off, or to administration.", AccessControlSerializer)
    def post(self, request: Request, cluster: str) -> Response:
        return self.begin(request)


class PromoteView(ChangeView):
    needs, form = OPERATOR, PromoteSerializer

    def plan(self, values: dict[str, Any]) -> Plan:
        return restarts.plan_promote(
            self.cluster, values["group"], values.get("member"), unclean=values["unclean"]
        )

    @_schema("promote", "Make a slave master.", PromoteSerializer)
    def post(self, request: Request, cluster: str) -> Response:
        return self.begin(request)


class RepairView(ChangeView):
    needs, form = OPERATOR, WithApproval

    def plan(self, values: dict[str, Any]) -> Plan:
        return repairs.plan_repair(self.cluster)

    @_schema("repair", "Start what is down and restart what runs with other settings.", WithApproval)
    def post(self, request: Request, cluster: str) -> Response:
        return self.begin(request)


_VIEWS = {
    "grow": GrowView,
    "shrink": ShrinkView,
    "restart": RestartView,
    "upgrade": UpgradeView,
    "configure": ConfigureView,
    "access_control": AccessControlView,
    "promote": PromoteView,
    "repair": RepairView,
}
urlpatterns = [path(f"clusters/<str:cluster>/{name}/", view.as_view()) for name, view in _VIEWS.items()]

"""Hosts: where processes run. Invited by a token that is shown once; joined by `manage.py agent --join`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions import hosts as actions
from clusters.api.lists import DRY_RUN, LIMIT, OFFSET, SEARCH, ListView, ordering_parameter, page_serializer
from clusters.models import Host
from clusters.provisioning.names import check_host_name
from clusters.provisioning.reconcile import is_silent
from clusters.selectors import hosts as selectors
from console.core.models.people import Role
from console.core.needs import Need, Where

TAGS = ["hosts"]
SEE = Need(Role.VIEWER, Where.PLATFORM)
RULE = Need(Role.ADMIN, Where.PLATFORM)


class HostSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    address = serializers.CharField()
    data_root = serializers.CharField()
    port_low = serializers.IntegerField()
    port_high = serializers.IntegerField()
    namesrv_port_low = serializers.IntegerField()
    namesrv_port_high = serializers.IntegerField()
    agent_version = serializers.CharField()
    labels = serializers.JSONField()
    joined_at = serializers.DateTimeField()
    heartbeat_at = serializers.DateTimeField(allow_null=True)
    booted_at = serializers.DateTimeField(allow_null=True)
    is_cordoned = serializers.BooleanField()
    is_silent = serializers.BooleanField(help_text="Its agent has not been heard of for half a minute.")
    brokers = serializers.IntegerField()
    masters = serializers.IntegerField()
    name_servers = serializers.IntegerField()


def shown(host: Host, load: dict[str, int]) -> dict[str, Any]:
    fields = {name: getattr(host, name, None) for name in HostSerializer().fields}
    return {**fields, **load, "is_silent": is_silent(host, timezone.now())}


class InviteSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=63)
    valid_hours = serializers.IntegerField(min_value=1, max_value=720, default=24)


class InvitationSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    token = serializers.CharField(help_text="Shown this once.")
    command = serializers.CharField()


class HostChangesSerializer(serializers.Serializer[Any]):
    is_cordoned = serializers.BooleanField(help_text="Nothing new is placed here.")


class HostsView(ListView):
    needs = {"GET": SEE, "POST": RULE}

    @extend_schema(
        operation_id="hosts_list",
        tags=TAGS,
        summary="Hosts, with what they run and when they were last heard of.",
        parameters=[SEARCH, ordering_parameter(selectors.ORDERINGS), LIMIT, OFFSET],
        responses=page_serializer("HostPage", HostSerializer),
    )
    def get(self, request: Request) -> Response:
        rows = selectors.living().filter(name__icontains=self.text_of("search"))
        pages, cut = self.cut(rows.order_by(self.ordering_of(selectors.ORDERINGS, "name"), "id"))
        loads = selectors.loads(cut)
        return self.page(pages, [shown(host, loads[host.pk]) for host in cut])

    @extend_schema(
        operation_id="hosts_invite",
        tags=TAGS,
        summary="A token that lets one agent join under that name, once.",
        parameters=[DRY_RUN],
        request=InviteSerializer,
        responses={201: InvitationSerializer, 200: InviteSerializer},
    )
    def post(self, request: Request) -> Response:
        form = InviteSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        name, hours = form.validated_data["name"], form.validated_data["valid_hours"]
        if self.is_dry_run:
            check_host_name(name)
            return Response({"name": name, "valid_hours": hours})
        token = actions.do_invite_host(
            name, actor=self.actor, now=timezone.now(), lifetime=timedelta(hours=hours)
        )
        command = f"manage.py agent --join {token} --name {name} --address ADDRESS"
        return Response({"name": name, "token": token, "command": command}, 201)


class HostView(ListView):
    needs = {"GET": SEE, "PATCH": RULE, "DELETE": RULE}

    @extend_schema(operation_id="hosts_read", tags=TAGS, summary="One host.", responses=HostSerializer)
    def get(self, request: Request, host: str) -> Response:
        return self._shown(selectors.get_host(host))

    def _shown(self, host: Host) -> Response:
        return Response(shown(host, selectors.loads([host])[host.pk]))

    @extend_schema(
        operation_id="hosts_change",
        tags=TAGS,
        summary="Cordon a host, or take that back.",
        parameters=[DRY_RUN],
        request=HostChangesSerializer,
        responses=HostSerializer,
    )
    def patch(self, request: Request, host: str) -> Response:
        form = HostChangesSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        found = selectors.get_host(host)
        if not self.is_dry_run:
            wanted = form.validated_data["is_cordoned"]
            found = actions.do_cordon_host(found, wanted, actor=self.actor, now=timezone.now())
        return self._shown(found)

    @extend_schema(
        operation_id="hosts_remove",
        tags=TAGS,
        summary="Forget a host that runs nothing any more.",
        parameters=[DRY_RUN],
        responses={204: None},
    )
    def delete(self, request: Request, host: str) -> Response:
        found = selectors.get_host(host)
        actions.refuse_used(found)
        if not self.is_dry_run:
            actions.do_remove_host(found, actor=self.actor, now=timezone.now())
        return Response(status=204)


urlpatterns = [
    path("hosts/", HostsView.as_view()),
    path("hosts/<str:host>/", HostView.as_view()),
]

"""Alerts by REST: what fires, rules, channels, silences, deliveries, and a test of each."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions import alerts as actions
from clusters.actions.alert_deliveries import do_test_channel
from clusters.api import alert_shapes as shapes
from clusters.api.lists import LIMIT, OFFSET, page_serializer
from clusters.models import Alert, AlertChannel, AlertDelivery, AlertRule, AlertSilence
from clusters.selectors.alerts import covers_patterns, visible_alerts
from console.core.models.people import Role
from console.core.needs import SIGNED_IN, Need, Where
from console.core.paging import Pages
from console.core.problems import Problem, not_found
from console.core.rights import fits
from console.core.views import PlatformView

TAGS = ["alerts"]
PLATFORM_VIEWER = Need(Role.VIEWER, Where.PLATFORM)
PLATFORM_ADMIN = Need(Role.ADMIN, Where.PLATFORM)
ABOUT_CLUSTER = OpenApiParameter("cluster", str, description="Those whose pattern matches its name.")


class AlertsPage(PlatformView):
    def page(self, rows: QuerySet[Any] | list[Any], serializer: Any) -> Response:
        pages = Pages()
        cut = pages.paginate_queryset(rows, self.request, self) or []
        return pages.get_paginated_response(serializer(cut, many=True).data)

    def is_about_cluster(self, pattern: str) -> bool:
        asked = self.request.query_params.get("cluster", "")
        return not asked or fits(pattern, asked)

    def may(self, role: int, clusters: str, names: str) -> bool:
        return covers_patterns(self.grants, role, clusters, names)

    def require_patterns(self, role: int, clusters: str, names: str) -> None:
        if not self.may(role, clusters, names):
            raise Problem("permission_denied", f"you may not do this to {names!r} of {clusters!r}", 403)


class AlertsView(AlertsPage):
    needs = {"GET": SIGNED_IN}

    @extend_schema(
        operation_id="alerts_list",
        tags=TAGS,
        summary="Alerts that are open, and those that were.",
        parameters=[
            OpenApiParameter("state", str, enum=["open", *Alert.State.values]),
            OpenApiParameter("cluster", str),
            OpenApiParameter("rule", str),
            LIMIT,
            OFFSET,
        ],
        responses=page_serializer("AlertPage", shapes.AlertSerializer),
    )
    def get(self, request: Request) -> Response:
        rows = visible_alerts(self.grants)
        asked = {name: request.query_params.get(name, "") for name in ("state", "cluster", "rule")}
        if any("\0" in text for text in asked.values()):
            raise Problem("invalid", "a filter has a zero byte", 400)
        if state := asked["state"]:
            if state not in ("open", *Alert.State.values):
                raise Problem("invalid", f"there is no state {state!r}", 400, field="state")
            rows = rows.filter(state__in=Alert.OPEN if state == "open" else [state])
        if asked["cluster"]:
            rows = rows.filter(cluster__name=asked["cluster"])
        if asked["rule"]:
            rows = rows.filter(rule__name=asked["rule"])
        return self.page(rows, shapes.AlertSerializer)


class RulesView(AlertsPage):
    needs = {"GET": SIGNED_IN, "POST": SIGNED_IN}

    @extend_schema(
        operation_id="alert_rules_list",
        tags=TAGS,
        parameters=[ABOUT_CLUSTER, LIMIT, OFFSET],
        responses=page_serializer("AlertRulePage", shapes.AlertRuleSerializer),
    )
    def get(self, request: Request) -> Response:
        """Rules of which you may see everything that they may name."""
        rows = [
            rule
            for rule in AlertRule.objects.prefetch_related("channels")
            if self.is_about_cluster(rule.cluster_pattern)
            and self.may(Role.VIEWER, rule.cluster_pattern, rule.name_pattern)
        ]
        return self.page(rows, shapes.AlertRuleSerializer)

    @extend_schema(
        operation_id="alert_rules_create",
        tags=TAGS,
        request=shapes.AlertRuleSerializer,
        responses={201: shapes.AlertRuleSerializer},
    )
    def post(self, request: Request) -> Response:
        """Needs an operator's grant on everything that the patterns match."""
        asked = shapes.AlertRuleSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        values = asked.validated_data
        self.require_patterns(Role.OPERATOR, values["cluster_pattern"], values["name_pattern"])
        rule = actions.do_save_rule(None, values, actor=self.actor, now=timezone.now())
        return Response(shapes.AlertRuleSerializer(rule).data, 201)


class OneRule(AlertsPage):
    def rule(self, role: int) -> AlertRule:
        rule = AlertRule.objects.filter(pk=self.kwargs["id"]).first()
        if rule is None or not self.may(Role.VIEWER, rule.cluster_pattern, rule.name_pattern):
            raise not_found("alert rule", str(self.kwargs["id"]))
        self.require_patterns(role, rule.cluster_pattern, rule.name_pattern)
        return rule


class RuleView(OneRule):
    needs = {"GET": SIGNED_IN, "PATCH": SIGNED_IN, "DELETE": SIGNED_IN}

    @extend_schema(operation_id="alert_rules_get", tags=TAGS, responses=shapes.AlertRuleSerializer)
    def get(self, request: Request, id: int) -> Response:
        return Response(shapes.AlertRuleSerializer(self.rule(Role.VIEWER)).data)

    @extend_schema(
        operation_id="alert_rules_change",
        tags=TAGS,
        request=shapes.AlertRuleSerializer(partial=True),
        responses=shapes.AlertRuleSerializer,
    )
    def patch(self, request: Request, id: int) -> Response:
        rule = self.rule(Role.OPERATOR)
        asked = shapes.AlertRuleSerializer(rule, data=request.data, partial=True)
        asked.is_valid(raise_exception=True)
        values = asked.validated_data
        clusters = values.get("cluster_pattern", rule.cluster_pattern)
        self.require_patterns(Role.OPERATOR, clusters, values.get("name_pattern", rule.name_pattern))
        rule = actions.do_save_rule(rule, values, actor=self.actor, now=timezone.now())
        return Response(shapes.AlertRuleSerializer(rule).data)

    @extend_schema(operation_id="alert_rules_delete", tags=TAGS, responses={204: None})
    def delete(self, request: Request, id: int) -> Response:
        actions.do_delete_rule(self.rule(Role.OPERATOR), actor=self.actor, now=timezone.now())
        return Response(status=204)


class RuleTestView(OneRule):
    needs = {"POST": SIGNED_IN}

    @extend_schema(
        operation_id="alert_rules_test",
        tags=TAGS,
        request=None,
        responses={200: shapes.TestFireSerializer, 207: shapes.TestFireSerializer},
    )
    def post(self, request: Request, id: int) -> Response:
        """Sends a test to every channel of the rule, at once, and says what came of it."""
        rule = self.rule(Role.OPERATOR)
        channels = list(rule.channels.all())
        if not channels:
            raise Problem("no_channels", "the rule has no channels", 409)
        deliveries = [do_test_channel(channel, rule, actor=self.actor) for channel in channels]
        return fired(deliveries)


class ChannelsView(AlertsPage):
    needs = {"GET": PLATFORM_VIEWER, "POST": PLATFORM_ADMIN}

    @extend_schema(
        operation_id="alert_channels_list",
        tags=TAGS,
        parameters=[LIMIT, OFFSET],
        responses=page_serializer("AlertChannelPage", shapes.AlertChannelSerializer),
    )
    def get(self, request: Request) -> Response:
        return self.page(AlertChannel.objects.all(), shapes.AlertChannelSerializer)

    @extend_schema(
        operation_id="alert_channels_create",
        tags=TAGS,
        request=shapes.AlertChannelSerializer,
        responses={201: shapes.AlertChannelSerializer},
    )
    def post(self, request: Request) -> Response:
        asked = shapes.AlertChannelSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        channel = actions.do_save_channel(None, asked.validated_data, actor=self.actor, now=timezone.now())
        return Response(shapes.AlertChannelSerializer(channel).data, 201)


class OneChannel(AlertsPage):
    def channel(self) -> AlertChannel:
        channel = AlertChannel.objects.filter(pk=self.kwargs["id"]).first()
        if channel is None:
            raise not_found("alert channel", str(self.kwargs["id"]))
        return channel


class ChannelView(OneChannel):
    needs = {"GET": PLATFORM_VIEWER, "PATCH": PLATFORM_ADMIN, "DELETE": PLATFORM_ADMIN}

    @extend_schema(operation_id="alert_channels_get", tags=TAGS, responses=shapes.AlertChannelSerializer)
    def get(self, request: Request, id: int) -> Response:
        return Response(shapes.AlertChannelSerializer(self.channel()).data)

    @extend_schema(
        operation_id="alert_channels_change",
        tags=TAGS,
        request=shapes.AlertChannelSerializer(partial=True),
        responses=shapes.AlertChannelSerializer,
    )
    def patch(self, request: Request, id: int) -> Response:
        asked = shapes.AlertChannelSerializer(self.channel(), data=request.data, partial=True)
        asked.is_valid(raise_exception=True)
        channel = actions.do_save_channel(
            asked.instance, asked.validated_data, actor=self.actor, now=timezone.now()
        )
        return Response(shapes.AlertChannelSerializer(channel).data)

    @extend_schema(operation_id="alert_channels_delete", tags=TAGS, responses={204: None})
    def delete(self, request: Request, id: int) -> Response:
        actions.do_delete_channel(self.channel(), actor=self.actor, now=timezone.now())
        return Response(status=204)


class ChannelTestView(OneChannel):
    needs = {"POST": PLATFORM_ADMIN}

    @extend_schema(
        operation_id="alert_channels_test",
        tags=TAGS,
        request=None,
        responses={200: shapes.TestFireSerializer, 207: shapes.TestFireSerializer},
    )
    def post(self, request: Request, id: int) -> Response:
        return fired([do_test_channel(self.channel(), None, actor=self.actor)])


class SilencesView(AlertsPage):
    needs = {"GET": SIGNED_IN, "POST": SIGNED_IN}

    @extend_schema(
        operation_id="alert_silences_list",
        tags=TAGS,
        parameters=[ABOUT_CLUSTER, LIMIT, OFFSET],
        responses=page_serializer("AlertSilencePage", shapes.AlertSilenceSerializer),
    )
    def get(self, request: Request) -> Response:
        rows = [
            one
            for one in AlertSilence.objects.select_related("rule")
            if self.is_about_cluster(one.cluster_pattern)
            and self.may(Role.VIEWER, one.cluster_pattern, one.name_pattern)
        ]
        return self.page(rows, shapes.AlertSilenceSerializer)

    @extend_schema(
        operation_id="alert_silences_create",
        tags=TAGS,
        request=shapes.AlertSilenceSerializer,
        responses={201: shapes.AlertSilenceSerializer},
    )
    def post(self, request: Request) -> Response:
        asked = shapes.AlertSilenceSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        values = asked.validated_data
        self.require_patterns(Role.OPERATOR, values["cluster_pattern"], values["name_pattern"])
        silence = actions.do_create_silence(values, actor=self.actor, now=timezone.now())
        return Response(shapes.AlertSilenceSerializer(silence).data, 201)


class SilenceView(AlertsPage):
    needs = {"DELETE": SIGNED_IN}

    @extend_schema(operation_id="alert_silences_end", tags=TAGS, responses={204: None})
    def delete(self, request: Request, id: int) -> Response:
        """Ends it now; it stays in the list."""
        silence = AlertSilence.objects.filter(pk=id).first()
        if silence is None or not self.may(Role.VIEWER, silence.cluster_pattern, silence.name_pattern):
            raise not_found("silence", str(id))
        self.require_patterns(Role.OPERATOR, silence.cluster_pattern, silence.name_pattern)
        actions.do_end_silence(silence, actor=self.actor, now=timezone.now())
        return Response(status=204)


class DeliveriesView(AlertsPage):
    needs = {"GET": PLATFORM_VIEWER}

    @extend_schema(
        operation_id="alert_deliveries_list",
        tags=TAGS,
        summary="What channels were told, and how that went.",
        parameters=[LIMIT, OFFSET],
        responses=page_serializer("AlertDeliveryPage", shapes.AlertDeliverySerializer),
    )
    def get(self, request: Request) -> Response:
        return self.page(AlertDelivery.objects.select_related("channel"), shapes.AlertDeliverySerializer)


def fired(deliveries: list[AlertDelivery]) -> Response:
    is_complete = all(one.state == AlertDelivery.State.SENT for one in deliveries)
    body = shapes.TestFireSerializer({"deliveries": deliveries, "is_complete": is_complete}).data
    return Response(body, 200 if is_complete else 207)


urlpatterns = [
    path("alerts/", AlertsView.as_view(), name="alerts"),
    path("alerts/rules/", RulesView.as_view(), name="alert-rules"),
    path("alerts/rules/<int:id>/", RuleView.as_view(), name="alert-rule"),
    path("alerts/rules/<int:id>/test/", RuleTestView.as_view(), name="alert-rule-test"),
    path("alerts/channels/", ChannelsView.as_view(), name="alert-channels"),
    path("alerts/channels/<int:id>/", ChannelView.as_view(), name="alert-channel"),
    path("alerts/channels/<int:id>/test/", ChannelTestView.as_view(), name="alert-channel-test"),
    path("alerts/silences/", SilencesView.as_view(), name="alert-silences"),
    path("alerts/silences/<int:id>/", SilenceView.as_view(), name="alert-silence"),
    path("alerts/deliveries/", DeliveriesView.as_view(), name="alert-deliveries"),
]

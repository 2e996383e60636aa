"""Consumer groups of a cluster: lists and pages from live rows, changes on brokers."""

from __future__ import annotations

from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions import groups as actions
from clusters.actions.broker_changes import reach
from clusters.actions.topics import do_set_favourite
from clusters.api import group_shapes as shapes
from clusters.api.cluster_view import ClusterView
from clusters.api.lists import (
    DRY_RUN,
    LIMIT,
    OFFSET,
    SEARCH,
    FreshnessSerializer,
    ListView,
    ordering_parameter,
    page_serializer,
)
from clusters.api.outcomes import CHANGED, OutcomesSerializer, PlanSerializer, answered, planned
from clusters.api.topics import FavouriteSerializer
from clusters.gateway import groups as gateway
from clusters.models import Favourite
from clusters.selectors import groups as selectors
from clusters.selectors.live import freshness_of
from console.core.fields import TopicNameField
from console.core.models.people import Role
from console.core.needs import Need, Where
from console.core.problems import Problem
from console.core.shaping import shaped
from console.core.views import flag

TAGS = ["groups"]
READ = Need(Role.VIEWER, Where.NAME)
WRITE = Need(Role.OPERATOR, Where.NAME)


class GroupsView(ListView):
    needs = {"GET": Need(Role.VIEWER, Where.INSIDE), "POST": Need(Role.OPERATOR, Where.INSIDE)}

    @extend_schema(
        operation_id="groups_list",
        tags=TAGS,
        summary="Consumer groups with their lag in messages and seconds, from live rows.",
        parameters=[
            SEARCH,
            OpenApiParameter("owner", str),
            OpenApiParameter("team", str),
            OpenApiParameter("has_members", bool),
            OpenApiParameter("favourites", bool),
            OpenApiParameter("system", bool, description="The brokers' own groups, too."),
            ordering_parameter(selectors.ORDERINGS),
            LIMIT,
            OFFSET,
        ],
        responses=page_serializer("GroupPage", shapes.GroupRowSerializer, freshness=FreshnessSerializer()),
    )
    def get(self, request: Request, cluster: str) -> Response:
        rows = selectors.filtered(
            selectors.live_groups(self.cluster, self.grants),
            self.cluster,
            search=self.text_of("search"),
            owner=self.text_of("owner"),
            team=self.text_of("team"),
            has_members=flag(request, "has_members") if "has_members" in request.query_params else None,
            favourites_of=request.user.pk if flag(request, "favourites") else None,
            with_system=flag(request, "system"),
        )
        ordering = self.ordering_of(selectors.ORDERINGS, "name")
        pages, cut = self.cut(selectors.ordered(rows, ordering).values(*selectors.LISTED))
        ages = freshness_of(self.cluster)
        described = selectors.described(self.cluster, cut, request.user.pk, ages["sampled_at"])
        return self.page(pages, shaped(shapes.GroupRowSerializer, described), freshness=ages)

    @extend_schema(
        operation_id="groups_create",
        tags=TAGS,
        summary="Make a consumer group on all masters.",
        parameters=[DRY_RUN],
        request=shapes.NewGroupSerializer,
        responses={200: PlanSerializer, 201: OutcomesSerializer, 207: OutcomesSerializer},
    )
    def post(self, request: Request, cluster: str) -> Response:
        form = shapes.NewGroupSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        wish = shapes.wish_of(form.validated_data["name"], form.validated_data)
        self.require(Role.OPERATOR, cluster, wish.name)
        if self.is_dry_run:
            return planned(actions.plan_group(self.cluster, wish, is_new=True))
        outcomes = actions.do_create_group(self.cluster, wish, actor=self.actor, now=timezone.now())
        return answered(outcomes, 201)


class GroupView(ClusterView):
    needs = {"GET": READ, "PATCH": WRITE, "DELETE": WRITE}
    name_kwarg = "group"

    @extend_schema(
        operation_id="groups_read",
        tags=TAGS,
        summary="One group: members, topics, lag of every queue.",
        responses=shapes.GroupSerializer,
    )
    def get(self, request: Request, cluster: str, group: str) -> Response:
        live, said = selectors.get_group(self.cluster, group)
        ages = freshness_of(self.cluster)
        body = selectors.detail(self.cluster, live, said, request.user.pk, ages["sampled_at"])
        return Response(shapes.GroupSerializer(body | {"freshness": ages}).data)

    @extend_schema(
        operation_id="groups_update",
        tags=TAGS,
        summary="Change a group on all masters, and what is said about it.",
        parameters=[DRY_RUN],
        request=shapes.GroupChangeSerializer,
        responses={200: CHANGED, 207: OutcomesSerializer},
    )
    def patch(self, request: Request, cluster: str, group: str) -> Response:
        form = shapes.GroupChangeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        wish = shapes.wish_of(group, form.validated_data)
        if not wish.spec and not wish.about:
            raise Problem("invalid", "nothing to change was given", 400)
        if not wish.spec:
            selectors.get_group(self.cluster, group)
        if self.is_dry_run:
            return planned(actions.plan_group(self.cluster, wish, is_new=False) if wish.spec else [])
        return answered(actions.do_change_group(self.cluster, wish, actor=self.actor, now=timezone.now()))

    @extend_schema(
        operation_id="groups_delete",
        tags=TAGS,
        summary="Delete a group with its offsets and retries; config and offsets are kept for a restore.",
        parameters=[DRY_RUN, OpenApiParameter("confirm", str, description="The group's name, typed again.")],
        responses={200: CHANGED, 207: OutcomesSerializer},
    )
    def delete(self, request: Request, cluster: str, group: str) -> Response:
        if self.is_dry_run:
            rows = actions.plan_group(self.cluster, actions.GroupWish(group), is_new=False)
            there = [row for row in rows if row["now"] is not None or row["change"] == "unknown"]
            return planned([row | _gone(row) for row in there])
        confirm = request.query_params.get("confirm", "")
        outcomes = actions.do_delete_group(
            self.cluster, group, confirm=confirm, actor=self.actor, now=timezone.now()
        )
        return answered(outcomes)


class GroupConfigView(ClusterView):
    needs = {"GET": READ}
    name_kwarg = "group"

    @extend_schema(
        operation_id="groups_config",
        tags=TAGS,
        summary="By broker: the group's config, asked now; null where a broker has no such group.",
        responses={200: OutcomesSerializer, 207: OutcomesSerializer},
    )
    def get(self, request: Request, cluster: str, group: str) -> Response:
        return answered(actions.read_group_config(self.cluster, group))


class GroupRestoreView(ClusterView):
    needs = {"POST": WRITE}
    name_kwarg = "group"

    @extend_schema(
        operation_id="groups_restore",
        tags=TAGS,
        summary="Make a deleted group again, where it stood.",
        request=None,
        responses={200: OutcomesSerializer, 207: OutcomesSerializer},
    )
    def post(self, request: Request, cluster: str, group: str) -> Response:
        return answered(actions.do_restore_group(self.cluster, group, actor=self.actor, now=timezone.now()))


class GroupFavouriteView(ClusterView):
    needs = {"PUT": READ}
    name_kwarg = "group"

    @extend_schema(
        operation_id="groups_favourite",
        tags=TAGS,
        summary="Mark a group as one of yours, or no longer.",
        request=FavouriteSerializer,
        responses=FavouriteSerializer,
    )
    def put(self, request: Request, cluster: str, group: str) -> Response:
        form = FavouriteSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        selectors.get_group(self.cluster, group)
        wanted = form.validated_data["is_favourite"]
        do_set_favourite(
            self.cluster, Favourite.Kind.GROUP, group, wanted, actor=self.actor, now=timezone.now()
        )
        return Response({"is_favourite": wanted})


class GroupRebalanceSerializer(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    joined = serializers.ListField(child=serializers.JSONField())
    left = serializers.ListField(child=serializers.JSONField())
    member_count = serializers.IntegerField()


class GroupRebalancesView(ListView):
    needs = {"GET": READ}
    name_kwarg = "group"

    @extend_schema(
        operation_id="groups_rebalances",
        tags=TAGS,
        summary="Who joined and left, newest first.",
        parameters=[LIMIT, OFFSET],
        responses=page_serializer("GroupRebalancePage", GroupRebalanceSerializer),
    )
    def get(self, request: Request, cluster: str, group: str) -> Response:
        pages, rows = self.cut(selectors.rebalances(self.cluster, group))
        return self.page(pages, GroupRebalanceSerializer(rows, many=True).data)


class ModeSerializer(serializers.Serializer[Any]):
    topic = TopicNameField()
    mode = serializers.ChoiceField(["pull", "pop"])
    share = serializers.IntegerField(
        min_value=0, max_value=1024, default=0, help_text="Of pop: members per queue; 0: every one."
    )


class GroupModesView(ClusterView):
    needs = {"GET": READ, "PUT": WRITE}
    name_kwarg = "group"

    @extend_schema(
        operation_id="groups_modes_read",
        tags=TAGS,
        summary="By broker: which topics the group was told to pull or pop.",
        responses=OutcomesSerializer,
    )
    def get(self, request: Request, cluster: str, group: str) -> Response:
        reached = reach(self.cluster)
        found = gateway.modes(reached.address, group, reached.expected)
        return answered(found)

    @extend_schema(
        operation_id="groups_modes_set",
        tags=TAGS,
        summary="Have a group pull or pop a topic, where brokers share the queues out.",
        request=ModeSerializer,
        responses={200: OutcomesSerializer, 207: OutcomesSerializer},
    )
    def put(self, request: Request, cluster: str, group: str) -> Response:
        form = ModeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        self.require(Role.VIEWER, cluster, asked["topic"])
        outcomes = actions.do_set_mode(
            self.cluster,
            group,
            asked["topic"],
            asked["mode"],
            asked["share"],
            actor=self.actor,
            now=timezone.now(),
        )
        return answered(outcomes)


def _gone(row: dict[str, Any]) -> dict[str, Any]:
    """A broker that does not say what it has stays unknown."""
    return {"then": None} | ({} if row["change"] == "unknown" else {"change": "delete"})


_ONE = "clusters/<str:cluster>/groups/<str:group>/"

urlpatterns = [
    path("clusters/<str:cluster>/groups/", GroupsView.as_view(), name="groups"),
    path(_ONE, GroupView.as_view(), name="group"),
    path(f"{_ONE}config/", GroupConfigView.as_view(), name="group-config"),
    path(f"{_ONE}restore/", GroupRestoreView.as_view(), name="group-restore"),
    path(f"{_ONE}favourite/", GroupFavouriteView.as_view(), name="group-favourite"),
    path(f"{_ONE}rebalances/", GroupRebalancesView.as_view(), name="group-rebalances"),
    path(f"{_ONE}modes/", GroupModesView.as_view(), name="group-modes"),
]

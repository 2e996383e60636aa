"""Topics of a cluster: lists and pages from live rows, changes on brokers."""

from __future__ import annotations

from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    PolymorphicProxySerializer,
    extend_schema,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions import topics as actions
from clusters.api import topic_shapes as shapes
from clusters.api.cluster_view import ClusterView
from clusters.api.lists import (
    DRY_RUN,
    LIMIT,
    OFFSET,
    SEARCH,
    ListView,
    ordering_parameter,
    page_serializer,
)
from clusters.api.outcomes import CHANGED, OutcomesSerializer, PlanSerializer, answered, planned
from clusters.api.topic_usage import ImpactSerializer, impact_of
from clusters.models import Favourite, LiveTopic
from clusters.selectors import topics as selectors
from clusters.selectors.live import freshness_of
from console.core.models.people import Role
from console.core.needs import Need, Where
from console.core.problems import Problem
from console.core.shaping import shaped
from console.core.views import flag

TAGS = ["topics"]
READ = Need(Role.VIEWER, Where.NAME)
WRITE = Need(Role.OPERATOR, Where.NAME)

_DELETED = PolymorphicProxySerializer(
    component_name="TopicDeleteAnswer",
    serializers=[OutcomesSerializer, ImpactSerializer],
    resource_type_field_name=None,
)


class TopicsView(ListView):
    needs = {"GET": Need(Role.VIEWER, Where.INSIDE), "POST": Need(Role.OPERATOR, Where.INSIDE)}

    @extend_schema(
        operation_id="topics_list",
        tags=TAGS,
        summary="Topics, from live rows; no broker is asked.",
        parameters=[
            SEARCH,
            OpenApiParameter("kind", str, enum=list(LiveTopic.Kind.values), many=True),
            OpenApiParameter("owner", str),
            OpenApiParameter("team", str),
            OpenApiParameter("favourites", bool, description="Only those that you marked."),
            ordering_parameter(selectors.ORDERINGS),
            LIMIT,
            OFFSET,
        ],
        responses=page_serializer(
            "TopicPage", shapes.TopicRowSerializer, freshness=shapes.FreshnessSerializer()
        ),
    )
    def get(self, request: Request, cluster: str) -> Response:
        rows = selectors.filtered(
            selectors.live_topics(self.cluster, self.grants),
            self.cluster,
            search=self.text_of("search"),
            kinds=_kinds(request),
            owner=self.text_of("owner"),
            team=self.text_of("team"),
            favourites_of=request.user.pk if flag(request, "favourites") else None,
        )
        ordering = self.ordering_of(selectors.ORDERINGS, "name")
        pages, cut = self.cut_wide(selectors.ordered(rows, ordering), selectors.LISTED)
        described = selectors.described(self.cluster, cut, request.user.pk)
        results = shaped(shapes.TopicRowSerializer, described)
        return self.page(pages, results, freshness=freshness_of(self.cluster))

    @extend_schema(
        operation_id="topics_create",
        tags=TAGS,
        summary="Make a topic on chosen broker groups, or on all masters.",
        parameters=[DRY_RUN],
        request=shapes.NewTopicSerializer,
        responses={200: PlanSerializer, 201: OutcomesSerializer, 207: OutcomesSerializer},
    )
    def post(self, request: Request, cluster: str) -> Response:
        form = shapes.NewTopicSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        wish = shapes.wish_of(form.validated_data["name"], form.validated_data)
        self.require(Role.OPERATOR, cluster, wish.name)
        if self.is_dry_run:
            return planned(actions.plan_topic(self.cluster, wish, is_new=True))
        outcomes = actions.do_create_topic(self.cluster, wish, actor=self.actor, now=timezone.now())
        return answered(outcomes, 201)


class TopicView(ClusterView):
    needs = {"GET": READ, "PATCH": WRITE, "DELETE": WRITE}
    name_kwarg = "topic"

    @extend_schema(
        operation_id="topics_read",
        tags=TAGS,
        summary="One topic with its queues, and what differs from what was declared.",
        responses=shapes.TopicSerializer,
    )
    def get(self, request: Request, cluster: str, topic: str) -> Response:
        live, said = selectors.get_topic(self.cluster, topic)
        body = selectors.detail(self.cluster, live, said, request.user.pk)
        return Response(shapes.TopicSerializer(body | {"freshness": freshness_of(self.cluster)}).data)

    @extend_schema(
        operation_id="topics_update",
        tags=TAGS,
        summary="Change a topic on the brokers that have it, and what is said about it.",
        parameters=[DRY_RUN],
        request=shapes.TopicChangeSerializer,
        responses={200: CHANGED, 207: OutcomesSerializer},
    )
    def patch(self, request: Request, cluster: str, topic: str) -> Response:
        form = shapes.TopicChangeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        wish = shapes.wish_of(topic, form.validated_data)
        if not wish.spec and not wish.about:
            raise Problem("invalid", "nothing to change was given", 400)
        if not wish.spec:
            selectors.get_topic(self.cluster, topic)
        if self.is_dry_run:
            return planned(actions.plan_topic(self.cluster, wish, is_new=False) if wish.spec else [])
        return answered(actions.do_change_topic(self.cluster, wish, actor=self.actor, now=timezone.now()))

    @extend_schema(
        operation_id="topics_delete",
        tags=TAGS,
        summary="Delete a topic everywhere; its config is kept for a restore. A dry run shows the impact.",
        parameters=[DRY_RUN, OpenApiParameter("confirm", str, description="The topic's name, typed again.")],
        responses={200: _DELETED, 207: OutcomesSerializer},
    )
    def delete(self, request: Request, cluster: str, topic: str) -> Response:
        if self.is_dry_run:
            actions.refuse_system_topic(self.cluster, topic, is_new=False)
            return Response(impact_of(self.cluster, topic, self.grants))
        confirm = request.query_params.get("confirm", "")
        outcomes = actions.do_delete_topic(
            self.cluster, topic, confirm=confirm, actor=self.actor, now=timezone.now()
        )
        return answered(outcomes)


class TopicConfigView(ClusterView):
    needs = {"GET": READ}
    name_kwarg = "topic"

    @extend_schema(
        operation_id="topics_config",
        tags=TAGS,
        summary="By broker: the topic's config, asked now; null where a broker has no such topic.",
        responses={200: OutcomesSerializer, 207: OutcomesSerializer},
    )
    def get(self, request: Request, cluster: str, topic: str) -> Response:
        return answered(actions.read_topic_config(self.cluster, topic))


class TopicRestoreView(ClusterView):
    needs = {"POST": WRITE}
    name_kwarg = "topic"

    @extend_schema(
        operation_id="topics_restore",
        tags=TAGS,
        summary="Make a deleted topic again with the config that it had. Its messages are gone.",
        parameters=[DRY_RUN],
        request=None,
        responses={200: CHANGED, 207: OutcomesSerializer},
    )
    def post(self, request: Request, cluster: str, topic: str) -> Response:
        if self.is_dry_run:
            kept = actions.buried_topic(self.cluster, topic).keepsake["brokers"]
            return planned(
                [
                    {
                        "broker": name,
                        "address": "",
                        "change": "create",
                        "now": None,
                        "then": spec,
                        "detail": "",
                    }
                    for name, spec in kept.items()
                ]
            )
        return answered(actions.do_restore_topic(self.cluster, topic, actor=self.actor, now=timezone.now()))


class FavouriteSerializer(serializers.Serializer[Any]):
    is_favourite = serializers.BooleanField()


class TopicFavouriteView(ClusterView):
    """What somebody marks is their own: seeing the topic is enough."""

    needs = {"PUT": READ}
    name_kwarg = "topic"

    @extend_schema(
        operation_id="topics_favourite",
        tags=TAGS,
        summary="Mark a topic as one of yours, or no longer.",
        request=FavouriteSerializer,
        responses=OpenApiResponse(FavouriteSerializer),
    )
    def put(self, request: Request, cluster: str, topic: str) -> Response:
        form = FavouriteSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        selectors.get_topic(self.cluster, topic)
        wanted = form.validated_data["is_favourite"]
        actions.do_set_favourite(
            self.cluster, Favourite.Kind.TOPIC, topic, wanted, actor=self.actor, now=timezone.now()
        )
        return Response({"is_favourite": wanted})


def _kinds(request: Request) -> list[str]:
    kinds = [kind for given in request.query_params.getlist("kind") for kind in given.split(",") if kind]
    for kind in kinds:
        if kind not in LiveTopic.Kind.values:
            raise Problem("invalid", f"{kind!r} is no kind of topic", 400, field="kind")
    return kinds


_ONE = "clusters/<str:cluster>/topics/<str:topic>/"

urlpatterns = [
    path("clusters/<str:cluster>/topics/", TopicsView.as_view(), name="topics"),
    path(_ONE, TopicView.as_view(), name="topic"),
    path(f"{_ONE}config/", TopicConfigView.as_view(), name="topic-config"),
    path(f"{_ONE}restore/", TopicRestoreView.as_view(), name="topic-restore"),
    path(f"{_ONE}favourite/", TopicFavouriteView.as_view(), name="topic-favourite"),
]

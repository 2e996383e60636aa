"""Clusters: listed, created or attached, described, deleted, restored."""

from __future__ import annotations

from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions import attachments, clusters
from clusters.actions.operations import do_start_operation
from clusters.api import cluster_shapes as shapes
from clusters.api.lists import DRY_RUN, LIMIT, OFFSET, SEARCH, ListView, ordering_parameter, page_serializer
from clusters.api.operation_shapes import (
    PLANNED_OR_BEGUN,
    OperationDetailSerializer,
    OperationPlanSerializer,
    begun,
    plan_answer,
)
from clusters.models import Cluster
from clusters.selectors import clusters as selectors
from console.core.models.people import Role
from console.core.needs import SIGNED_IN, Need, Where
from console.core.views import flag

TAGS = ["clusters"]


class ClustersView(ListView):
    needs = {"GET": SIGNED_IN, "POST": SIGNED_IN}

    @extend_schema(
        operation_id="clusters_list",
        tags=TAGS,
        summary="Clusters that you may see.",
        parameters=[
            SEARCH,
            OpenApiParameter("kind", str, enum=["managed", "attached"]),
            OpenApiParameter("deleted", bool, description="Those that can be restored."),
            ordering_parameter(shapes.ORDERINGS),
            LIMIT,
            OFFSET,
        ],
        responses=page_serializer("ClusterPage", shapes.ClusterSerializer),
    )
    def get(self, request: Request) -> Response:
        if flag(request, "deleted"):
            rows = Cluster.objects.exclude(deleted_at=None).exclude(keepsake=None)
            rows = rows.filter(self.grants.clusters_filter())
        else:
            rows = selectors.visible(self.grants)
        rows = rows.filter(name__icontains=self.text_of("search"))
        if kind := self.text_of("kind"):
            rows = rows.filter(kind=kind)
        pages, cut = self.cut(rows.order_by(self.ordering_of(shapes.ORDERINGS, "name"), "id"))
        return self.page(pages, [shapes.shown(each, about) for each, about in shapes.with_counts(cut)])

    @extend_schema(
        operation_id="clusters_create",
        tags=TAGS,
        summary="Create a cluster on hosts of yours, or attach one that somebody else runs.",
        parameters=[DRY_RUN],
        request=PolymorphicProxySerializer(
            component_name="ClusterToMake",
            serializers={"managed": shapes.NewClusterSerializer, "attached": shapes.AttachSerializer},
            resource_type_field_name="kind",
        ),
        responses={
            200: OperationPlanSerializer,
            201: shapes.ClusterSerializer,
            202: OperationDetailSerializer,
        },
    )
    def post(self, request: Request) -> Response:
        is_attached = isinstance(request.data, dict) and request.data.get("kind") == "attached"
        return self._attach(request) if is_attached else self._create(request)

    def _create(self, request: Request) -> Response:
        form = shapes.NewClusterSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        wanted = shapes.cluster_request(form.validated_data)
        self.require(Role.ADMIN, wanted.name, "*")
        now = timezone.now()
        plan = clusters.plan_create(wanted, now)
        if self.is_dry_run:
            return plan_answer(plan, needs_approval=wanted.needs_approval)
        return begun(clusters.do_create_cluster(wanted, plan, actor=self.actor, now=now))

    def _attach(self, request: Request) -> Response:
        form = shapes.AttachSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        values = dict(form.validated_data)
        values.pop("kind")
        wanted = attachments.AttachRequest(**values)
        self.require(Role.ADMIN, wanted.name, "*")
        found = attachments.plan_attach(wanted)
        if self.is_dry_run:
            body = {"kind": "attach", "summary": f"Attach {wanted.name}", "warnings": [], "steps": []}
            return Response({**body, "plan": found.sentences(wanted.name), "needs_approval": False})
        cluster = attachments.do_attach_cluster(wanted, found, actor=self.actor, now=timezone.now())
        return Response(shapes.shown_one(cluster), 201)


class ClusterDetailView(ListView):
    needs = {
        "GET": Need(Role.VIEWER, Where.INSIDE),
        "PATCH": Need(Role.ADMIN, Where.CLUSTER),
        "DELETE": Need(Role.ADMIN, Where.CLUSTER),
    }

    @extend_schema(
        operation_id="clusters_read",
        tags=TAGS,
        summary="One cluster with its groups and name servers as they should be.",
        responses=shapes.ClusterDetailSerializer,
    )
    def get(self, request: Request, cluster: str) -> Response:
        return Response(shapes.detail(self.cluster))

    @extend_schema(
        operation_id="clusters_change",
        tags=TAGS,
        summary="Labels and policy.",
        parameters=[DRY_RUN],
        request=shapes.ClusterChangesSerializer,
        responses=shapes.ClusterDetailSerializer,
    )
    def patch(self, request: Request, cluster: str) -> Response:
        form = shapes.ClusterChangesSerializer(data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        found = self.cluster
        if not self.is_dry_run:
            found = clusters.do_change_cluster(
                found, form.validated_data, actor=self.actor, now=timezone.now()
            )
        return Response(shapes.detail(found))

    @extend_schema(
        operation_id="clusters_delete",
        tags=TAGS,
        summary="Delete a cluster with its processes, or detach one. Type its name to confirm.",
        parameters=[
            DRY_RUN,
            OpenApiParameter("confirm", str, required=True, description="The cluster's name."),
            OpenApiParameter("keep_data", bool, description="Leave the stores where they are."),
        ],
        responses={**PLANNED_OR_BEGUN, 204: None},
    )
    def delete(self, request: Request, cluster: str) -> Response:
        found, now, confirm = self.cluster, timezone.now(), self.text_of("confirm")
        if found.kind == Cluster.Kind.ATTACHED:
            attachments.refuse_unconfirmed(found, confirm)
            if not self.is_dry_run:
                attachments.do_detach_cluster(found, actor=self.actor, now=now)
            return Response(status=204)
        keep_data = flag(request, "keep_data")
        plan = clusters.plan_delete(found, confirm=confirm, keep_data=keep_data)
        if self.is_dry_run:
            return plan_answer(plan, needs_approval=found.needs_approval)
        stored: dict[str, Any] = {"keep_data": keep_data}
        return begun(do_start_operation(found, plan, stored, needs_approval=False, actor=self.actor, now=now))


class RestoreView(ListView):
    needs = {"POST": Need(Role.ADMIN, Where.CLUSTER)}

    @extend_schema(
        operation_id="clusters_restore",
        tags=TAGS,
        summary="Bring back the cluster of this name that was deleted last.",
        parameters=[DRY_RUN],
        request=None,
        responses=PLANNED_OR_BEGUN,
    )
    def post(self, request: Request, cluster: str) -> Response:
        found, now = clusters.get_deleted(cluster), timezone.now()
        plan = clusters.plan_restore(found, now)
        if self.is_dry_run:
            return plan_answer(plan, needs_approval=found.needs_approval)
        return begun(do_start_operation(found, plan, {}, needs_approval=False, actor=self.actor, now=now))


class RefreshView(ListView):
    needs = {"POST": Need(Role.ADMIN, Where.CLUSTER)}

    @extend_schema(
        operation_id="clusters_refresh",
        tags=TAGS,
        summary="Take the broker addresses that an attached cluster's name servers know now.",
        request=None,
        responses=shapes.ClusterDetailSerializer,
    )
    def post(self, request: Request, cluster: str) -> Response:
        found = attachments.do_refresh_addresses(self.cluster, actor=self.actor, now=timezone.now())
        return Response(shapes.detail(found))


urlpatterns = [
    path("clusters/", ClustersView.as_view()),
    path("clusters/<str:cluster>/", ClusterDetailView.as_view()),
    path("clusters/<str:cluster>/restore/", RestoreView.as_view()),
    path("clusters/<str:cluster>/refresh/", RefreshView.as_view()),
]

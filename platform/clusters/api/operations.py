"""Operations: what is under way and what was, step by step; approving, cancelling, retrying, rolling back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions import operations as actions
from clusters.api.lists import LIMIT, OFFSET, ListView, ordering_parameter, page_serializer
from clusters.api.operation_shapes import (
    LineSerializer,
    OperationDetailSerializer,
    OperationSerializer,
)
from clusters.models import Operation
from clusters.selectors import operations as selectors
from console.core.models.people import Role
from console.core.needs import SIGNED_IN, Need, Where
from console.core.problems import Problem

TAGS = ["operations"]
BY_ADMIN = frozenset({"create", "grow", "shrink", "upgrade", "delete", "restore"})
"""Kinds that only an administrator of the cluster may begin, cancel or undo; the others an operator may."""
FILTERS = [OpenApiParameter("state", str), OpenApiParameter("kind", str)]


def role_for(kind: str) -> Role:
    return Role.ADMIN if kind in BY_ADMIN else Role.OPERATOR


class OperationsView(ListView):
    needs = {"GET": SIGNED_IN}

    @extend_schema(
        operation_id="operations_list",
        tags=TAGS,
        summary="Operations of all clusters that you may see, the newest first.",
        parameters=[
            OpenApiParameter("cluster", str),
            *FILTERS,
            ordering_parameter(selectors.ORDERINGS),
            LIMIT,
            OFFSET,
        ],
        responses=page_serializer("OperationPage", OperationSerializer),
    )
    def get(self, request: Request) -> Response:
        return self.listed(self.text_of("cluster"))

    def listed(self, cluster: str) -> Response:
        rows = selectors.visible(self.grants)
        for name, value in (("cluster__name", cluster), *((n, self.text_of(n)) for n in ("state", "kind"))):
            if value:
                rows = rows.filter(**{name: value})
        ordering = self.ordering_of(selectors.ORDERINGS, "-created_at")
        pages, cut = self.cut(rows.order_by(ordering, "id"))
        return self.page(pages, OperationSerializer(cut, many=True).data)


class ClusterOperationsView(OperationsView):
    needs = {"GET": Need(Role.VIEWER, Where.INSIDE)}

    @extend_schema(
        operation_id="cluster_operations_list",
        tags=TAGS,
        summary="Operations of one cluster.",
        parameters=[*FILTERS, ordering_parameter(selectors.ORDERINGS), LIMIT, OFFSET],
        responses=page_serializer("ClusterOperationPage", OperationSerializer),
    )
    def get(self, request: Request, cluster: str) -> Response:  # type: ignore[override]
        return self.listed(self.cluster.name)


class OperationView(ListView):
    needs = {"GET": SIGNED_IN}

    @extend_schema(
        operation_id="operations_read",
        tags=TAGS,
        summary="One operation with its plan and steps.",
        responses=OperationDetailSerializer,
    )
    def get(self, request: Request, operation: str) -> Response:
        return Response(OperationDetailSerializer(selectors.get_operation(operation, self.grants)).data)


class OperationLinesView(ListView):
    needs = {"GET": SIGNED_IN}

    @extend_schema(
        operation_id="operations_lines",
        tags=TAGS,
        summary="What its steps wrote down, the oldest first.",
        parameters=[
            OpenApiParameter("step", int),
            OpenApiParameter("after", int, description="Lines with a higher id only."),
            LIMIT,
            OFFSET,
        ],
        responses=page_serializer("LinePage", LineSerializer),
    )
    def get(self, request: Request, operation: str) -> Response:
        found = selectors.get_operation(operation, self.grants)
        rows = selectors.lines_of(found, self._number("step"))
        if (after := self._number("after")) is not None:
            rows = rows.filter(pk__gt=after)
        pages, cut = self.cut(rows)
        return self.page(pages, LineSerializer(cut, many=True).data)

    def _number(self, name: str) -> int | None:
        text = self.text_of(name)
        if text and not (text.isdigit() and len(text) < 19):
            raise Problem("invalid", f"{name} is a number", 400, field=name)
        return int(text) if text else None


class _Verb(ListView):
    """POST operations/{id}/<verb>/. Who may: as for beginning such an operation."""

    needs = {"POST": SIGNED_IN}

    def change(self, operation: str, action: Callable[..., Operation], role: Role | None = None) -> Response:
        found = selectors.get_operation(operation, self.grants)
        cluster = "*" if found.cluster is None else found.cluster.name
        wanted = role_for(found.kind) if role is None else role
        if not self.grants.may(wanted, cluster):
            raise Problem("permission_denied", "you may not do this to the operation", 403)
        changed = action(found, actor=self.actor, now=timezone.now())
        return Response(OperationDetailSerializer(changed).data)


def _verb(name: str, summary: str, action: Callable[..., Operation], role: Role | None = None) -> Any:
    class View(_Verb):
        @extend_schema(
            operation_id=f"operations_{name}",
            tags=TAGS,
            summary=summary,
            request=None,
            responses=OperationDetailSerializer,
        )
        def post(self, request: Request, operation: str) -> Response:
            return self.change(operation, action, role)

    View.__name__ = f"{name.title().replace('_', '')}View"
    return View.as_view()


VERBS = {
    "approve": ("A second person lets it begin.", actions.do_approve_operation, Role.ADMIN),
    "cancel": ("Stop after the step that runs.", actions.do_cancel_operation, None),
    "retry": ("Try what failed again.", actions.do_retry_operation, None),
    "roll_back": ("Undo what was done, the last first.", actions.do_roll_back_operation, None),
    "give_up": ("Leave it as it is and free the cluster.", actions.do_give_up_operation, None),
}

urlpatterns = [
    path("operations/", OperationsView.as_view()),
    path("operations/<str:operation>/", OperationView.as_view()),
    path("operations/<str:operation>/lines/", OperationLinesView.as_view()),
    path("clusters/<str:cluster>/operations/", ClusterOperationsView.as_view()),
    *(
        path(f"operations/<str:operation>/{name}/", _verb(name, *about), name=f"operation_{name}")
        for name, about in VERBS.items()
    ),
]

"""Users and policies of brokers: put together over all of them, changed on all of them, explained.

Asked of the brokers each time: no collector keeps them, and who may do what should not be read from memory.
"""

from __future__ import annotations

from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions import acl as actions
from clusters.api import acl_shapes as shapes
from clusters.api.cluster_view import ClusterView
from clusters.api.lists import DRY_RUN, SEARCH, ListView
from clusters.api.outcomes import CHANGED, OutcomesSerializer, PlanSerializer, answered
from clusters.gateway.acl import policy_infos
from clusters.gateway.writes import BrokerOutcome, refuse_total_failure
from clusters.models import AclUser
from clusters.selectors.access_decisions import explain, is_open_action, needs_of, normal_entry
from console.core.models.people import Role
from console.core.needs import Need, Where
from console.core.problems import Problem, not_found

TAGS = ["acl"]
READ = Need(Role.ADMIN, Where.CLUSTER)
WRITE = Need(Role.ADMIN, Where.CLUSTER)
SWITCH = "authenticationEnabled"
"""Brokers without access control name the setting that they lack."""

_CHANGED_USER = PolymorphicProxySerializer(
    component_name="AclUserChangeAnswer",
    serializers=[shapes.NewAclUserAnswerSerializer, PlanSerializer],
    resource_type_field_name=None,
)


class UsersView(ListView):
    needs = {"GET": READ, "POST": WRITE}

    @extend_schema(
        operation_id="acl_users_list",
        tags=TAGS,
        summary="Users and policies of all brokers as one list, with what differs where.",
        parameters=[SEARCH],
        responses=shapes.AclUsersSerializer,
    )
    def get(self, request: Request, cluster: str) -> Response:
        outcomes = actions.read_access(self.cluster)
        _refuse_unreadable(outcomes)
        part = self.text_of("search").lower()
        declared = {row.name: row for row in AclUser.objects.filter(cluster=self.cluster)}
        users = [row for row in actions.merged(outcomes, declared) if part in row["name"].lower()]
        return Response(shapes.AclUsersSerializer(_listed(users, outcomes)).data)

    @extend_schema(
        operation_id="acl_users_create",
        tags=TAGS,
        summary="Make a user on all masters. Without a secret one is made, and shown this once.",
        parameters=[DRY_RUN],
        request=shapes.NewAclUserSerializer,
        responses={
            200: CHANGED,
            201: shapes.NewAclUserAnswerSerializer,
            207: shapes.NewAclUserAnswerSerializer,
        },
    )
    def post(self, request: Request, cluster: str) -> Response:
        form = shapes.NewAclUserSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        wish = {"kind": asked["kind"], "status": asked["status"]}
        if self.is_dry_run:
            return _planned(actions.read_access(self.cluster, asked["name"]), asked["name"], wish)
        secret = asked.get("secret") or actions.new_secret()
        outcomes = actions.do_create_user(
            self.cluster,
            asked["name"],
            wish,
            secret,
            labels=asked.get("labels"),
            actor=self.actor,
            now=timezone.now(),
        )
        shown = None if asked.get("secret") else secret
        return answered(outcomes, 201, secret=shown)


class UserView(ClusterView):
    needs = {"GET": READ, "PATCH": WRITE, "DELETE": WRITE}

    @extend_schema(
        operation_id="acl_users_read",
        tags=TAGS,
        summary="One user with its policies and what differs where.",
        responses=shapes.AclUserSerializer,
    )
    def get(self, request: Request, cluster: str, user: str) -> Response:
        return Response(shapes.AclUserSerializer(_found(self.cluster, user)).data)

    @extend_schema(
        operation_id="acl_users_update",
        tags=TAGS,
        summary="Change kind, status or secret on all masters; a user that a broker misses is made there.",
        parameters=[DRY_RUN],
        request=shapes.AclUserChangeSerializer,
        responses={200: _CHANGED_USER, 207: shapes.NewAclUserAnswerSerializer},
    )
    def patch(self, request: Request, cluster: str, user: str) -> Response:
        form = shapes.AclUserChangeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        wish = {key: asked[key] for key in ("kind", "status") if key in asked}
        if self.is_dry_run:
            return _planned(actions.read_access(self.cluster, user), user, wish)
        is_new = bool(asked.get("new_secret"))
        secret = actions.new_secret() if is_new else asked.get("secret")
        outcomes = actions.do_change_user(
            self.cluster, user, wish, secret, actor=self.actor, now=timezone.now()
        )
        return answered(outcomes, secret=secret if is_new else None)

    @extend_schema(
        operation_id="acl_users_delete",
        tags=TAGS,
        summary="Delete a user with its policies on all masters.",
        parameters=[OpenApiParameter("confirm", str, description="The user's name, typed again.")],
        responses={200: OutcomesSerializer, 207: OutcomesSerializer},
    )
    def delete(self, request: Request, cluster: str, user: str) -> Response:
        confirm = request.query_params.get("confirm", "")
        return answered(
            actions.do_delete_user(self.cluster, user, confirm=confirm, actor=self.actor, now=timezone.now())
        )


class PoliciesView(ClusterView):
    needs = {"PUT": WRITE}

    @extend_schema(
        operation_id="acl_policies_put",
        tags=TAGS,
        summary="Make a user's policies these and no others, on all masters.",
        parameters=[DRY_RUN],
        request=shapes.AclPoliciesSerializer,
        responses={200: CHANGED, 207: OutcomesSerializer},
    )
    def put(self, request: Request, cluster: str, user: str) -> Response:
        form = shapes.AclPoliciesSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data["policies"]
        entries = [normal_entry(row, f"policies[{number}]") for number, row in enumerate(given)]
        if self.is_dry_run:
            return _planned(actions.read_access(self.cluster, user), user, {"policies": entries})
        return answered(
            actions.do_put_policies(self.cluster, user, entries, actor=self.actor, now=timezone.now())
        )


class ExplainView(ClusterView):
    """A question, although it has a body: it changes nothing and leaves no audit row."""

    needs = {"POST": READ}

    @extend_schema(
        operation_id="acl_explain",
        tags=TAGS,
        summary="May this user do that from that address? With the rule that decides, by broker.",
        request=shapes.AclQuestionSerializer,
        responses=shapes.AclExplanationSerializer,
    )
    def post(self, request: Request, cluster: str) -> Response:
        form = shapes.AclQuestionSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        needs = needs_of(asked["action"], asked["topic"], asked["group"], self.cluster.broker_cluster_name)
        outcomes = actions.read_access(self.cluster, asked["user"])
        _refuse_unreadable(outcomes)
        is_open = is_open_action(self.cluster.access_control, asked["action"])
        answers = [_explained(one, asked["user"], needs, asked["address"], is_open) for one in outcomes]
        known = {answer["is_allowed"] for answer in answers}
        body = {
            "is_allowed": known.pop() if len(known) == 1 else None,
            "brokers": answers,
            "is_complete": all(one.ok for one in outcomes),
        }
        return Response(shapes.AclExplanationSerializer(body).data)


def _refuse_unreadable(outcomes: list[BrokerOutcome]) -> None:
    """Brokers without access control have no users: no failure, and screens say it in their own words."""
    if outcomes and all(not one.ok and SWITCH in one.detail for one in outcomes):
        raise Problem("access_control_off", outcomes[0].detail, 409)
    refuse_total_failure(outcomes)


def _explained(one: BrokerOutcome, user: str, needs: list[Any], ip: str, is_open: bool) -> dict[str, Any]:
    if not one.ok:
        return {"broker": one.broker, "is_allowed": None, "code": "silent", "reason": one.detail, "rules": []}
    found = one.read_back.get(user)
    infos = policy_infos(found["policies"]) if found else ()
    return {"broker": one.broker} | explain(found, infos, needs, ip, is_open=is_open)


def _found(cluster: Any, name: str) -> dict[str, Any]:
    outcomes = actions.read_access(cluster, name)
    _refuse_unreadable(outcomes)
    declared = {row.name: row for row in AclUser.objects.filter(cluster=cluster, name=name)}
    rows = actions.merged(outcomes, declared)
    if not rows:
        raise not_found("user", name)
    silent = [one.broker for one in outcomes if not one.ok]
    return rows[0] | {"unknown_on": silent}


def _listed(users: list[dict[str, Any]], outcomes: list[BrokerOutcome]) -> dict[str, Any]:
    silent = [one.broker for one in outcomes if not one.ok]
    return {
        "users": [row | {"unknown_on": silent} for row in users],
        "brokers": [one.as_json() | {"read_back": None} for one in outcomes],
        "is_complete": not silent,
    }


def _planned(outcomes: list[BrokerOutcome], name: str, wish: dict[str, Any]) -> Response:
    rows = []
    for one in outcomes:
        now = one.read_back.get(name) if one.ok else None
        then = (now or {}) | wish
        change = "none" if now == then else "update" if now else "create"
        rows.append(
            {
                "broker": one.broker,
                "address": one.address,
                "change": change if one.ok else "unknown",
                "now": now,
                "then": then,
                "detail": one.detail,
            }
        )
    return Response({"brokers": rows, "is_complete": all(one.ok for one in outcomes)})


_ALL = "clusters/<str:cluster>/acl/"

urlpatterns = [
    path(f"{_ALL}users/", UsersView.as_view(), name="acl-users"),
    path(f"{_ALL}users/<str:user>/", UserView.as_view(), name="acl-user"),
    path(f"{_ALL}users/<str:user>/policies/", PoliciesView.as_view(), name="acl-policies"),
    path(f"{_ALL}explain/", ExplainView.as_view(), name="acl-explain"),
]

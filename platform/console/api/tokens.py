"""REST: API tokens. Everybody has their own; administrators of the platform see and revoke all."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.actions.tokens import do_create_token, do_revoke_token
from console.api.people_fields import PatternField, RoleField
from console.core.fields import Int64Field
from console.core.models import ApiToken
from console.core.models.people import Role
from console.core.needs import SIGNED_IN
from console.core.paging import Pages
from console.core.problems import Problem, not_found
from console.core.tokens import LONGEST
from console.core.views import PlatformView, flag


class TokenSerializer(serializers.Serializer[Any]):
    id = Int64Field()
    name = serializers.CharField()
    owner = serializers.CharField(source="owner.username")
    prefix = serializers.CharField(help_text="Its first characters.")
    role = RoleField()
    cluster_pattern = serializers.CharField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)


class NewTokenSerializer(serializers.Serializer[Any]):
    name = serializers.RegexField(r"^[\w.@ -]+$", max_length=64)
    role = RoleField()
    cluster_pattern = PatternField(default="*")
    expires_in_days = serializers.IntegerField(min_value=1, max_value=LONGEST.days)


class CreatedTokenSerializer(TokenSerializer):
    secret = serializers.CharField(help_text="For `Authorization: Bearer …`. Shown once.")


class TokensView(PlatformView):
    pagination_class = Pages
    needs = {"GET": SIGNED_IN, "POST": SIGNED_IN}

    @extend_schema(
        operation_id="tokens_list",
        tags=["tokens"],
        parameters=[
            OpenApiParameter("all", bool, description="Everybody's; for administrators of the platform."),
            OpenApiParameter("owner", str, description="With all=true: this user's alone."),
        ],
        responses=TokenSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        pages = Pages()
        rows = pages.paginate_queryset(self._listed(request), request, self)
        return pages.get_paginated_response(TokenSerializer(rows, many=True).data)

    @extend_schema(
        operation_id="tokens_create",
        tags=["tokens"],
        request=NewTokenSerializer,
        responses={201: CreatedTokenSerializer},
    )
    def post(self, request: Request) -> Response:
        if request.auth is not None:
            raise Problem("permission_denied", "a token makes no tokens: sign in for that", 403)
        asked = NewTokenSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        values = dict(asked.validated_data)
        token, secret = do_create_token(
            request.user,
            self.grants,
            values["name"],
            values["role"],
            values["cluster_pattern"],
            lifetime=timedelta(days=values["expires_in_days"]),
            actor=self.actor,
            now=timezone.now(),
        )
        return Response(TokenSerializer(token).data | {"secret": secret}, 201)

    def _listed(self, request: Request) -> QuerySet[ApiToken]:
        rows = ApiToken.objects.select_related("owner")
        if not flag(request, "all"):
            return rows.filter(owner=request.user)
        if not self.grants.may(Role.ADMIN):
            raise Problem("permission_denied", "all tokens are for administrators of the platform", 403)
        owner = request.query_params.get("owner")
        return rows.filter(owner__username=owner) if owner else rows


class TokenView(PlatformView):
    needs = {"GET": SIGNED_IN, "DELETE": SIGNED_IN}

    @extend_schema(operation_id="tokens_get", tags=["tokens"], responses=TokenSerializer)
    def get(self, request: Request, token: int) -> Response:
        return Response(TokenSerializer(self._token(token)).data)

    @extend_schema(operation_id="tokens_revoke", tags=["tokens"], request=None, responses={204: None})
    def delete(self, request: Request, token: int) -> Response:
        do_revoke_token(self._token(token), actor=self.actor, now=timezone.now())
        return Response(status=204)

    def _token(self, number: int) -> ApiToken:
        row = ApiToken.objects.select_related("owner").filter(pk=number).first()
        if row is None or (row.owner_id != self.request.user.pk and not self.grants.may(Role.ADMIN)):
            raise not_found("token", str(number))
        return row


urlpatterns = [
    path("tokens/", TokensView.as_view(), name="tokens"),
    path("tokens/<int:token>/", TokenView.as_view(), name="token"),
]

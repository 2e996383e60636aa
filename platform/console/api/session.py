"""REST: signing in and out, who one is, one's own password."""

from __future__ import annotations

from typing import Any

from django.middleware.csrf import get_token
from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.actions.sessions import do_change_own_password, do_sign_in, do_sign_out
from console.api.people_fields import RoleField
from console.core.needs import OPEN, SIGNED_IN
from console.core.problems import Problem
from console.core.rights import grants_of
from console.core.sessions import ConsoleSessionAuthentication
from console.core.views import PlatformView


class GrantSerializer(serializers.Serializer[Any]):
    role = RoleField()
    clusters = serializers.CharField()
    names = serializers.CharField()
    token_clusters = serializers.CharField(help_text="Of the token that asks; both patterns must match.")


class SessionSerializer(serializers.Serializer[Any]):
    is_signed_in = serializers.BooleanField()
    username = serializers.CharField(allow_null=True)
    team = serializers.CharField(allow_null=True)
    is_superuser = serializers.BooleanField()
    rights_version = serializers.IntegerField(allow_null=True)
    token = serializers.CharField(allow_null=True, help_text="The token's name, when one was used.")
    grants = GrantSerializer(many=True)
    csrf_token = serializers.CharField(help_text="For the header X-CSRFToken of unsafe methods.")


class SignInSerializer(serializers.Serializer[Any]):
    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=1024, write_only=True, trim_whitespace=False)


class PasswordSerializer(serializers.Serializer[Any]):
    current_password = serializers.CharField(max_length=1024, write_only=True, trim_whitespace=False)
    new_password = serializers.CharField(max_length=1024, write_only=True, trim_whitespace=False)


class SessionView(PlatformView):
    needs = {"GET": OPEN, "POST": OPEN, "DELETE": SIGNED_IN}

    @extend_schema(operation_id="session_get", tags=["session"], responses=SessionSerializer)
    def get(self, request: Request) -> Response:
        """Who asks. Sets the cookie `csrftoken`, which signing in needs."""
        return Response(self._described(request))

    @extend_schema(
        operation_id="session_sign_in",
        tags=["session"],
        request=SignInSerializer,
        responses=SessionSerializer,
    )
    def post(self, request: Request) -> Response:
        # DRF checks CSRF of those who are signed in; signing somebody in unasked is an attack as well.
        ConsoleSessionAuthentication().enforce_csrf(request)
        asked = SignInSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        request.user = do_sign_in(
            request._request,
            asked.validated_data["username"],
            asked.validated_data["password"],
            address=request.META.get("REMOTE_ADDR", ""),
            now=timezone.now(),
        )
        request.auth = None
        request._request.kept_grants = None
        return Response(self._described(request))

    @extend_schema(operation_id="session_sign_out", tags=["session"], request=None, responses={204: None})
    def delete(self, request: Request) -> Response:
        if request.auth is not None:
            raise Problem("no_session", "a token has no session: revoke it instead", 400)
        do_sign_out(request._request, request.user, actor=self.actor, now=timezone.now())
        return Response(status=204)

    def _described(self, request: Request) -> dict[str, Any]:
        user, token = request.user, request.auth
        is_signed_in = bool(user.is_authenticated)
        return SessionSerializer(
            {
                "is_signed_in": is_signed_in,
                "username": user.get_username() if is_signed_in else None,
                "team": user.team if is_signed_in else None,
                "is_superuser": user.is_superuser,
                "rights_version": user.rights_version if is_signed_in else None,
                "token": None if token is None else token.name,
                "grants": grants_of(user, token).items if is_signed_in else [],
                "csrf_token": get_token(request._request),
            }
        ).data


class OwnPasswordView(PlatformView):
    needs = {"POST": SIGNED_IN}

    @extend_schema(
        operation_id="session_change_password",
        tags=["session"],
        request=PasswordSerializer,
        responses={204: None},
    )
    def post(self, request: Request) -> Response:
        """Asks for the present password; all other sessions end, tokens stay."""
        asked = PasswordSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        do_change_own_password(
            request._request,
            request.user,
            asked.validated_data["current_password"],
            asked.validated_data["new_password"],
            actor=self.actor,
            now=timezone.now(),
        )
        return Response(status=204)


urlpatterns = [
    path("session/", SessionView.as_view(), name="session"),
    path("session/password/", OwnPasswordView.as_view(), name="session-password"),
]

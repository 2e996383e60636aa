"""REST: people and their roles. For those who may administrate the platform."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db.models import Q, QuerySet
from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.actions.users import (
    Binding,
    do_bind_role,
    do_create_user,
    do_set_password,
    do_unbind_role,
    do_update_user,
)
from console.api.people_fields import PatternField, RoleField
from console.core.fields import Int64Field
from console.core.models import User
from console.core.models.people import Role
from console.core.needs import Need, Where
from console.core.paging import Pages
from console.core.problems import Problem, not_found
from console.core.views import PlatformView, flag

ADMIN = Need(Role.ADMIN, Where.PLATFORM)
_ORDERS = ("username", "-username", "last_login", "-last_login", "date_joined", "-date_joined")
_PASSWORD = {"max_length": 1024, "trim_whitespace": False, "write_only": True}


class BindingSerializer(serializers.Serializer[Any]):
    id = Int64Field(read_only=True)
    role = RoleField()
    cluster_pattern = PatternField(default="*")
    name_pattern = PatternField(default="*")


class UserSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()
    first_name = serializers.CharField()
    last_name = serializers.CharField()
    email = serializers.CharField()
    team = serializers.CharField()
    is_active = serializers.BooleanField()
    is_superuser = serializers.BooleanField()
    last_login = serializers.DateTimeField(allow_null=True)
    date_joined = serializers.DateTimeField()
    rights_version = serializers.IntegerField()
    bindings = BindingSerializer(many=True)


class UserChangeSerializer(serializers.Serializer[Any]):
    first_name = serializers.CharField(max_length=150, allow_blank=True, required=False)
    last_name = serializers.CharField(max_length=150, allow_blank=True, required=False)
    email = serializers.EmailField(max_length=254, allow_blank=True, required=False)
    team = serializers.CharField(max_length=64, allow_blank=True, required=False)
    is_active = serializers.BooleanField(required=False)
    is_superuser = serializers.BooleanField(required=False, help_text="Only super users may set it.")

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """A name that is not ours is refused, not dropped: nobody may believe that it was set."""
        if unknown := set(self.initial_data) - set(self.fields):
            raise serializers.ValidationError({name: ["unknown"] for name in sorted(unknown)})
        return values


class NewUserSerializer(UserChangeSerializer):
    username = serializers.CharField(max_length=150, validators=[UnicodeUsernameValidator()])
    password = serializers.CharField(
        required=False, help_text="Without one a random one is made and shown once.", **_PASSWORD
    )
    bindings = BindingSerializer(many=True, required=False)


class CreatedUserSerializer(UserSerializer):
    password = serializers.CharField(allow_null=True, help_text="If it was made here. Shown once.")


class NewPasswordSerializer(serializers.Serializer[Any]):
    password = serializers.CharField(required=False, **_PASSWORD)


class MadePasswordSerializer(serializers.Serializer[Any]):
    password = serializers.CharField(allow_null=True, help_text="If it was made here. Shown once.")


class _View(PlatformView):
    @property
    def is_super(self) -> bool:
        return bool(self.request.user.is_superuser and self.request.auth is None)

    def person(self) -> User:
        user = User.objects.filter(username=self.kwargs["user"]).first()
        if user is None:
            raise not_found("user", self.kwargs["user"])
        return user

    def valid(self, kind: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        asked = kind(data=self.request.data)
        asked.is_valid(raise_exception=True)
        return dict(asked.validated_data)


class UsersView(_View):
    pagination_class = Pages
    needs = {"GET": ADMIN, "POST": ADMIN}

    @extend_schema(
        operation_id="users_list",
        tags=["users"],
        parameters=[
            OpenApiParameter("search", str, description="Part of the name, mail or team."),
            OpenApiParameter("is_active", bool),
            OpenApiParameter("ordering", str, enum=_ORDERS),
        ],
        responses=UserSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        pages = Pages()
        rows = pages.paginate_queryset(self._found(request), request, self)
        return pages.get_paginated_response(UserSerializer(rows, many=True).data)

    @extend_schema(
        operation_id="users_create",
        tags=["users"],
        request=NewUserSerializer,
        responses={201: CreatedUserSerializer},
    )
    def post(self, request: Request) -> Response:
        values = self.valid(NewUserSerializer)
        user, made = do_create_user(
            values.pop("username"),
            values.pop("password", None),
            {name: value for name, value in values.items() if name != "bindings"},
            [Binding(**binding) for binding in values.get("bindings", [])],
            is_super=self.is_super,
            actor=self.actor,
            now=timezone.now(),
        )
        return Response(UserSerializer(user).data | {"password": made}, 201)

    def _found(self, request: Request) -> QuerySet[User]:
        asked = request.query_params
        order = asked.get("ordering", "username")
        if order not in _ORDERS:
            raise Problem("invalid", f"ordering is one of {', '.join(_ORDERS)}", field="ordering")
        rows = User.objects.prefetch_related("bindings").order_by(order, "pk")
        if text := asked.get("search"):
            rows = rows.filter(
                Q(username__icontains=text) | Q(email__icontains=text) | Q(team__icontains=text)
            )
        return rows.filter(is_active=flag(request, "is_active")) if asked.get("is_active") else rows


class UserView(_View):
    needs = {"GET": ADMIN, "PATCH": ADMIN, "DELETE": ADMIN}

    @extend_schema(operation_id="users_get", tags=["users"], responses=UserSerializer)
    def get(self, request: Request, user: str) -> Response:
        return Response(UserSerializer(self.person()).data)

    @extend_schema(
        operation_id="users_update", tags=["users"], request=UserChangeSerializer, responses=UserSerializer
    )
    def patch(self, request: Request, user: str) -> Response:
        return self._changed(self.valid(UserChangeSerializer))

    @extend_schema(operation_id="users_deactivate", tags=["users"], request=None, responses=UserSerializer)
    def delete(self, request: Request, user: str) -> Response:
        """Deactivates: sessions and tokens end, the name stays for the audit rows."""
        return self._changed({"is_active": False})

    def _changed(self, values: dict[str, Any]) -> Response:
        person = self.person()
        do_update_user(person, values, is_super=self.is_super, actor=self.actor, now=timezone.now())
        return Response(UserSerializer(person).data)


class UserPasswordView(_View):
    needs = {"POST": ADMIN}

    @extend_schema(
        operation_id="users_set_password",
        tags=["users"],
        request=NewPasswordSerializer,
        responses=MadePasswordSerializer,
    )
    def post(self, request: Request, user: str) -> Response:
        values = self.valid(NewPasswordSerializer)
        made = do_set_password(
            self.person(),
            values.get("password"),
            is_super=self.is_super,
            actor=self.actor,
            now=timezone.now(),
        )
        return Response({"password": made})


class BindingsView(_View):
    pagination_class = Pages
    needs = {"GET": ADMIN, "POST": ADMIN}

    @extend_schema(operation_id="bindings_list", tags=["users"], responses=BindingSerializer(many=True))
    def get(self, request: Request, user: str) -> Response:
        pages = Pages()
        rows = pages.paginate_queryset(self.person().bindings.all(), request, self)
        return pages.get_paginated_response(BindingSerializer(rows, many=True).data)

    @extend_schema(
        operation_id="bindings_create",
        tags=["users"],
        request=BindingSerializer,
        responses={201: BindingSerializer},
    )
    def post(self, request: Request, user: str) -> Response:
        binding = Binding(**self.valid(BindingSerializer))
        row = do_bind_role(
            self.person(), binding, is_super=self.is_super, actor=self.actor, now=timezone.now()
        )
        return Response(BindingSerializer(row).data, 201)


class BindingView(_View):
    needs = {"DELETE": ADMIN}

    @extend_schema(operation_id="bindings_delete", tags=["users"], request=None, responses={204: None})
    def delete(self, request: Request, user: str, binding: int) -> Response:
        row = self.person().bindings.select_related("user").filter(pk=binding).first()
        if row is None:
            raise not_found("binding", str(binding))
        do_unbind_role(row, is_super=self.is_super, actor=self.actor, now=timezone.now())
        return Response(status=204)


urlpatterns = [
    path("users/", UsersView.as_view(), name="users"),
    path("users/<str:user>/", UserView.as_view(), name="user"),
    path("users/<str:user>/password/", UserPasswordView.as_view(), name="user-password"),
    path("users/<str:user>/bindings/", BindingsView.as_view(), name="bindings"),
    path("users/<str:user>/bindings/<int:binding>/", BindingView.as_view(), name="binding"),
]

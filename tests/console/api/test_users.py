"""People and roles: for administrators of the platform, without a way up for anybody else."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from console.core.models import ApiToken, AuditEntry, RoleBinding, User
from console.core.models.people import Role
from tests.platform_fixtures import PASSWORD, People, client_of, make_user

pytestmark = pytest.mark.django_db
USERS = "/api/v1/users/"


def post(client: APIClient, path: str, body: dict[str, Any]) -> Any:
    return client.post(path, body, format="json")


def test_a_user_is_made_with_a_random_password_that_is_shown_once(people: People) -> None:
    body = {"username": "zoe", "bindings": [{"role": "viewer", "cluster_pattern": "prod"}]}
    answer = post(people.admin, USERS, body)
    assert answer.status_code == 201, answer.json()
    assert User.objects.get(username="zoe").check_password(answer.json()["password"])
    assert "password" not in people.admin.get(f"{USERS}zoe/").json()
    row = AuditEntry.objects.first()
    assert (row.action, row.actor, row.target) == ("user.create", "admin", "zoe")
    assert answer.json()["password"] not in str(list(AuditEntry.objects.values()))


def test_a_given_password_is_checked_and_not_shown(people: People) -> None:
    weak = post(people.admin, USERS, {"username": "zoe", "password": "zoe"})
    assert (weak.status_code, weak.json()["errors"][0]["field"]) == (400, "password")
    assert not User.objects.filter(username="zoe").exists()
    assert post(people.admin, USERS, {"username": "zoe", "password": PASSWORD}).json()["password"] is None


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 151, "a\0b", 7])
def test_a_name_that_is_none_is_refused_with_its_field(people: People, name: Any) -> None:
    answer = post(people.admin, USERS, {"username": name})
    if name == 7:
        assert answer.status_code == 201, "a number is taken for its text, as everywhere in DRF"
        return
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "username")


def test_a_name_is_given_once(people: People) -> None:
    assert post(people.admin, USERS, {"username": "viewer"}).status_code == 409


@pytest.mark.parametrize("extra", [{"is_staff": True}, {"rights_version": 7}, {"groups": [1]}, {"id": 1}])
def test_nothing_else_is_assigned(people: People, extra: dict[str, Any]) -> None:
    assert post(people.root, USERS, {"username": "zoe", **extra}).status_code == 400
    assert people.root.patch(f"{USERS}viewer/", extra, format="json").status_code == 400


def test_only_a_super_user_makes_or_touches_one(people: People) -> None:
    assert post(people.admin, USERS, {"username": "zoe", "is_superuser": True}).status_code == 403
    assert people.admin.patch(f"{USERS}admin/", {"is_superuser": True}, format="json").status_code == 403
    assert people.admin.patch(f"{USERS}root/", {"team": "x"}, format="json").status_code == 403
    assert people.admin.delete(f"{USERS}root/").status_code == 403
    assert post(people.admin, f"{USERS}root/password/", {}).status_code == 403
    assert post(people.admin, f"{USERS}root/bindings/", {"role": "viewer"}).status_code == 403
    assert people.root.patch(f"{USERS}admin/", {"is_superuser": True}, format="json").status_code == 200


def test_deactivation_ends_sessions_and_tokens_and_raises_the_version(people: People) -> None:
    viewer = User.objects.get(username="viewer")
    answer = post(people.viewer, "/api/v1/tokens/", {"name": "t", "role": "viewer", "expires_in_days": 1})
    assert people.admin.delete(f"{USERS}viewer/").json()["is_active"] is False
    assert people.viewer.get("/api/v1/tokens/").status_code == 401
    bearer = {"Authorization": f"Bearer {answer.json()['secret']}"}
    assert APIClient().get("/api/v1/tokens/", headers=bearer).status_code == 401
    assert ApiToken.objects.get().revoked_at is not None
    people.admin.patch(f"{USERS}viewer/", {"is_active": True}, format="json")
    assert APIClient().get("/api/v1/tokens/", headers=bearer).status_code == 401, "revoked for good"
    viewer.refresh_from_db()
    assert viewer.rights_version == 2


def test_a_changed_user_leaves_before_and_after(people: People) -> None:
    people.admin.patch(f"{USERS}viewer/", {"team": "blue", "email": ""}, format="json")
    assert AuditEntry.objects.first().details == {"before": {"team": ""}, "after": {"team": "blue"}}


def test_bindings_are_given_and_taken_and_raise_the_version(people: People) -> None:
    path = f"{USERS}other/bindings/"
    binding = {"role": "viewer", "cluster_pattern": "prod", "name_pattern": "orders-*"}
    made = post(people.admin, path, binding)
    assert made.status_code == 201
    assert post(people.admin, path, binding).status_code == 409
    assert people.admin.get(path).json()["count"] == 2
    assert people.admin.delete(f"{path}{made.json()['id']}/").status_code == 204
    assert people.admin.delete(f"{path}{made.json()['id']}/").status_code == 404
    assert people.admin.delete(
        f"{USERS}viewer/bindings/{RoleBinding.objects.get(user__username='other').pk}/"
    )
    assert User.objects.get(username="other").rights_version == 2
    actions = list(AuditEntry.objects.order_by("id").values_list("action", flat=True))
    assert actions == ["user.bind_role", "user.unbind_role"]


@pytest.mark.parametrize("pattern", ["a b", "*" * 9, "[ab]", "", "x" * 256, "a\nb"])
def test_a_pattern_that_is_none_is_refused(people: People, pattern: str) -> None:
    body = {"role": "viewer", "cluster_pattern": pattern}
    assert post(people.admin, f"{USERS}other/bindings/", body).status_code == 400


def test_a_binding_of_somebody_else_is_not_found_below_another_name(people: People) -> None:
    number = RoleBinding.objects.get(user__username="operator").pk
    assert people.admin.delete(f"{USERS}viewer/bindings/{number}/").status_code == 404


def test_the_last_administrator_stays() -> None:
    admin = make_user("only", Role.ADMIN)
    client = client_of(admin)
    binding = admin.bindings.get().pk
    for answer in (
        client.delete(f"{USERS}only/"),
        client.patch(f"{USERS}only/", {"is_active": False}, format="json"),
        client.delete(f"{USERS}only/bindings/{binding}/"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "last_admin")
    admin.refresh_from_db()
    assert admin.is_active and admin.rights_version == 0 and admin.bindings.exists()
    assert not AuditEntry.objects.exists()
    make_user("second", Role.ADMIN)
    assert client.delete(f"{USERS}only/").status_code == 200


def test_a_set_password_ends_sessions(people: People) -> None:
    made = post(people.admin, f"{USERS}viewer/password/", {}).json()["password"]
    assert User.objects.get(username="viewer").check_password(made)
    assert people.viewer.get("/api/v1/tokens/").status_code == 401


def test_a_list_is_searched_ordered_paged_and_takes_four_queries(
    people: People, django_assert_num_queries: Any
) -> None:
    for number in range(30):
        make_user(f"crowd-{number:02}", Role.VIEWER)
    with django_assert_num_queries(6):
        # Session, user, own bindings, count, page, their bindings.
        answer = people.admin.get(f"{USERS}?search=crowd&ordering=-username&limit=10&offset=5")
    assert answer.json()["count"] == 30
    assert [user["username"] for user in answer.json()["results"]][:2] == ["crowd-24", "crowd-23"]
    assert people.admin.get(f"{USERS}?ordering=password").status_code == 400
    assert people.admin.get(f"{USERS}?is_active=false").json()["count"] == 0
    assert people.admin.get(f"{USERS}?limit=100000000&offset=99999999999999999999").status_code == 200


def test_a_token_of_a_super_user_makes_no_super_user(people: People) -> None:
    token = post(people.root, "/api/v1/tokens/", {"name": "t", "role": "admin", "expires_in_days": 1}).json()
    client = APIClient(headers={"Authorization": f"Bearer {token['secret']}"})
    assert post(client, USERS, {"username": "zoe", "is_superuser": True}).status_code == 403
    assert post(client, USERS, {"username": "zoe"}).status_code == 201

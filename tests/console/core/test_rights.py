"""Roles on patterns of clusters and names."""

from __future__ import annotations

import time

import pytest

from console.core.models import RoleBinding, User
from console.core.models.people import ApiToken, Role
from console.core.rights import Grant, Grants, grants_of

TEAM = Grants((Grant(Role.OPERATOR, "prod", "orders-*"), Grant(Role.VIEWER, "test-*", "*")))


@pytest.mark.parametrize(
    ("role", "cluster", "name", "expected"),
    [
        (Role.OPERATOR, "prod", "orders-eu", True),
        (Role.VIEWER, "prod", "orders-eu", True),
        (Role.ADMIN, "prod", "orders-eu", False),
        (Role.VIEWER, "prod", "billing", False),
        (Role.VIEWER, "prod", "ORDERS-EU", False),
        (Role.OPERATOR, "prod", "*", False),
        (Role.VIEWER, "test-1", "*", True),
        (Role.VIEWER, "*", "*", False),
        (Role.OPERATOR, "test-1", "anything", False),
    ],
)
def test_a_grant_counts_where_its_patterns_match(role: int, cluster: str, name: str, expected: bool) -> None:
    assert TEAM.may(role, cluster, name) is expected


def test_a_cluster_is_seen_when_any_part_of_it_is_open() -> None:
    assert TEAM.sees("prod")
    assert TEAM.sees("test-7")
    assert not TEAM.sees("production")


def test_a_pattern_never_matches_the_question_about_everything() -> None:
    assert not Grants((Grant(Role.ADMIN, "?", "?"),)).may(Role.VIEWER)


def test_a_token_has_at_most_its_owners_rights() -> None:
    narrowed = TEAM.at_most(Role.VIEWER, "*")
    assert narrowed.may(Role.VIEWER, "prod", "orders-eu")
    assert not narrowed.may(Role.OPERATOR, "prod", "orders-eu")
    elsewhere = TEAM.at_most(Role.ADMIN, "test-1")
    assert elsewhere.may(Role.VIEWER, "test-1", "anything")
    assert not elsewhere.may(Role.OPERATOR, "test-1", "anything")
    assert not elsewhere.sees("test-2")
    assert not elsewhere.sees("prod")


@pytest.mark.parametrize(
    ("owner", "token", "cluster"), [("??*", "*y*", "y"), ("a?", "a*", "abc"), ("?[ab]", "*a", "xxa")]
)
def test_no_pattern_of_a_token_reaches_beyond_its_owners(owner: str, token: str, cluster: str) -> None:
    narrowed = Grants((Grant(Role.ADMIN, owner, "*"),)).at_most(Role.ADMIN, token)
    assert not narrowed.sees(cluster)


def test_many_stars_are_refused_quickly() -> None:
    started = time.perf_counter()
    assert not Grants((Grant(Role.ADMIN, "*a" * 8 + "*" * 200, "*"),)).sees("b" * 64)
    assert time.perf_counter() - started < 1


@pytest.mark.django_db
def test_queries_find_what_grants_match() -> None:
    for name in ("ops-1", "ops-22", "dev", "o.s-1"):
        User.objects.create(username=name)
    cases = {"*": 4, "ops-*": 2, "[do]*": 0, "dev": 1, "ops-?": 1, "*-1": 2, "nobody": 0}
    for pattern, count in cases.items():
        grants = Grants((Grant(Role.VIEWER, "c", pattern),))
        assert User.objects.filter(grants.names_filter("c", "username")).count() == count, pattern
        assert User.objects.filter(grants.names_filter("other", "username")).count() == 0
        assert User.objects.filter(Grants(()).names_filter("c", "username")).count() == 0


@pytest.mark.django_db
def test_a_super_user_may_everything_and_his_token_what_it_says() -> None:
    root = User.objects.create_superuser("root")
    assert grants_of(root).may(Role.ADMIN)
    token = ApiToken(owner=root, role=Role.OPERATOR, cluster_pattern="prod")
    narrowed = grants_of(root, token)
    assert narrowed.may(Role.OPERATOR, "prod")
    assert not narrowed.may(Role.ADMIN, "prod")
    assert not narrowed.may(Role.VIEWER)
    assert not narrowed.may(Role.VIEWER, "test")
    names = [User.objects.create(username=name).username for name in ("prod", "test")]
    seen = User.objects.filter(narrowed.clusters_filter("username"))
    assert [user.username for user in seen] == names[:1]


@pytest.mark.django_db
def test_bindings_are_grants() -> None:
    user = User.objects.create_user("ann")
    assert not grants_of(user).sees("prod")
    RoleBinding.objects.create(user=user, role=Role.VIEWER, cluster_pattern="prod", name_pattern="a*")
    assert grants_of(user).may(Role.VIEWER, "prod", "abc")

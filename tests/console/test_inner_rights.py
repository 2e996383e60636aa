"""Unsafe routes that the table lets a viewer reach, because what they change stands in the body or in a row.

Each is either for everybody (their own things), or tried here with a real row and a valid body: a viewer is
refused, another team finds nothing. A new route of this kind fails the first test until a list has it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from clusters.models import AlertRule, AlertSilence, Cluster, Operation
from console.core.models import AuditEntry, User
from tests.console.route_map import UNSAFE, table
from tests.platform_fixtures import People

API = "api/v1/"
CLUSTER = f"{API}clusters/<str:cluster>/"
OWN = {
    f"POST {API}session/": "signing in",
    f"DELETE {API}session/": "one's own session",
    f"POST {API}session/password/": "one's own password",
    f"POST {API}tokens/": "one's own tokens, at most one's own rights",
    f"DELETE {API}tokens/<int:token>/": "one's own tokens; tests/console/api/test_tokens.py",
    f"PUT {CLUSTER}topics/<str:topic>/favourite/": "one's own favourites",
    f"PUT {CLUSTER}groups/<str:group>/favourite/": "one's own favourites",
    f"DELETE {CLUSTER}topics/<str:topic>/favourite/": "one's own favourites",
    f"DELETE {CLUSTER}groups/<str:group>/favourite/": "one's own favourites",
    f"POST {CLUSTER}searches/": "reads what one may read; tests/clusters/test_searches.py",
    f"POST {CLUSTER}searches/<uuid:id>/cancel/": "one's own searches",
    f"POST {CLUSTER}searches/<uuid:id>/continue/": "one's own searches",
    f"DELETE {CLUSTER}searches/<uuid:id>/": "one's own searches",
    f"POST {CLUSTER}messages/<str:id>/reveal/": "by the mask's role; tests/clusters/test_masking.py",
}
RULE = {"name": "r", "kind": "lag", "cluster_pattern": "attached", "threshold": 5}
SILENCE = {"cluster_pattern": "attached", "reason": "because"}
SILENCE |= {"starts_at": "2100-01-01T00:00:00Z", "ends_at": "2100-01-01T01:00:00Z"}
NEW = {"name": "brand-new", "kind": "attached", "name_servers": ["127.0.0.1:9"]}
# Route, body, and what a viewer and somebody of another team are answered.
CASES: list[tuple[str, dict[str, Any], int, int]] = [
    (f"POST {API}clusters/", NEW, 403, 403),
    (f"POST {API}alerts/rules/", RULE | {"name": "new"}, 403, 403),
    (f"PATCH {API}alerts/rules/<int:id>/", {"threshold": 7}, 403, 404),
    (f"DELETE {API}alerts/rules/<int:id>/", {}, 403, 404),
    (f"POST {API}alerts/rules/<int:id>/test/", {}, 403, 404),
    (f"POST {API}alerts/silences/", SILENCE, 403, 403),
    (f"DELETE {API}alerts/silences/<int:id>/", {}, 403, 404),
    *(
        (f"POST {API}operations/<str:operation>/{verb}/", {}, 403, 404)
        for verb in ("approve", "cancel", "retry", "roll_back", "give_up")
    ),
]


def test_every_unsafe_route_that_a_viewer_reaches_is_listed_here() -> None:
    reached = {key for key, row in table().items() if key.split()[0] in UNSAFE and row.answers[1] == "yes"}
    assert reached - set(OWN) == {key for key, *_ in CASES}


@pytest.fixture
def rows(attached: Cluster) -> dict[str, Any]:
    """What stands in for the places in the addresses."""
    now = timezone.now()
    rule = AlertRule.objects.create(
        **RULE | {"created_by": "root", "created_at": now},
    )
    silence = AlertSilence.objects.create(
        cluster_pattern="attached",
        starts_at=now,
        ends_at=now + timedelta(days=1),
        reason="because",
        created_by="root",
        created_at=now,
    )
    operation = Operation.objects.create(
        cluster=attached, kind="grow", summary="x", state="failed", created_by="root", created_at=now
    )
    return {"rules": rule.pk, "silences": silence.pk, "operations": operation.pk}


def asked(people: People, caller: str, key: str, body: dict[str, Any], rows: dict[str, Any]) -> Any:
    method, path = key.split()
    area = path.split("/<")[0].rsplit("/", 1)[-1]
    address = "/" + path.replace("<int:id>", str(rows.get(area))).replace(
        "<str:operation>", str(rows.get(area))
    )
    return getattr(getattr(people, caller), method.lower())(address, body, format="json")


@pytest.mark.django_db
@pytest.mark.parametrize(("key", "body", "viewer", "other"), CASES, ids=[case[0] for case in CASES])
def test_rights_are_checked_inside_too(
    people: People, rows: dict[str, Any], key: str, body: dict[str, Any], viewer: int, other: int
) -> None:
    assert asked(people, "viewer", key, body, rows).status_code == viewer
    assert asked(people, "other", key, body, rows).status_code == other
    assert not AuditEntry.objects.exists()
    allowed = asked(people, "admin", key, body, rows).status_code
    assert allowed not in (401, 403, 404), "the same request is not refused to who may"


# -- no audit, no action ------------------------------------------------------------------------------------


@pytest.fixture
def broken_audit(transactional_db: None) -> Any:
    """A chain that takes no row, as a full disk or a revoked right would make it."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(
                "CREATE TRIGGER no_audit BEFORE INSERT ON core_auditentry BEGIN "
                "SELECT RAISE(ABORT, 'no audit'); END"
            )
            undo = ["DROP TRIGGER no_audit"]
        else:
            cursor.execute(
                "CREATE FUNCTION no_audit() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'no audit'; END $$"
            )
            cursor.execute(
                "CREATE TRIGGER no_audit BEFORE INSERT ON core_auditentry "
                "FOR EACH ROW EXECUTE FUNCTION no_audit()"
            )
            undo = ["DROP TRIGGER no_audit ON core_auditentry", "DROP FUNCTION no_audit()"]
    yield
    with connection.cursor() as cursor:
        for statement in undo:
            cursor.execute(statement)


def test_without_the_chain_no_user_is_made(broken_audit: None, people: People) -> None:
    people.root.raise_request_exception = False
    answer = people.root.post("/api/v1/users/", {"username": "zoe"}, format="json")
    assert answer.status_code == 500
    assert not User.objects.filter(username="zoe").exists()


def test_without_the_chain_no_broker_is_asked_to_write(
    broken_audit: None, people: People, attached: Cluster, fresh: Callable[[str], str]
) -> None:
    people.root.raise_request_exception = False
    name = fresh("unaudited")
    answer = people.root.post(
        "/api/v1/clusters/attached/topics/",
        {"name": name, "read_queues": 1, "write_queues": 1},
        format="json",
    )
    assert answer.status_code == 500, answer.content
    from clusters.gateway.addressing import address_of
    from clusters.gateway.connections import ask

    brokers = attached.broker_addresses
    configs = ask(address_of(attached), lambda admin: admin.topics.configs(brokers[0]))
    assert name not in str(configs)

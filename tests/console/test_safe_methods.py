"""Every GET of the site, walked: it changes nothing, shows no secret, and takes no odd question badly."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.models import AlertChannel, Cluster
from console.core.models import User
from console.core.sealing import seal
from tests.console.route_map import Route, routes
from tests.platform_fixtures import PASSWORD, People

pytestmark = pytest.mark.django_db
CANARY = "canary-5b7e02c4-secret"
# Reads leave audit rows, sessions are touched.
WRITTEN_BY_READS = {"core_auditentry", "core_audithead", "django_session"}
ODD_QUESTIONS = (
    "ordering=password",
    "ordering=sealed_secret_key",
    "ordering=user__password",
    "limit=1000000000&offset=1000000000000000000000",
    "limit=-1&offset=-1",
    "action=delete&_method=DELETE&confirm=attached",
)


def gets() -> list[Route]:
    return [route for route in routes() if route.method == "GET" and route.view is not None]


def text_of(answer: Any) -> str:
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return str(content.decode("utf-8", "replace"))


def rows() -> dict[str, str]:
    with connection.cursor() as cursor:
        names = set(connection.introspection.table_names(cursor)) - WRITTEN_BY_READS
        kept = {}
        for name in sorted(names):
            cursor.execute(f'SELECT * FROM "{name}"')
            kept[name] = str(sorted(map(repr, cursor.fetchall())))
        return kept


@pytest.fixture
def secrets(people: People, attached: Cluster) -> list[str]:
    """What nobody may be shown again; the cluster and the webhook keep the same one."""
    Cluster.objects.filter(pk=attached.pk).update(access_key="key", sealed_secret_key=seal(CANARY))
    AlertChannel.objects.create(
        name="pager",
        kind="webhook",
        sealed_url=seal(f"https://hooks.example/{CANARY}"),
        sealed_secret=seal(CANARY),
        created_by="root",
        created_at=timezone.now(),
    )
    made = people.root.post(
        "/api/v1/tokens/", {"name": "t", "role": "viewer", "expires_in_days": 1}, format="json"
    )
    return [CANARY, PASSWORD, made.json()["secret"], *User.objects.values_list("password", flat=True)]


def test_no_get_changes_a_row_or_shows_a_secret(
    people: People, secrets: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    before = rows()
    caplog.set_level(logging.DEBUG)
    statuses = []
    for route in gets():
        for client in (people.root, people.viewer):
            answer = client.get(route.address())
            statuses.append(answer.status_code)
            assert answer.status_code < 500 or answer.status_code in (502, 503, 504), route.key
            shown = text_of(answer) + str(answer.headers)
            assert not [secret for secret in secrets if secret in shown], route.key
    assert not [secret for secret in secrets if secret in caplog.text]
    assert statuses.count(200) > 60, "most of them answered"
    after = rows()
    assert {name for name in before if before[name] != after[name]} == set()


@pytest.mark.parametrize("question", ODD_QUESTIONS)
def test_an_odd_question_to_any_list_is_refused_or_ignored(
    people: People, attached: Cluster, question: str
) -> None:
    """Hidden columns cannot be sorted by: the order of rows would tell what is in them."""
    before = rows()
    for route in gets():
        answer = people.root.get(f"{route.address()}?{question}")
        assert answer.status_code < 500 or answer.status_code in (502, 503, 504), route.key
        if answer.status_code == 200 and "ordering" in question and "json" in answer["Content-Type"]:
            plain = people.root.get(route.address())
            assert _ids(answer) == _ids(plain), f"{route.key} sorts by what it does not show"
    assert rows() == before


def _ids(answer: Any) -> list[str]:
    found = answer.json() if not answer.streaming else {}
    results = found.get("results", []) if isinstance(found, dict) else []
    return [str(row.get("id", row.get("name"))) for row in results if isinstance(row, dict)]


def test_a_secret_that_was_typed_into_a_request_is_in_no_log_and_no_audit_row(
    redis: str, caplog: pytest.LogCaptureFixture, people: People
) -> None:
    caplog.set_level(logging.DEBUG)
    people.anonymous.post("/api/v1/session/", {"username": "ann", "password": CANARY}, format="json")
    people.anonymous.post("/api/v1/session/", {"username": CANARY, "password": "x"}, format="json")
    APIClient(headers={"Authorization": f"Bearer {CANARY}"}).get("/api/v1/clusters/")
    body = {
        "kind": "attached",
        "name": "theirs",
        "name_servers": ["127.0.0.1:1"],
        "access_key": "key",
        "secret_key": CANARY,
    }
    assert people.root.post("/api/v1/clusters/", body, format="json").status_code == 503
    assert CANARY not in caplog.text
    assert CANARY not in "".join(rows().values())
    assert CANARY not in text_of(people.root.get("/api/v1/audit/export/?format=ndjson"))

"""API tokens: shown once, hashed, narrower than their owner, with an end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from console.core.models import ApiToken, AuditEntry
from tests.platform_fixtures import People

pytestmark = pytest.mark.django_db
TOKENS = "/api/v1/tokens/"


def make(client: APIClient, **values: Any) -> Any:
    body = {"name": "ci", "role": "viewer", "expires_in_days": 30, **values}
    return client.post(TOKENS, body, format="json")


def bearer(secret: str) -> APIClient:
    return APIClient(headers={"Authorization": f"Bearer {secret}"})


def test_a_token_is_shown_once_and_kept_as_a_hash(people: People) -> None:
    answer = make(people.operator, cluster_pattern="prod-*")
    assert answer.status_code == 201, answer.json()
    secret = answer.json()["secret"]
    assert secret not in str(list(ApiToken.objects.values())) + str(list(AuditEntry.objects.values()))
    listed = people.operator.get(TOKENS).json()["results"]
    assert [token["prefix"] for token in listed] == [secret[:10]]
    assert "secret" not in listed[0]
    session = bearer(secret).get("/api/v1/session/").json()
    assert (session["username"], session["token"]) == ("operator", "ci")
    assert session["grants"][0]["role"] == "viewer"
    assert session["grants"][0]["token_clusters"] == "prod-*"
    assert AuditEntry.objects.first().action == "token.create"


@pytest.mark.parametrize("days", [0, -1, 367, None, "soon"])
def test_a_token_ends_within_a_year(people: People, days: Any) -> None:
    answer = make(people.viewer, expires_in_days=days)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "expires_in_days")


def test_without_an_end_there_is_no_token(people: People) -> None:
    answer = people.viewer.post(TOKENS, {"name": "x", "role": "viewer"}, format="json")
    assert answer.status_code == 400


def test_nobody_makes_a_token_of_a_role_that_they_lack(people: People) -> None:
    assert make(people.viewer, role="operator").status_code == 403
    assert make(people.operator, role="admin").status_code == 403
    assert make(people.admin, role="admin").status_code == 201


def test_a_token_makes_no_token(people: People) -> None:
    client = bearer(make(people.admin, role="admin").json()["secret"])
    assert make(client, name="wider").status_code == 403


def test_an_expired_or_revoked_token_is_refused(people: People) -> None:
    made = make(people.viewer).json()
    client = bearer(made["secret"])
    assert client.get(TOKENS).status_code == 200
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert client.get(TOKENS).status_code == 401
    ApiToken.objects.update(expires_at=timezone.now() + timedelta(days=1))
    assert people.viewer.delete(f"{TOKENS}{made['id']}/").status_code == 204
    assert client.get(TOKENS).status_code == 401
    assert client.get("/api/v1/session/").status_code == 401, "open to strangers, not to bad tokens"
    assert AuditEntry.objects.first().action == "token.revoke"


def test_tokens_of_others_are_for_administrators(people: People) -> None:
    number = make(people.viewer).json()["id"]
    assert people.operator.get(f"{TOKENS}{number}/").status_code == 404
    assert people.operator.delete(f"{TOKENS}{number}/").status_code == 404
    assert people.operator.get(f"{TOKENS}?all=true").status_code == 403
    assert people.operator.get(TOKENS).json()["count"] == 0
    assert people.admin.get(f"{TOKENS}?all=true&owner=viewer").json()["count"] == 1
    assert people.admin.delete(f"{TOKENS}{number}/").status_code == 204


def test_a_name_is_used_once_by_one_owner(people: People) -> None:
    assert make(people.viewer).status_code == 201
    assert make(people.viewer).status_code == 409
    assert make(people.operator).status_code == 201


def test_a_list_takes_a_fixed_number_of_queries(people: People, django_assert_num_queries: Any) -> None:
    for number in range(5):
        make(people.viewer, name=f"t{number}")
    with django_assert_num_queries(4):
        assert people.viewer.get(TOKENS).json()["count"] == 5

"""What concerns the site as a whole: CSRF, cookies, headers, keys, hosts, secrets at rest."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as live_settings
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.models import Cluster
from console.content_policy import POLICY
from console.core.models import ApiToken, KeptAnswer, User
from console.core.sealing import seal
from console.keys import make_key_file, read_keys
from tests.platform_fixtures import PASSWORD, make_user

ROOT = Path(__file__).resolve().parents[2]
TOKENS = "/api/v1/tokens/"
BODY = '{"name": "x", "role": "viewer", "expires_in_days": 1}'


@pytest.fixture
def victim(db: None) -> Client:
    """A browser of somebody who is signed in, held to CSRF."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user("victim", 3))
    client.get("/api/v1/session/")
    return client


# -- CSRF ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ],
)
def test_a_form_of_another_site_changes_nothing(victim: Client, content_type: str) -> None:
    answer = victim.generic("POST", TOKENS, BODY, content_type, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert not ApiToken.objects.exists()


def test_the_right_token_from_the_wrong_origin_is_refused(victim: Client) -> None:
    headers = {"Origin": "https://evil.example", "X-CSRFToken": victim.cookies["csrftoken"].value}
    assert victim.post(TOKENS, BODY, "application/json", headers=headers).status_code == 403


@pytest.mark.parametrize("token", ["", "x", "a" * 32, "a" * 64])
def test_a_missing_or_made_up_token_is_refused(victim: Client, token: str) -> None:
    answer = victim.post(TOKENS, BODY, "application/json", headers={"X-CSRFToken": token})
    assert answer.status_code == 403


def test_json_as_plain_text_is_not_read_even_with_the_token(victim: Client) -> None:
    headers = {"X-CSRFToken": victim.cookies["csrftoken"].value}
    assert victim.generic("POST", TOKENS, BODY, "text/plain", headers=headers).status_code == 415
    assert victim.post(TOKENS, BODY, "application/json", headers=headers).status_code == 201


def test_a_method_cannot_be_smuggled_into_another(victim: Client) -> None:
    headers = {"X-CSRFToken": victim.cookies["csrftoken"].value}
    victim.post(TOKENS, BODY, "application/json", headers=headers)
    number = ApiToken.objects.get().pk
    victim.get(f"{TOKENS}{number}/?_method=DELETE", headers={"X-HTTP-Method-Override": "DELETE"})
    victim.post(f"{TOKENS}{number}/", "_method=DELETE", "application/x-www-form-urlencoded", headers=headers)
    victim.get(f"{TOKENS}{number}/?action=delete")
    assert ApiToken.objects.get().revoked_at is None


def test_other_origins_may_read_nothing(victim: Client) -> None:
    answer = victim.get("/api/v1/session/", headers={"Origin": "https://evil.example"})
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


# -- cookies and headers ------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_session_cookie_is_for_http_alone_and_for_this_site(redis: str) -> None:
    cache.clear()
    make_user("ann")
    client = APIClient()
    client.post("/api/v1/session/", {"username": "ann", "password": PASSWORD}, format="json")
    cookie = client.cookies["sessionid"]
    assert cookie["httponly"] and cookie["samesite"] == "Lax"
    assert client.cookies["csrftoken"]["samesite"] == "Lax"


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/api/v1/session/", "/healthz", "/nothing-here", TOKENS])
def test_every_answer_tells_browsers_what_not_to_do(path: str) -> None:
    headers = Client().get(path).headers
    assert headers["Content-Security-Policy"] == POLICY
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"


def test_the_policy_allows_no_script_but_our_files() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in POLICY.split(";"))
    assert rules["script-src"] == "'self'" and rules["default-src"] == "'self'"
    assert rules["object-src"] == rules["base-uri"] == rules["frame-ancestors"] == "'none'"


@pytest.mark.django_db
def test_text_that_would_be_a_page_stays_text() -> None:
    client = APIClient()
    client.force_login(make_user("root", 3))
    for path in ("/api/v1/users/<b>x<b>/", "/api/v1/<script>alert(1)</script>/"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["code"] == "not_found"


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost:80@evil.example", ""])
def test_a_host_that_is_not_ours_is_refused(host: str) -> None:
    assert Client(headers={"Host": host}).get("/api/v1/session/").status_code == 400


@pytest.mark.django_db
@pytest.mark.parametrize("query", ["search=%00", "search=a%00b", "ordering=%00"])
def test_text_that_no_database_keeps_is_bad_input(query: str) -> None:
    client = APIClient()
    client.force_login(make_user("root", 3))
    assert client.get(f"/api/v1/users/?{query}").status_code == 400
    assert client.get("/api/v1/users/a%00b/").status_code in (400, 404)


@pytest.mark.django_db
def test_a_request_that_is_too_large_is_refused_as_such() -> None:
    client = APIClient()
    client.force_login(make_user("root", 3))
    body = '{"username": "' + "x" * (9 * 1024 * 1024) + '"}'
    for headers in ({}, {"Idempotency-Key": "k"}):
        answer = client.post("/api/v1/users/", body, content_type="application/json", headers=headers)
        assert answer.status_code in (400, 413), answer.content
    assert not KeptAnswer.objects.exclude(status=400).exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path", ["/static/../settings.py", "/static/%2e%2e/settings.py", "/static//etc/passwd"]
)
def test_static_files_end_where_they_begin(path: str) -> None:
    assert Client().get(path).status_code == 404


# -- the key, and how the site is deployed ------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "   \n", "short", "x" * 31, "x" * 40 + "\nshort"])
def test_no_key_or_a_short_one_refuses_to_start(tmp_path: Path, text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="key"):
        read_keys(tmp_path / "absent", {"SIGNALBOX_CONSOLE_KEY": text})
    (tmp_path / "key").write_text(text)
    with pytest.raises(ImproperlyConfigured, match="key"):
        read_keys(tmp_path / "key", {})


def test_a_key_file_is_random_private_and_never_overwritten(tmp_path: Path) -> None:
    assert make_key_file(tmp_path / "a") and make_key_file(tmp_path / "b")
    assert not make_key_file(tmp_path / "a")
    assert (tmp_path / "a").read_text() != (tmp_path / "b").read_text()
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=kept | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_site_does_not_start_without_a_key_and_deploys_without_a_warning(tmp_path: Path) -> None:
    without = run("check", SIGNALBOX_DATA=str(tmp_path))
    assert without.returncode != 0 and "no secret key" in without.stderr
    key = "a-key-for-this-test-0123456789-abcdefghijklmnopqrstuvw"
    options = {"SIGNALBOX_DATA": str(tmp_path), "SIGNALBOX_CONSOLE_KEY": key, "SIGNALBOX_TLS": "yes"}
    deployed = run("check", "--deploy", "--fail-level", "WARNING", **options)
    assert deployed.returncode == 0, deployed.stderr
    assert "no issues" in deployed.stdout


def test_debug_is_off() -> None:
    assert live_settings.DEBUG is False


# -- secrets at rest ----------------------------------------------------------------------------------------


def everything_kept() -> str:
    """All rows of all tables as text."""
    if connection.vendor == "sqlite":
        raw: sqlite3.Connection = connection.connection
        return "\n".join(raw.iterdump())
    with connection.cursor() as cursor:
        return "\n".join(_rows(cursor, name) for name in connection.introspection.table_names(cursor))


def _rows(cursor: Any, table: str) -> str:
    cursor.execute(f'SELECT * FROM "{table}"')
    return str(cursor.fetchall())


@pytest.mark.django_db
def test_no_secret_is_in_the_database_as_itself() -> None:
    canary = "canary-9f3a2b71-secret"
    root = User.objects.create_superuser("root", password=canary)
    Cluster.objects.create(
        name="prod",
        broker_cluster_name="C",
        kind="attached",
        access_key="key",
        sealed_secret_key=seal(canary),
        created_at=timezone.now(),
    )
    client = APIClient()
    client.force_login(root)
    headers = {"Idempotency-Key": "once"}
    shown = [
        client.post(TOKENS, BODY, content_type="application/json", headers=headers).json()["secret"],
        client.post("/api/v1/users/", {"username": "zoe"}, format="json").json()["password"],
    ]
    kept = everything_kept()
    assert "prod" in kept
    for secret in (canary, *shown):
        assert secret not in kept


@pytest.mark.nightly
@pytest.mark.django_db
def test_ten_thousand_guesses_are_at_most_a_hundred_attempts(redis: str) -> None:
    cache.clear()
    make_user("ann")
    client = APIClient()
    codes = [
        client.post("/api/v1/session/", {"username": "ann", "password": f"{n}"}, format="json").status_code
        for n in range(10_000)
    ]
    assert codes.count(401) <= 100
    assert codes.count(401) + codes.count(429) == 10_000

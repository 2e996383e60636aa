"""Signing in and out: no default, no hint who exists, a new session each time, every attempt in the chain."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.sessions.backends.db import SessionStore
from django.core.cache import cache
from rest_framework.test import APIClient

from console.core.models import AuditEntry, User
from console.core.throttles import PER_ACCOUNT
from tests.platform_fixtures import PASSWORD, make_user

pytestmark = pytest.mark.django_db
SESSION = "/api/v1/session/"
NEW = "another quite long one"


@pytest.fixture(autouse=True)
def _no_attempts_yet(redis: str) -> None:
    cache.clear()


@pytest.fixture
def browser() -> APIClient:
    """One that sends what a browser sends, and is held to CSRF as a browser is."""
    client = APIClient(enforce_csrf_checks=True)
    client.get(SESSION)
    return client


def sign_in(client: APIClient, username: str = "ann", password: str = PASSWORD) -> Any:
    return client.post(
        SESSION,
        {"username": username, "password": password},
        format="json",
        headers={"X-CSRFToken": client.cookies["csrftoken"].value},
    )


def last_row() -> AuditEntry:
    return AuditEntry.objects.first()


def test_a_stranger_learns_that_they_are_one_and_gets_a_csrf_cookie() -> None:
    client = APIClient()
    answer = client.get(SESSION)
    assert answer.json()["is_signed_in"] is False
    assert answer.json()["grants"] == []
    assert client.cookies["csrftoken"].value


def test_a_person_signs_in_and_sees_their_grants(browser: APIClient) -> None:
    make_user("ann", 2, "prod", "orders-*")
    answer = sign_in(browser)
    assert answer.status_code == 200, answer.json()
    assert answer.json()["username"] == "ann"
    assert answer.json()["grants"] == [
        {"role": "operator", "clusters": "prod", "names": "orders-*", "token_clusters": "*"}
    ]
    assert browser.get(SESSION).json()["username"] == "ann"
    assert (last_row().action, last_row().actor, last_row().is_ok) == ("session.sign_in", "ann", True)


def test_signing_in_starts_a_new_session(browser: APIClient) -> None:
    make_user("ann"), make_user("bob")
    sign_in(browser)
    first = browser.cookies["sessionid"].value
    sign_in(browser, "bob")
    assert browser.cookies["sessionid"].value != first


def test_a_session_that_somebody_else_chose_is_not_taken_over(browser: APIClient) -> None:
    """Fixation: a cookie planted before the sign-in, made up or of a real session without a user."""
    make_user("ann")
    planted = SessionStore()
    planted["kept"] = "yes"
    planted.save()
    for chosen in ("abcdefghijklmnopqrstuvwxyz012345", planted.session_key):
        browser.cookies["sessionid"] = chosen
        assert sign_in(browser).status_code == 200
        assert browser.cookies["sessionid"].value != chosen
        stranger = APIClient()
        stranger.cookies["sessionid"] = chosen
        assert stranger.get(SESSION).json()["is_signed_in"] is False


def test_a_csrf_token_from_before_signing_in_is_worth_nothing_after_it(browser: APIClient) -> None:
    make_user("ann")
    before = browser.cookies["csrftoken"].value
    assert sign_in(browser).status_code == 200
    assert browser.cookies["csrftoken"].value != before
    assert browser.delete(SESSION, headers={"X-CSRFToken": before}).status_code == 403


@pytest.mark.parametrize("name", ["ann", "nobody", "gone"])
def test_every_failure_costs_one_hash(
    browser: APIClient, monkeypatch: pytest.MonkeyPatch, settings: Any, name: str
) -> None:
    """The hash is what takes the time; who skips it for unknown names tells which names are known."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
    make_user("ann")
    User.objects.filter(pk=make_user("gone").pk).update(is_active=False)
    costs: list[int] = []
    encode = PBKDF2PasswordHasher.encode

    def counted(self: Any, password: str, salt: str, iterations: int | None = None) -> str:
        costs.append(iterations or self.iterations)
        return encode(self, password, salt, iterations)

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", counted)
    assert sign_in(browser, name, "wrong").status_code == 401
    assert costs == [PBKDF2PasswordHasher.iterations]


@pytest.mark.parametrize("name", ["ann", "nobody", "gone"])
def test_every_failure_looks_the_same_and_is_audited(browser: APIClient, name: str) -> None:
    make_user("ann")
    User.objects.filter(pk=make_user("gone").pk).update(is_active=False)
    answer = sign_in(browser, name, "wrong" if name != "gone" else PASSWORD)
    assert answer.status_code == 401
    assert answer.json()["code"] == "credentials"
    assert answer.json()["detail"] == "the name or the password is wrong"
    expected = name if name != "nobody" else "(unknown account)"
    assert (last_row().actor, last_row().is_ok) == (expected, False)


def test_a_name_that_nobody_has_is_not_written_down(browser: APIClient) -> None:
    sign_in(browser, "hunter2-in-the-wrong-field")
    assert not AuditEntry.objects.filter(target__contains="hunter2").exists()


def test_signing_in_without_a_csrf_token_is_refused(browser: APIClient) -> None:
    make_user("ann")
    answer = browser.post(SESSION, {"username": "ann", "password": PASSWORD}, format="json")
    assert answer.status_code == 403
    assert "sessionid" not in browser.cookies


def test_twenty_guesses_are_five_attempts_and_one_row_says_so(browser: APIClient) -> None:
    make_user("ann")
    codes = [sign_in(browser, password=f"guess {number}").status_code for number in range(20)]
    assert codes == [401] * PER_ACCOUNT + [429] * (20 - PER_ACCOUNT)
    failures = AuditEntry.objects.filter(action="session.sign_in", is_ok=False)
    assert failures.count() == PER_ACCOUNT + 1
    assert last_row().details == {"error": "throttled"}
    refused = sign_in(browser)
    assert refused.status_code == 429, "the right password must not tell that it is right"
    assert refused.headers["Retry-After"] == "60"


def test_a_success_forgets_the_mistakes_before_it(browser: APIClient) -> None:
    make_user("ann")
    for _ in range(3):
        for _ in range(PER_ACCOUNT - 1):
            assert sign_in(browser, password="wrong").status_code == 401
        assert sign_in(browser).status_code == 200


def test_unknown_names_cost_an_address_its_attempts_too(browser: APIClient) -> None:
    codes = [sign_in(browser, f"name-{number}").status_code for number in range(35)]
    assert codes.count(401) == 30


def test_without_redis_nobody_signs_in(browser: APIClient, settings: Any) -> None:
    make_user("ann")
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://127.0.0.1:1",
        }
    }
    answer = sign_in(browser)
    assert (answer.status_code, answer.json()["code"]) == (503, "redis_away")


def test_signing_out_ends_the_session_and_is_audited(browser: APIClient) -> None:
    make_user("ann")
    sign_in(browser)
    stolen = APIClient()
    stolen.cookies["sessionid"] = browser.cookies["sessionid"].value
    assert stolen.get(SESSION).json()["is_signed_in"]
    token = browser.cookies["csrftoken"].value
    assert browser.delete(SESSION, headers={"X-CSRFToken": token}).status_code == 204
    assert not stolen.get(SESSION).json()["is_signed_in"]
    assert last_row().action == "session.sign_out"


def test_signing_out_across_sites_is_refused(browser: APIClient) -> None:
    make_user("ann")
    sign_in(browser)
    assert browser.delete(SESSION).status_code == 403


def change(client: APIClient, current: str, new: str) -> Any:
    body = {"current_password": current, "new_password": new}
    return client.post(f"{SESSION}password/", body, format="json")


def test_a_password_is_changed_by_who_knows_it(browser: APIClient) -> None:
    user = make_user("ann")
    client, elsewhere = APIClient(), APIClient()
    client.force_login(user), elsewhere.force_login(user)
    assert change(client, "wrong", NEW).status_code == 401
    assert last_row().is_ok is False
    assert change(client, PASSWORD, NEW).status_code == 204
    assert client.get(SESSION).json()["is_signed_in"]
    assert not elsewhere.get(SESSION).json()["is_signed_in"]
    assert sign_in(browser, "ann", NEW).status_code == 200
    user.refresh_from_db()
    assert user.rights_version == 1


def test_a_weak_password_is_refused_with_the_reason() -> None:
    client = APIClient()
    client.force_login(make_user("ann"))
    answer = change(client, PASSWORD, "short")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "new_password"


def test_a_fresh_database_has_nobody_to_sign_in_as(browser: APIClient) -> None:
    assert not User.objects.exists()
    for name, password in [("admin", "admin"), ("root", "root"), ("rocketmq", "1234567")]:
        assert sign_in(browser, name, password).status_code == 401

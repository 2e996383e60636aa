"""The address that `make up` prints: a person signs in and sees what can be done."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.platform_fixtures import PASSWORD, make_user

pytestmark = pytest.mark.django_db


def test_a_person_signs_in_and_is_led_to_the_api(redis: str) -> None:
    make_user("ann")
    client = Client(enforce_csrf_checks=True)
    page = client.get("/")
    assert b"csrfmiddlewaretoken" in page.content
    token = client.cookies["csrftoken"].value
    form = {"username": "ann", "password": PASSWORD, "csrfmiddlewaretoken": token}
    answer = client.post("/", form)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/api/v1/docs/")
    assert client.get("/").status_code == 302
    assert client.get("/api/v1/docs/").status_code == 200


def test_a_wrong_password_is_told_and_markup_stays_text(redis: str) -> None:
    answer = Client().post("/", {"username": "<script>alert(1)</script>", "password": "x"})
    assert answer.status_code == 401
    assert b"the name or the password is wrong" in answer.content
    assert b"<script>alert" not in answer.content


def test_a_form_of_another_site_is_refused(redis: str) -> None:
    make_user("ann")
    client = Client(enforce_csrf_checks=True)
    assert client.post("/", {"username": "ann", "password": PASSWORD}).status_code == 403

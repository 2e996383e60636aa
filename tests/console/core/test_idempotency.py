"""A POST that is sent again with the same key is answered again, not done again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import path
from django.utils import timezone
from rest_framework.response import Response
from rest_framework.test import APIClient

from console.core.models import KeptAnswer
from console.core.needs import SIGNED_IN
from console.core.problems import Problem
from console.core.views import PlatformView

done: list[object] = []


class Deed(PlatformView):
    needs = {"POST": SIGNED_IN}

    def post(self, request):
        done.append(request.data)
        if request.data.get("fails"):
            raise Problem("broken", "elsewhere", request.data["fails"])
        return Response({"number": len(done), "secret": "canary-secret"}, 201)


urlpatterns = [path("deed/", Deed.as_view())]
pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]


@pytest.fixture(autouse=True)
def _forget() -> None:
    done.clear()


def post(client: APIClient, data: dict, key: str = "k"):
    return client.post("/deed/", data, format="json", headers={"Idempotency-Key": key})


def test_the_first_answer_comes_again(api: APIClient) -> None:
    first, second = post(api, {"a": 1}), post(api, {"a": 1})
    assert first.json() == second.json() and second.status_code == 201
    assert second.headers["Idempotent-Replay"] == "true"
    assert len(done) == 1


def test_the_key_is_for_one_request(api: APIClient) -> None:
    post(api, {"a": 1})
    assert post(api, {"a": 2}).status_code == 422
    assert len(done) == 1


def test_another_key_and_no_key_do_it_again(api: APIClient) -> None:
    post(api, {}), post(api, {}, "other"), api.post("/deed/", {}, format="json")
    assert len(done) == 3


def test_refusals_are_kept_and_failures_are_not(api: APIClient) -> None:
    assert [post(api, {"fails": 409}).status_code for _ in range(2)] == [409, 409]
    assert len(done) == 1
    assert [post(api, {"fails": 503}, "x").status_code for _ in range(2)] == [503, 503]
    assert len(done) == 3


def test_while_the_first_is_under_way_the_second_waits(api: APIClient) -> None:
    post(api, {})
    KeptAnswer.objects.update(status=None)
    assert post(api, {}).json()["code"] == "under_way"
    KeptAnswer.objects.update(created_at=timezone.now() - timedelta(hours=1))
    assert post(api, {}).status_code == 201


def test_a_kept_answer_shows_no_secret_to_who_reads_the_table(api: APIClient) -> None:
    post(api, {})
    assert "canary-secret" not in KeptAnswer.objects.get().sealed_body


def test_a_key_belongs_to_its_user(people) -> None:
    post(people.root, {})
    assert post(people.viewer, {}).json()["number"] == 2


def test_an_overlong_key_is_refused(api: APIClient) -> None:
    assert post(api, {}, "k" * 129).status_code == 400


def test_a_browsers_post_with_a_key_is_read_once_for_all(people) -> None:
    """Looking for a CSRF token reads the body, too."""
    client = APIClient(enforce_csrf_checks=True)
    client.cookies = people.viewer.cookies
    client.cookies["csrftoken"] = "a" * 32
    headers = {"Idempotency-Key": "k", "X-CSRFToken": "a" * 32}
    answers = [client.post("/deed/", {"a": 1}, format="json", headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    form = client.post("/deed/", {"a": 1}, format="multipart", headers=headers)
    assert form.status_code in (415, 422)

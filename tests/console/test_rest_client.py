"""The thin client against a console that listens."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from console.core.models import ApiToken, KeptAnswer, User
from console.rest_client import OperationFailed, ProblemError, Signalbox, path_of
from tests.platform_fixtures import PASSWORD, make_user

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def console(live_server: Any, redis: str) -> str:
    cache.clear()
    make_user("ann", 3)
    return str(live_server.url)


@pytest.fixture
def box(console: str) -> Signalbox:
    client = Signalbox(console)
    client.sign_in("ann", PASSWORD)
    return client


def test_it_signs_in_and_works_by_session_and_by_token(console: str, box: Signalbox) -> None:
    assert box.get("session/")["username"] == "ann"
    token = box.post("tokens/", {"name": "ci", "role": "viewer", "expires_in_days": 1})
    by_token = Signalbox(console, token=token["secret"])
    assert by_token.get("session/")["token"] == "ci"
    box.delete(path_of("tokens", str(token["id"])))
    with pytest.raises(ProblemError) as refused:
        by_token.get("tokens/")
    assert refused.value.status == 401


def test_problems_are_raised_with_code_and_field(box: Signalbox) -> None:
    with pytest.raises(ProblemError, match="not valid") as caught:
        box.post("users/", {"username": "a b"})
    assert (caught.value.status, caught.value.code) == (400, "invalid")
    assert caught.value.errors[0]["field"] == "username"


def test_all_pages_are_walked(box: Signalbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.rest_client._PAGE", 3)
    for number in range(8):
        make_user(f"crowd-{number}")
    found = [user["username"] for user in box.pages("users/", search="crowd")]
    assert found == [f"crowd-{number}" for number in range(8)]


def test_a_post_whose_answer_was_lost_is_done_once(box: Signalbox, monkeypatch: pytest.MonkeyPatch) -> None:
    really, lost = box._open, [True]

    def opened(request: Any, **options: Any) -> Any:
        answer = really(request, **options)
        if lost:
            lost.clear()
            raise urllib.error.URLError("connection reset")
        return answer

    monkeypatch.setattr(box, "_open", opened)
    made = box.post("users/", {"username": "zoe"})
    assert User.objects.filter(username="zoe").count() == 1
    assert User.objects.get(username="zoe").check_password(made["password"])
    assert KeptAnswer.objects.count() == 1


def test_an_unsafe_call_without_a_key_is_not_sent_again(
    box: Signalbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []

    def opened(request: Any, **options: Any) -> Any:
        sent.append(request)
        raise urllib.error.URLError("connection reset")

    monkeypatch.setattr(box, "_open", opened)
    with pytest.raises(urllib.error.URLError):
        box.patch("users/ann/", {"team": "x"})
    assert len(sent) == 1


def test_an_operation_is_waited_for(box: Signalbox, monkeypatch: pytest.MonkeyPatch) -> None:
    states = iter(["running", "succeeded", "failed"])
    monkeypatch.setattr(box, "get", lambda path: {"id": "x", "state": next(states), "error": "no disk"})
    begun = {"id": "x", "state": "running"}
    assert box.wait(begun, sleep=lambda _: None)["state"] == "succeeded"
    with pytest.raises(OperationFailed, match="no disk"):
        box.wait(begun, sleep=lambda _: None)
    with pytest.raises(TimeoutError):
        box.wait(begun, timeout_s=-1)


def test_names_in_paths_are_escaped() -> None:
    assert path_of("clusters", "c", "topics", "%RETRY%a/b") == "clusters/c/topics/%25RETRY%25a%2Fb/"


def test_it_needs_no_django() -> None:
    code = "import sys, console.rest_client; print('django' in sys.modules, 'engine' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=ROOT,
        env={"PYTHONPATH": "platform"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["False", "False"], done.stderr


def test_tokens_are_not_shown_by_mistake(console: str) -> None:
    assert "sbx_secret" not in repr(Signalbox(console, token="sbx_secret"))
    assert not ApiToken.objects.exists()

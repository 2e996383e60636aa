"""The address that `make up` prints: the built page, for every address but the API's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from console import front_page

HTML = b'<!doctype html><script type="module" src="/static/console/assets/index-AbCdEf12.js"></script>'


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "index.html").write_bytes(HTML)
    monkeypatch.setattr(front_page, "FRONTEND", tmp_path)
    return tmp_path


@pytest.mark.parametrize("path", ["/", "/sign-in", "/clusters/orders/topics/%25RETRY%25billing?tab=queues"])
def test_every_address_of_the_page_is_the_page(built: Path, path: str) -> None:
    answer = Client().get(path)
    assert (answer.status_code, answer.content) == (200, HTML)
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Content-Type"].startswith("text/html")


def test_the_page_may_run_nothing_but_its_own_files(built: Path) -> None:
    policy = Client().get("/").headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy and "unsafe-eval" not in policy and "http" not in policy


@pytest.mark.parametrize(
    "path", ["/api", "/api/v1/nothing/", "/static/console/assets/gone-AbCdEf12.js", "/ws/v2/"]
)
def test_what_is_missing_below_the_api_is_missing(built: Path, path: str) -> None:
    assert Client().get(path).status_code == 404


def test_the_page_takes_no_forms(built: Path) -> None:
    assert Client().post("/", {"username": "ann"}).status_code == 405


def test_without_a_build_it_says_how_to_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_page, "FRONTEND", tmp_path / "nothing")
    answer = Client().get("/clusters/orders")
    assert answer.status_code == 503 and b"make setup" in answer.content


def test_built_files_are_kept_for_ever_and_others_are_not(tmp_path: Path, settings: Any) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    (assets / "index-AbCdEf12.js").write_text("export {};")
    (tmp_path / "first_paint.js").write_text("1;")
    settings.STATICFILES_DIRS = [("console", tmp_path)]
    client = Client()
    kept = client.get("/static/console/assets/index-AbCdEf12.js")
    assert kept.headers["Cache-Control"] == "max-age=315360000, public, immutable"
    assert kept.headers["Content-Type"].startswith("text/javascript")
    assert client.get("/static/console/first_paint.js").headers["Cache-Control"] == "max-age=60, public"

"""The watcher itself: it fails a test whose route leaves nothing, and a run that calls too little."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.urls import path
from django.utils import timezone
from rest_framework.response import Response

from console.core import audit
from console.core.needs import SIGNED_IN
from console.core.views import PlatformView
from tests.audit_watch import ROOMS, called, fits, is_whole, uncalled
from tests.console import route_map
from tests.platform_fixtures import *  # noqa: F403
from tests.platform_fixtures import People


class Deed(PlatformView):
    needs = {"POST": SIGNED_IN}

    def post(self, request):
        if action := request.data.get("action"):
            audit.record(self.actor, action, now=timezone.now())
        return Response({})


urlpatterns = [path("deed/", Deed.as_view())]


@pytest.fixture(autouse=True)
def _table(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"POST deed/": route_map.Row(("yes",) * 5, "deed.do,other.")}
    monkeypatch.setattr(route_map, "table", lambda: rows)


@pytest.fixture
def watched(_table: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.audit_watch import watch

    watch(monkeypatch)


@pytest.mark.django_db
@pytest.mark.urls(__name__)
@pytest.mark.parametrize("action", ["deed.do", "other.thing"])
def test_a_route_that_leaves_its_row_passes(people: People, watched: None, action: str) -> None:
    people.viewer.post("/deed/", {"action": action}, format="json")


@pytest.mark.django_db
@pytest.mark.urls(__name__)
@pytest.mark.parametrize("action", ["", "deed.undo"])
def test_a_route_that_leaves_none_or_another_fails(people: People, watched: None, action: str) -> None:
    with pytest.raises(AssertionError, match="POST deed/ answered 200 and left"):
        people.viewer.post("/deed/", {"action": action}, format="json")


@pytest.mark.django_db
@pytest.mark.urls(__name__)
def test_a_dry_run_leaves_none(people: People, watched: None) -> None:
    people.viewer.post("/deed/?dry_run=true", {}, format="json")


def test_a_route_that_nothing_called_is_named() -> None:
    called.discard("POST deed/")
    assert uncalled() == ["POST deed/"]
    called.add("POST deed/")
    assert uncalled() == []
    called.discard("POST deed/")


def test_actions_fit_whole_or_by_their_beginning() -> None:
    assert fits("topic.create", "topic.create") and fits("topic.create", "a.b,topic.")
    assert not fits("topic.created", "topic.create") and not fits("topics.create", "topic.")


@pytest.mark.parametrize(
    ("markers", "whole"),
    [
        ("", True),
        ("not interop and not bench", True),
        ("needs_maven", False),
        ("needs_maven and not bench", False),
        ("interop or not bench", False),
    ],
)
def test_a_run_is_whole_unless_a_marker_is_asked_for(markers: str, whole: bool) -> None:
    option = SimpleNamespace(keyword="", collectonly=False, deselect=None, markexpr=markers)
    assert is_whole(SimpleNamespace(option=option, args=sorted(ROOMS))) is whole  # type: ignore[arg-type]

"""Runs on the websocket channel `reports/{cluster}`: told as they change, to those who may see them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from clusters.models import Cluster, Host
from console.core.models.people import Role
from reports.actions.telling import tell
from reports.models import ReportRun
from tests.console.live.sockets import hear, opened, say, session_of
from tests.platform_fixtures import make_user
from tests.platform_processes import serving

pytestmark = pytest.mark.django_db(transaction=True)
CHANNEL = "reports/attached"


@pytest.fixture(scope="module")
def server(django_db_setup: None, django_db_blocker: Any, redis: str) -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture
def run(shop: Cluster, host: Host) -> ReportRun:
    now = timezone.now()
    made = {"keep_days": 1, "created_by": "t", "created_at": now, "expires_at": now + timedelta(days=1)}
    ReportRun.objects.create(cluster=shop, report="search", host=host, **made)
    return ReportRun.objects.create(cluster=shop, report="audit", host=host, **made)


@pytest.fixture
def sessions(db: None) -> dict[str, str]:
    return {
        "viewer": session_of(make_user("watcher", Role.VIEWER)),
        "partial": session_of(make_user("partial", Role.VIEWER, names="team-*")),
        "other": session_of(make_user("stranger", Role.ADMIN, clusters="other-*")),
    }


def change(run: ReportRun, **values: Any) -> None:
    ReportRun.objects.filter(pk=run.pk).update(**values)
    run.refresh_from_db()
    tell(run)


async def test_progress_and_states_are_told(server: str, run: ReportRun, sessions: dict[str, str]) -> None:
    async with opened(server, sessions["viewer"]) as socket:
        await say(socket, type="subscribe", channel=CHANNEL)
        state = await hear(socket, "state")
        assert list(state["data"]) == [str(run.pk)], "runs of search jobs are their owners'"
        row = state["data"][str(run.pk)]
        assert (row["state"], row["host"], row["is_cancelling"]) == ("queued", "here", False)
        progress = {"phase": "reading", "tasks_done": 3, "rows": "12"}
        await sync_to_async(change)(run, state="running", progress=progress)
        told = (await hear(socket, "change"))["data"][str(run.pk)]
        assert (told["state"], told["progress"]) == ("running", progress)
        await sync_to_async(change)(run, cancel_asked_at=timezone.now())
        assert (await hear(socket, "change"))["data"][str(run.pk)]["is_cancelling"] is True


@pytest.mark.parametrize("who", ["partial", "other"])
async def test_whoever_may_not_see_all_names_hears_nothing(
    server: str, run: ReportRun, sessions: dict[str, str], who: str
) -> None:
    async with opened(server, sessions[who]) as socket:
        await say(socket, type="subscribe", channel=CHANNEL)
        assert (await hear(socket, "error"))["code"] == "not_found"

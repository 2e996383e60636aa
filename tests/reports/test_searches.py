"""Search jobs by Spark: which ones, their run, their hits behind the masks, their end in every way."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.actions import searches as search_actions
from clusters.actions.search_runs import do_run_search, open_searches
from clusters.actions.searches import TOO_LONG, runner_for
from clusters.gateway.addressing import address_of
from clusters.gateway.sends import Outgoing, send_many
from clusters.models import Cluster, Host, MaskRule, SearchHit, SearchJob
from reports.actions.searches import do_finish_search, do_follow_searches, do_start_search, wish_of
from reports.models import ReportRun, SparkHost
from reports.selectors.catalogue import find_report
from reports.submitting.folders import folders_of
from reports.submitting.results import tables_of
from tests.platform_fixtures import People

pytestmark = pytest.mark.django_db
HERE = "/api/v1/clusters/attached/searches/"
STORED = datetime(2026, 11, 16, 8, 30, tzinfo=UTC)


@pytest.fixture
def topic(shop: Cluster, fresh: Callable[[str], str]) -> str:
    name = fresh("long")
    assert all(sent.offset_id for sent in send_many(address_of(shop), [Outgoing(name, b"needle")] * 3))
    return name


def ask(client: APIClient, topic: str, **asked: Any) -> dict[str, Any]:
    answer = client.post(HERE, {"topics": [topic], "runner": "spark", **asked}, format="json")
    assert answer.status_code == 202, answer.content
    return dict(answer.json())


def start(job: dict[str, Any]) -> ReportRun:
    run = do_start_search(uuid.UUID(job["id"]), now=timezone.now())
    assert run is not None
    return run


def finish(run: ReportRun, host: Host, *hits: dict[str, Any], stopped: str = "end") -> None:
    """As the job leaves it on its host."""
    folder = f"report=search/day=2026-11-16/run={run.pk}"
    place = folders_of(host.data_root).results / folder
    (place / "hits").mkdir(parents=True)
    table = pyarrow.Table.from_pylist(list(hits), schema=HITS)
    pyarrow.parquet.write_table(table, place / "hits" / "part-0.parquet")
    figures = {"messages": "123456789012", "found": str(len(hits)), "stopped": stopped}
    ReportRun.objects.filter(pk=run.pk).update(
        state="done", folder=folder, tables=tables_of(place, {}), summary={"figures": figures}
    )


HITS = pyarrow.schema(
    [
        ("cluster", pyarrow.string()),
        ("topic", pyarrow.string()),
        ("broker", pyarrow.string()),
        ("queue_id", pyarrow.int32()),
        ("queue_offset", pyarrow.int64()),
        ("offset_id", pyarrow.string()),
        ("msg_id", pyarrow.string()),
        ("store_time", pyarrow.timestamp("us", "UTC")),
        ("body_size", pyarrow.int32()),
        ("origin_topic", pyarrow.string()),
    ]
)


def hit(topic: str, number: int, **values: Any) -> dict[str, Any]:
    found = {"topic": topic, "broker": "client-a", "queue_id": 0, "queue_offset": number, "body_size": 6}
    return {**found, "offset_id": f"{number:032X}", "msg_id": f"m{number}", "store_time": STORED, **values}


def test_ranges_that_are_too_long_are_sparks(
    api: APIClient, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (runner_for(TOO_LONG), runner_for(TOO_LONG + 1)) == ("celery", "spark")
    monkeypatch.setattr(search_actions, "TOO_LONG", 2)
    asked = {"topics": [topic], "body": "needle", "max_scan": 1}
    plan = api.post(f"{HERE}?dry_run=true", asked, format="json").json()
    assert plan == {"messages": "3", "is_within_limit": True, "runner": "spark"}
    job = api.post(HERE, asked, format="json").json()
    assert (job["runner"], job["max_scan"]) == ("spark", "3")
    small = api.post(HERE, {**asked, "runner": "celery"}, format="json").json()
    assert open_searches(timezone.now()) == [uuid.UUID(small["id"])], "the other runner leaves Spark's alone"
    assert do_run_search(uuid.UUID(job["id"]), worker="w", clock=timezone.now) is False
    assert SearchJob.objects.get(pk=job["id"]).state == "queued"


def test_a_job_becomes_a_run_with_what_is_looked_for(api: APIClient, topic: str) -> None:
    job = ask(api, topic, key="k", property="shop=7", body="x\ny", begin="2026-01-01T00:00:00Z", max_hits=5)
    do_follow_searches(now=timezone.now())
    run = ReportRun.objects.get()
    assert (str(run.search_id), run.state, run.report) == (job["id"], "queued", "search")
    assert run.begin == datetime(2026, 1, 1, tzinfo=UTC) and run.end is None
    words = find_report("search").words(run.options)
    looked_for = ["--key=k", "--property=shop=7", "--body=x\ny", "--max-hits=5"]
    assert words == [f"--topic={topic}", *looked_for]
    assert SearchJob.objects.get().state == "running"
    do_follow_searches(now=timezone.now())
    assert ReportRun.objects.count() == 1
    ReportRun.objects.update(progress={"rows": "77"})
    do_follow_searches(now=timezone.now())
    assert api.get(f"{HERE}{job['id']}/").json()["scanned"] == "77"


def test_sql_is_handed_on(api: APIClient, topic: str) -> None:
    job = SearchJob.objects.get(pk=ask(api, topic, sql="price > 100")["id"])
    assert wish_of(job).options["sql"] == "price > 100"


def test_hits_come_back_into_the_job(api: APIClient, topic: str, host: Host) -> None:
    job = ask(api, topic, body="needle")
    run = start(job)
    finish(run, host, *(hit(topic, number) for number in range(3)))
    assert do_finish_search(uuid.UUID(job["id"]), worker="w", now=timezone.now()) is True
    assert do_finish_search(uuid.UUID(job["id"]), worker="w", now=timezone.now()) is False
    done = api.get(f"{HERE}{job['id']}/").json()
    assert (done["state"], done["stopped"], done["is_complete"]) == ("done", "end", True)
    assert (done["found"], done["scanned"]) == (3, "123456789012")
    page = api.get(f"{HERE}{job['id']}/results/").json()
    assert page["results"][2]["queue_offset"] == "2" and page["results"][0]["stored_at"].startswith(
        "2026-11-16"
    )


def test_what_is_masked_for_the_owner_is_passed_over_and_more_is_said(
    people: People, topic: str, host: Host
) -> None:
    job = ask(people.viewer, topic, body="needle", max_hits=2)
    run = start(job)
    MaskRule.objects.create(
        cluster_pattern="*",
        topic_pattern="secret",
        hides_body=True,
        created_by="t",
        created_at=timezone.now(),
    )
    letter = hit(topic, 1, origin_topic="secret")
    finish(run, host, hit(topic, 0), letter, hit(topic, 2), stopped="max_hits")
    do_finish_search(uuid.UUID(job["id"]), worker="w", now=timezone.now())
    row = SearchJob.objects.get()
    assert (row.state, row.stopped, row.found, len(row.problems)) == ("done", "max_hits", 2, 1)
    assert list(SearchHit.objects.values_list("queue_offset", flat=True)) == [0, 2]


@pytest.mark.parametrize(("state", "ends"), [("failed", "failed"), ("cancelled", "cancelled")])
def test_a_run_that_ends_ends_its_job(api: APIClient, topic: str, state: str, ends: str) -> None:
    job = ask(api, topic, body="x")
    run = start(job)
    ReportRun.objects.filter(pk=run.pk).update(state=state, error="why")
    do_follow_searches(now=timezone.now())
    shown = api.get(f"{HERE}{job['id']}/").json()
    assert (shown["state"], shown["error"]) == (ends, "why" if ends == "failed" else "")


def test_without_spark_or_stores_a_job_fails_at_once_and_says_why(
    api: APIClient, topic: str, host: Host, shop: Cluster
) -> None:
    SparkHost.objects.create(host=host, missing="Spark cannot run: no java", checked_at=timezone.now())
    job = ask(api, topic, body="x")
    start(job)
    assert "no java" in api.get(f"{HERE}{job['id']}/").json()["error"]
    shop.stores.delete()
    job = ask(api, topic, body="x")
    assert do_start_search(uuid.UUID(job["id"]), now=timezone.now()) is None
    shown = api.get(f"{HERE}{job['id']}/").json()
    assert (shown["state"], "say where its stores are" in shown["error"]) == ("failed", True)


def test_a_cancelled_job_calls_its_run_off_and_a_deleted_one_too(api: APIClient, topic: str) -> None:
    from reports.actions.settling import do_settle_runs

    first, second = ask(api, topic, body="x"), ask(api, topic, body="y")
    runs = [start(first), start(second)]
    api.post(f"{HERE}{first['id']}/cancel/")
    api.delete(f"{HERE}{second['id']}/")
    assert do_settle_runs(worker="w", now=timezone.now()) == 2
    assert {ReportRun.objects.get(pk=run.pk).state for run in runs} == {"cancelled"}


def test_results_live_as_long_as_the_job(api: APIClient, topic: str, tmp_path: Path) -> None:
    job = ask(api, topic, body="x", keep_days=3)
    run = start(job)
    assert timedelta(days=2) < run.expires_at - run.created_at <= timedelta(days=3)

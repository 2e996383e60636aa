"""Search jobs by REST, run by a worker's own code on a real broker: progress, limits, cancel, resumption."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from clusters.actions import search_runs
from clusters.actions.search_runs import do_run_search, open_searches
from clusters.actions.searches import do_expire_searches
from clusters.gateway.addressing import address_of
from clusters.gateway.sends import Outgoing, send_many
from clusters.models import Cluster, MaskRule, SearchHit, SearchJob
from console.core.job_leases import LEASE, LeaseLost, take, write
from console.core.models import AuditEntry
from console.core.models.people import Role
from tests.platform_fixtures import People, client_of, make_user

HERE = "/api/v1/clusters/attached/searches/"


@pytest.fixture
def topics(attached: Cluster, fresh: Callable[[str], str]) -> list[str]:
    """Two topics of 60 messages each; every third holds a needle."""
    names = [fresh("haystack"), fresh("haystack")]
    for name in names:
        messages = [Outgoing(name, b"needle" if n % 3 == 0 else b"hay", keys=(f"k{n}",)) for n in range(60)]
        assert all(sent.offset_id for sent in send_many(address_of(attached), messages))
    return names


def create(client: APIClient, **asked: Any) -> dict[str, Any]:
    answer = client.post(HERE, asked, format="json")
    assert answer.status_code == 202, answer.content
    return answer.json()


def run(job: dict[str, Any]) -> bool:
    return do_run_search(uuid.UUID(job["id"]), worker="test", clock=timezone.now)


def test_a_job_looks_through_everything_and_keeps_what_it_found(people: People, topics: list[str]) -> None:
    job = create(people.viewer, topics=topics, body="needle", keep_days=3)
    assert (job["state"], job["estimate"], job["runner"]) == ("queued", "120", "celery")
    assert run(job) is False
    done = people.viewer.get(f"{HERE}{job['id']}/").json()
    assert (done["state"], done["stopped"], done["is_complete"]) == ("done", "end", True)
    assert (done["scanned"], done["found"]) == ("120", 40)
    page = people.viewer.get(f"{HERE}{job['id']}/results/", {"limit": 15, "offset": 30}).json()
    assert (page["count"], len(page["results"])) == (40, 10)
    hit = page["results"][0]
    shown = people.viewer.get(f"/api/v1/clusters/attached/messages/{hit['offset_id']}/").json()
    assert (shown["body"]["text"], shown["queue_offset"]) == ("needle", hit["queue_offset"])
    assert AuditEntry.objects.filter(action="search.create", actor="viewer").count() == 1
    assert timedelta(days=2) < SearchJob.objects.get().expires_at - timezone.now() <= timedelta(days=3)


def test_limits_end_a_job_and_say_so(api: APIClient, topics: list[str]) -> None:
    few = create(api, topics=topics, body="needle", max_hits=5)
    run(few)
    assert api.get(f"{HERE}{few['id']}/").json()["stopped"] == "max_hits"
    short = create(api, topics=topics, body="needle", max_scan=50)
    run(short)
    ended = api.get(f"{HERE}{short['id']}/").json()
    assert (ended["stopped"], ended["scanned"], ended["is_complete"]) == ("max_scan", "50", False)


def test_a_job_that_stopped_at_a_limit_goes_on_where_it_stopped(people: People, topics: list[str]) -> None:
    job = create(people.viewer, topics=topics, sql="KEYS = 'k3'", max_scan=50)
    assert job["wanted"]["sql"] == "KEYS = 'k3'"
    run(job)
    more = people.viewer.post(f"{HERE}{job['id']}/continue/", {"max_scan": 1000}, format="json")
    assert (more.status_code, more.json()["state"], more.json()["max_scan"]) == (202, "queued", "1050")
    run(job)
    done = people.viewer.get(f"{HERE}{job['id']}/").json()
    assert (done["stopped"], done["scanned"], done["found"], done["is_complete"]) == ("end", "120", 2, True)
    again = people.viewer.post(f"{HERE}{job['id']}/continue/", {}, format="json")
    assert (again.status_code, again.json()["code"]) == (409, "not_open")
    assert AuditEntry.objects.filter(action="search.continue", actor="viewer").count() == 1


def test_a_job_that_goes_on_asks_for_the_rights_of_today(people: People, topics: list[str]) -> None:
    job = create(people.viewer, topics=topics, body="needle", max_scan=50)
    run(job)
    assert people.operator.post(f"{HERE}{job['id']}/continue/", {}, format="json").status_code == 404
    MaskRule.objects.create(
        cluster_pattern="*",
        topic_pattern="*",
        hides_body=True,
        up_to_role=Role.VIEWER,
        created_by="t",
        created_at=timezone.now(),
    )
    refused = people.viewer.post(f"{HERE}{job['id']}/continue/", {}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (403, "masked")


def test_an_estimate_writes_nothing(api: APIClient, topics: list[str]) -> None:
    asked = {"topics": topics, "body": "needle", "max_scan": 100}
    answer = api.post(f"{HERE}?dry_run=true", asked, format="json")
    assert answer.json() == {"messages": "120", "is_within_limit": False, "runner": "celery"}
    assert (SearchJob.objects.count(), AuditEntry.objects.count()) == (0, 0)


def test_a_killed_workers_job_goes_on_without_a_hit_twice(
    api: APIClient, topics: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_runs, "SLICE_MESSAGES", 25)
    job = create(api, topics=topics, body="needle")
    real, slices = search_runs._keep, []

    def dies_in_the_third(*arguments: Any) -> None:
        slices.append(1)
        if len(slices) == 3:
            raise KeyboardInterrupt  # the worker is gone before it wrote
        real(*arguments)

    monkeypatch.setattr(search_runs, "_keep", dies_in_the_third)
    monkeypatch.setattr(search_runs, "release", lambda job: None)
    with pytest.raises(KeyboardInterrupt):
        run(job)
    row = SearchJob.objects.get()
    assert (row.scanned, row.state) == (50, "running")
    assert run(job) is False and row.fence == SearchJob.objects.get().fence, "its lease still holds"
    later = timezone.now() + LEASE + timedelta(seconds=1)
    assert open_searches(later) == [row.pk]
    shift = later - timezone.now()
    assert do_run_search(row.pk, worker="second", clock=lambda: timezone.now() + shift) is False
    row.refresh_from_db()
    assert (row.state, row.scanned, row.found, row.worker) == ("done", 120, 40, "second")
    places = list(SearchHit.objects.values_list("topic", "queue", "queue_offset"))
    assert len(places) == len(set(places)) == 40


def test_a_worker_that_lost_its_lease_writes_nothing(api: APIClient, topics: list[str]) -> None:
    create(api, topics=topics, body="needle")
    now = timezone.now()
    row = SearchJob.objects.get()
    first = take(SearchJob.objects.all(), row.pk, SearchJob.OPEN, "first", now)
    assert first is not None
    assert take(SearchJob.objects.all(), row.pk, SearchJob.OPEN, "second", now) is None
    second = take(SearchJob.objects.all(), row.pk, SearchJob.OPEN, "second", now + LEASE * 2)
    assert second is not None
    with pytest.raises(LeaseLost):
        write(first, SearchJob.OPEN, now, scanned=999)
    assert SearchJob.objects.get().scanned == 0


def test_a_cancelled_job_keeps_what_it_has(
    api: APIClient, topics: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_runs, "SLICE_MESSAGES", 30)
    job = create(api, topics=topics, body="needle")
    real = search_runs._keep

    def cancelled_after_the_first(*arguments: Any) -> None:
        real(*arguments)
        if SearchJob.objects.get().scanned == 30:
            assert api.post(f"{HERE}{job['id']}/cancel/").status_code == 200

    monkeypatch.setattr(search_runs, "_keep", cancelled_after_the_first)
    assert run(job) is False
    row = SearchJob.objects.get()
    assert (row.state, row.scanned) == ("cancelled", 30)
    assert row.hits.count() == row.found
    again = api.post(f"{HERE}{job['id']}/cancel/")
    assert (again.status_code, again.json()["code"]) == (409, "not_open")
    assert open_searches(timezone.now() + LEASE * 2) == []


def test_a_job_that_cannot_get_on_fails_and_says_why(
    api: APIClient, attached: Cluster, topics: list[str]
) -> None:
    job = create(api, topics=topics, body="needle")
    Cluster.objects.update(broker_addresses=[])
    for _ in range(5):
        run(job)
    failed = api.get(f"{HERE}{job['id']}/").json()
    assert (failed["state"], failed["is_complete"]) == ("failed", False)
    assert "cannot be reached" in failed["error"]


def test_a_job_searches_only_what_its_owner_may_see_then_and_now(people: People, topics: list[str]) -> None:
    job = create(people.viewer, topics=topics, body="needle")
    MaskRule.objects.create(
        cluster_pattern="*",
        topic_pattern=topics[0],
        hides_body=True,
        created_by="t",
        created_at=timezone.now(),
    )
    refused = people.viewer.post(HERE, {"topics": topics, "body": "needle"}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (403, "masked")
    run(job)
    row = SearchJob.objects.get()
    assert (row.found, row.scanned, len(row.problems)) == (20, 120, 1)
    assert set(row.hits.values_list("topic", flat=True)) == {topics[1]}
    assert people.viewer.get(f"{HERE}{job['id']}/results/").status_code == 403
    assert people.admin.get(f"{HERE}{job['id']}/results/").status_code == 200


def test_jobs_of_others_do_not_exist(people: People, topics: list[str]) -> None:
    job = create(people.viewer, topics=topics, tag="x")
    assert people.operator.get(f"{HERE}{job['id']}/").status_code == 404
    assert people.operator.post(f"{HERE}{job['id']}/cancel/").status_code == 404
    assert people.operator.get(HERE).json()["count"] == 0
    assert people.admin.get(HERE).json()["count"] == 1
    stranger = client_of(make_user("stranger", Role.VIEWER, names="team-*"))
    assert stranger.post(HERE, {"topics": topics, "tag": "x"}, format="json").status_code == 403


def test_results_expire(api: APIClient, topics: list[str]) -> None:
    job = create(api, topics=topics, body="needle", keep_days=1)
    run(job)
    do_expire_searches(now=timezone.now())
    assert SearchJob.objects.count() == 1
    do_expire_searches(now=timezone.now() + timedelta(days=1, seconds=1))
    assert (SearchJob.objects.count(), SearchHit.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({}, 400),
        ({"topics": []}, 400),
        ({"topics": ["t"] * 21, "tag": "x"}, 400),
        ({"topics": ["nobody-has-this"], "tag": "x"}, 404),
        ({"topics": ["a b"], "tag": "x"}, 400),
        ({"tag": None}, 400),
        ({"sql": "a >"}, 400),
        ({"tag": "x", "runner": "flink"}, 400),
        ({"tag": "x", "max_scan": 10**12}, 400),
        ({"begin": "2026-01-02T00:00Z", "end": "2026-01-01T00:00Z"}, 400),
    ],
)
def test_what_cannot_be_searched_is_refused(
    api: APIClient, topics: list[str], asked: dict[str, Any], status: int
) -> None:
    given = {"topics": topics} | asked
    answer = api.post(
        HERE, {name: value for name, value in given.items() if value is not None}, format="json"
    )
    assert (answer.status_code, SearchJob.objects.count()) == (status, 0), answer.content


def test_nobody_has_too_many_open_jobs(people: People, topics: list[str]) -> None:
    for _ in range(5):
        create(people.viewer, topics=topics, tag="x")
    sixth = people.viewer.post(HERE, {"topics": topics, "tag": "x"}, format="json")
    assert (sixth.status_code, sixth.json()["code"]) == (409, "too_many")


def test_lists_take_a_pinned_number_of_queries(
    people: People,
    topics: list[str],
    attached: Cluster,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for _ in range(4):
        run(create(people.viewer, topics=topics, body="needle"))
    job = SearchJob.objects.first()
    assert job is not None
    now: datetime = timezone.now()
    assert job.created_at <= now
    with django_assert_num_queries(7):  # session, user, grants, cluster, masks, count, page
        assert people.viewer.get(HERE).json()["count"] == 4
    with django_assert_num_queries(8):  # and the job
        assert people.viewer.get(f"{HERE}{job.pk}/results/").json()["count"] == 40

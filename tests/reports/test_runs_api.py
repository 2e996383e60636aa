"""Runs by REST without a worker: asking, placing, refusing, cancelling, deleting; who may; pinned queries."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from clusters.models import Broker, BrokerGroup, Cluster, Host
from console.core.models import AuditEntry
from reports.models import ClusterStores, ReportRun, SparkHost
from reports.selectors.placing import Member, choose
from tests.clusters.provisioning.agent_process import make_host
from tests.platform_fixtures import People

pytestmark = pytest.mark.django_db
RUNS = "/api/v1/clusters/attached/reports/runs/"
STORES = "/api/v1/clusters/attached/reports/stores/"


def ask(client: APIClient, **asked: Any) -> Any:
    return client.post(RUNS, {"report": "audit", **asked}, format="json")


def test_a_run_is_queued_for_the_host_that_has_the_stores(api: APIClient, shop: Cluster, store: Path) -> None:
    made = ask(api, keep_days=3, options={})
    assert made.status_code == 202, made.content
    body = made.json()
    assert (body["state"], body["host"], body["attempts"], body["summary"]) == ("queued", "here", 0, None)
    row = ReportRun.objects.get(pk=body["id"])
    assert row.stores == [{"broker": "broker-a", "path": str(store)}]
    assert timedelta(days=2) < row.expires_at - timezone.now() <= timedelta(days=3)
    entry = AuditEntry.objects.get(action="report.run")
    assert (entry.target, entry.cluster, entry.details["host"]) == ("audit", "attached", "here")


def test_the_same_key_starts_one_run(api: APIClient, shop: Cluster) -> None:
    twice = [
        api.post(RUNS, {"report": "audit"}, format="json", headers={"Idempotency-Key": "k"}) for _ in range(2)
    ]
    assert twice[0].json()["id"] == twice[1].json()["id"] and ReportRun.objects.count() == 1


def test_a_dry_run_says_where_and_writes_nothing(api: APIClient, shop: Cluster, store: Path) -> None:
    plan = api.post(f"{RUNS}?dry_run=true", {"report": "audit"}, format="json").json()
    stores = [{"broker": "broker-a", "path": str(store)}]
    assert plan == {"host": "here", "stores": stores, "left_out": [], "missing": ""}
    assert (ReportRun.objects.count(), AuditEntry.objects.count()) == (0, 0)


def test_retention_takes_what_the_brokers_say_about_themselves(api: APIClient, shop: Cluster) -> None:
    made = ask(api, report="retention").json()
    assert made["options"]["reserved_hours"] == 72
    said = ask(api, report="retention", options={"reserved_hours": 5}).json()
    assert said["options"]["reserved_hours"] == 5


@pytest.mark.parametrize(
    ("asked", "status", "field"),
    [
        ({"report": "nonsense"}, 400, "report"),
        ({"report": "search"}, 400, "report"),
        ({"report": None}, 400, "report"),
        ({"options": {"no": 1}}, 400, "options.no"),
        ({"options": [1]}, 400, "options"),
        ({"time_zone": "Mars"}, 400, "time_zone"),
        ({"begin": "2026-01-02T00:00Z", "end": "2026-01-01T00:00Z"}, 400, "end"),
        ({"brokers": ["broker-z"]}, 400, "brokers"),
        ({"timeout_s": 1}, 400, "timeout_s"),
        ({"keep_days": 1000}, 400, "keep_days"),
        ({"stores": [{"path": "relative"}]}, 400, "stores[0].path"),
        ({"stores": [{"path": "/a/../../etc"}]}, 400, "stores[0].path"),
        ({"stores": [{"broker": "a/b", "path": "/a"}]}, 400, "stores[0].broker"),
    ],
)
def test_what_cannot_be_run_is_refused_with_its_field(
    api: APIClient, shop: Cluster, asked: dict[str, Any], status: int, field: str
) -> None:
    answer = ask(api, **asked)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, field), answer.content
    assert not ReportRun.objects.exists()


def test_a_host_without_spark_fails_the_run_at_once(api: APIClient, shop: Cluster, host: Host) -> None:
    said = "Spark cannot run: no java on PATH"
    SparkHost.objects.create(host=host, missing=said, checked_at=timezone.now())
    body = ask(api).json()
    assert (body["state"], body["error"]) == ("failed", f"{said} (host here)")
    catalogue = api.get("/api/v1/reports/").json()
    assert (catalogue["is_available"], catalogue["missing"]) == (False, said)
    assert catalogue["hosts"][0]["host"] == "here"


def test_an_attached_cluster_says_where_its_stores_are(
    people: People, attached: Cluster, host: Host, store: Path
) -> None:
    refused = ask(people.admin)
    assert (refused.status_code, refused.json()["code"]) == (409, "no_stores")
    said = {"host": "here", "stores": [{"broker": "broker-a", "path": str(store)}]}
    answer = people.admin.put(STORES, said, format="json")
    assert answer.status_code == 200 and answer.json() == {"is_shared": False, **said}
    assert people.viewer.get(STORES).json()["stores"] == said["stores"]
    assert people.operator.put(STORES, said, format="json").status_code == 403
    assert people.admin.put(STORES, said | {"host": "nowhere"}, format="json").status_code == 400
    assert AuditEntry.objects.filter(action="report.stores").count() == 1
    assert ask(people.operator).status_code == 202


def test_paths_of_a_run_are_for_administrators(people: People, shop: Cluster, store: Path) -> None:
    named = {"stores": [{"broker": "broker-b", "path": str(store)}]}
    assert ask(people.operator, **named).status_code == 403
    made = ask(people.admin, **named)
    assert made.status_code == 202
    assert ReportRun.objects.get(pk=made.json()["id"]).stores == named["stores"]


def test_roles_are_those_of_the_whole_cluster(people: People, shop: Cluster) -> None:
    assert ask(people.viewer).status_code == 403
    assert ask(people.other).status_code == 404
    run = ask(people.operator).json()["id"]
    for caller, status in ((people.viewer, 200), (people.other, 404), (people.anonymous, 401)):
        assert caller.get(f"{RUNS}{run}/").status_code == status
    assert people.viewer.post(f"{RUNS}{run}/cancel/").status_code == 403
    assert people.viewer.delete(f"{RUNS}{run}/").status_code == 403


def test_one_that_waits_is_cancelled_at_once_and_deleted_when_it_is_over(
    api: APIClient, shop: Cluster
) -> None:
    run = ask(api).json()["id"]
    assert api.delete(f"{RUNS}{run}/").status_code == 409
    assert api.post(f"{RUNS}{run}/retry/").status_code == 409
    assert api.post(f"{RUNS}{run}/cancel/").json()["state"] == "cancelled"
    assert api.post(f"{RUNS}{run}/cancel/").status_code == 409
    again = api.post(f"{RUNS}{run}/retry/").json()
    assert (again["retry_of"], again["state"]) == (run, "queued")
    assert api.delete(f"{RUNS}{run}/").status_code == 204
    assert ReportRun.objects.get(pk=run).expires_at <= timezone.now()
    assert api.get(f"{RUNS}{run}/log/").json() == {"text": ""}
    assert api.get(f"{RUNS}{run}/tables/topics/").status_code == 409


def test_a_cluster_has_so_many_open_runs(api: APIClient, shop: Cluster) -> None:
    for _ in range(20):
        assert ask(api).status_code == 202
    assert ask(api).json()["code"] == "too_many"


def test_lists_filter_sort_and_take_a_pinned_number_of_queries(
    api: APIClient, shop: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for report in ("audit", "usage", "audit"):
        ask(api, report=report)
    assert api.get(RUNS, {"report": "usage"}).json()["count"] == 1
    assert api.get(RUNS, {"state": "failed"}).json()["count"] == 0
    assert api.get(RUNS, {"ordering": "password"}).status_code == 400
    with django_assert_num_queries(5):  # session, user, cluster, count, page
        assert api.get(RUNS, {"ordering": "report"}).json()["count"] == 3
    # Runs of search jobs are seen through the jobs alone.
    ReportRun.objects.update(report="search")
    assert api.get(RUNS).json()["count"] == 0


# -- managed clusters: which host ---------------------------------------------------------------------------


def member(group: str, number: int, host: str) -> Member:
    return Member(group, number, host, number == 0)


def test_the_host_with_all_groups_wins_then_spark_then_masters() -> None:
    spread = [member("a", 0, "h1"), member("a", 1, "h2"), member("b", 0, "h2"), member("b", 1, "h3")]
    name, chosen, left_out = choose(spread, {"h1": True, "h2": False, "h3": True})
    assert (name, [(one.group, one.member) for one in chosen], left_out) == ("h2", [("b", 0), ("a", 1)], [])
    everywhere = [member("a", number, f"h{number}") for number in range(3)]
    assert choose(everywhere, {"h0": False, "h1": False, "h2": True})[0] == "h2"
    assert choose(everywhere, {"h0": True, "h1": True, "h2": True})[0] == "h0"
    apart = [member("a", 0, "h1"), member("b", 0, "h2")]
    assert choose(apart, {"h1": True, "h2": True})[2] == ["b"]


@pytest.fixture
def managed(redis: str, tmp_path: Path) -> Cluster:
    """Two broker groups on two hosts; nothing runs."""
    cluster = Cluster.objects.create(
        name="attached", broker_cluster_name="C", kind=Cluster.Kind.MANAGED, created_at=timezone.now()
    )
    for number, name in enumerate(("h1", "h2")):
        host = make_host(name, tmp_path)
        Host.objects.filter(pk=host.pk).update(heartbeat_at=timezone.now())
        group = BrokerGroup.objects.create(cluster=cluster, name=f"broker-{'ab'[number]}")
        Broker.objects.create(group=group, member=0, host=host, port=1, desired="stopped")
    return cluster


def test_stores_on_several_hosts_are_refused_or_named(api: APIClient, managed: Cluster) -> None:
    refused = ask(api)
    assert (refused.status_code, refused.json()["code"]) == (409, "stores_apart")
    assert "broker-b" in refused.json()["detail"]
    part = ask(api, allows_partial=True).json()
    assert (part["host"], part["left_out"]) == ("h1", ["broker-b"])
    one = ask(api, brokers=["broker-b"]).json()
    assert (one["host"], one["left_out"]) == ("h2", [])
    assert ReportRun.objects.get(pk=one["id"]).stores == [{"broker": "broker-b", "member": 0}]


def test_shared_stores_may_go_to_any_host(api: APIClient, managed: Cluster) -> None:
    assert api.put(STORES, {"host": "h1", "stores": []}, format="json").status_code == 409
    assert api.put(STORES, {"is_shared": True}, format="json").status_code == 200
    made = ask(api).json()
    assert (made["host"], made["left_out"]) == (None, [])
    assert len(ReportRun.objects.get(pk=made["id"]).stores) == 2
    assert ClusterStores.objects.get().is_shared

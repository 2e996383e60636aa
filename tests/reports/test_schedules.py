"""Schedules: made, changed, paused, due; what was missed, what is still open, whose rights they have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from clusters.models import Cluster
from console.core.models import AuditEntry, RoleBinding, User
from console.schedule import SCHEDULE
from reports.actions.schedules import do_start_due_runs
from reports.models import ReportRun, ReportSchedule
from reports.tasks.runs import look_after_reports
from tests.platform_fixtures import People

pytestmark = pytest.mark.django_db
HERE = "/api/v1/clusters/attached/reports/schedules/"


def make(client: APIClient, **asked: Any) -> dict[str, Any]:
    wish = {"name": "nightly", "report": "audit", "cron": "*/5 * * * *", **asked}
    answer = client.post(HERE, wish, format="json")
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


def due(schedule: dict[str, Any], moment: datetime) -> None:
    ReportSchedule.objects.filter(pk=schedule["id"]).update(next_at=moment)


def test_a_schedule_is_made_shown_changed_paused_and_deleted(people: People, shop: Cluster) -> None:
    made = make(people.operator, time_zone="Asia/Shanghai", last_hours=24, options={})
    assert made["next_at"] is not None and made["owner"] == "operator"
    path = f"{HERE}{made['id']}/"
    paused = people.operator.patch(path, {"is_enabled": False}, format="json").json()
    assert (paused["next_at"], paused["cron"], paused["last_hours"]) == (None, "*/5 * * * *", 24)
    changed = people.admin.patch(path, {"is_enabled": True, "cron": "0 6 * * MON"}, format="json").json()
    assert (changed["owner"], changed["created_by"]) == ("admin", "operator")
    assert datetime.fromisoformat(changed["next_at"]).hour == 22, "six in Shanghai"
    swapped = people.admin.patch(path, {"report": "usage"}, format="json").json()
    assert (swapped["report"], swapped["options"]) == ("usage", {})
    assert people.viewer.get(HERE, {"search": "NIGHT"}).json()["count"] == 1
    assert people.operator.delete(path).status_code == 204
    actions = AuditEntry.objects.filter(action__startswith="report.schedule.").values_list(
        "action", flat=True
    )
    assert [name.rsplit(".")[-1] for name in actions.order_by("id")] == ["create", *["update"] * 3, "delete"]
    update = AuditEntry.objects.filter(action="report.schedule.update").order_by("id").first()
    assert update is not None and update.details["before"]["is_enabled"] is True


def test_a_dry_run_says_when(api: APIClient, shop: Cluster) -> None:
    asked = {"name": "n", "report": "audit", "cron": "0 6 * * *", "time_zone": "Europe/Berlin"}
    times = api.post(f"{HERE}?dry_run=true", asked, format="json").json()["times"]
    assert len(times) == 5 and not ReportSchedule.objects.exists()


@pytest.mark.parametrize(
    ("asked", "status", "field"),
    [
        ({"cron": "never"}, 400, "cron"),
        ({"cron": "* * * * * *"}, 400, "cron"),
        ({"cron": "0 0 30 2 *"}, 400, "cron"),
        ({"time_zone": "Mars"}, 400, "time_zone"),
        ({"report": "search"}, 400, "report"),
        ({"options": {"no": 1}}, 400, "options.no"),
        ({"last_hours": 0}, 400, "last_hours"),
        ({"brokers": ["z"]}, 400, "brokers"),
        ({"name": ""}, 400, "name"),
        ({"name": "taken"}, 409, "name"),
    ],
)
def test_what_cannot_be_scheduled_is_refused_with_its_field(
    api: APIClient, shop: Cluster, asked: dict[str, Any], status: int, field: str
) -> None:
    make(api, name="taken")
    wish = {"name": "n", "report": "audit", "cron": "0 6 * * *", **asked}
    answer = api.post(HERE, wish, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, field), answer.content
    made = ReportSchedule.objects.get()
    answer = api.patch(f"{HERE}{made.pk}/", asked, format="json")
    assert answer.status_code in (400, 200)
    assert (answer.status_code == 200) == (asked.get("name") == "taken")


def test_roles(people: People, shop: Cluster) -> None:
    wish = {"name": "n", "report": "audit", "cron": "0 6 * * *"}
    assert people.viewer.post(HERE, wish, format="json").status_code == 403
    assert people.other.get(HERE).status_code == 404
    made = make(people.operator)
    assert people.viewer.get(f"{HERE}{made['id']}/").status_code == 200
    assert people.viewer.patch(f"{HERE}{made['id']}/", {}, format="json").status_code == 403
    assert people.viewer.post(f"{HERE}{made['id']}/run/").status_code == 403
    assert people.operator.get(f"{HERE}999/").status_code == 404


def test_what_is_due_is_run_once_with_its_range(api: APIClient, shop: Cluster) -> None:
    made = make(api, last_hours=24, keep_days=2)
    now = datetime(2026, 11, 16, 12, 0, 3, tzinfo=UTC)
    due(made, now.replace(second=0))
    assert [do_start_due_runs(now=now), do_start_due_runs(now=now)] == [1, 0]
    run = ReportRun.objects.get()
    assert (run.scheduled_for, run.end) == (now.replace(second=0), now.replace(second=0))
    assert (run.begin, run.keep_days) == (now.replace(second=0) - timedelta(hours=24), 2)
    assert run.created_by == "root (schedule nightly)"
    assert ReportSchedule.objects.get().next_at == now.replace(minute=5, second=0)
    assert AuditEntry.objects.get(action="report.run").details["schedule"] == "nightly"


def test_moments_that_nobody_looked_at_are_one_run(api: APIClient, shop: Cluster) -> None:
    made = make(api)
    now = datetime(2026, 11, 16, 12, 2, tzinfo=UTC)
    due(made, now - timedelta(hours=7))
    assert do_start_due_runs(now=now) == 1
    assert ReportRun.objects.get().scheduled_for == datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def test_a_moment_is_left_out_while_the_run_before_it_is_open(api: APIClient, shop: Cluster) -> None:
    made = make(api)
    now = timezone.now()
    for _ in range(2):
        due(made, now)
        do_start_due_runs(now=now + timedelta(seconds=1))
    assert ReportRun.objects.count() == 1
    assert "still open" in api.get(f"{HERE}{made['id']}/").json()["note"]
    ReportRun.objects.update(state="done")
    due(made, now + timedelta(minutes=5))
    do_start_due_runs(now=now + timedelta(minutes=5))
    assert (ReportRun.objects.count(), ReportSchedule.objects.get().note) == (2, "")


def test_a_schedule_has_no_more_rights_than_its_owner(people: People, shop: Cluster) -> None:
    made = make(people.operator)
    RoleBinding.objects.filter(user=User.objects.get(username="operator")).update(role=1)
    due(made, timezone.now())
    assert do_start_due_runs(now=timezone.now()) == 0
    shown = people.admin.get(f"{HERE}{made['id']}/").json()
    assert (shown["is_enabled"], shown["next_at"]) == (False, None)
    assert "operator may no longer" in shown["note"]


def test_what_cannot_be_placed_is_a_failed_run_with_its_reason(api: APIClient, shop: Cluster) -> None:
    made = make(api)
    shop.stores.delete()
    due(made, timezone.now())
    assert do_start_due_runs(now=timezone.now()) == 1
    run = ReportRun.objects.get()
    assert (run.state, str(run.schedule_id)) == (
        "failed",
        made["id"],
    ) and "say where its stores are" in run.error


def test_a_moment_that_has_its_run_already_is_passed_over(api: APIClient, shop: Cluster) -> None:
    made = make(api)
    moment = timezone.now().replace(microsecond=0)
    due(made, moment)
    do_start_due_runs(now=moment)
    ReportRun.objects.update(state="done")
    due(made, moment)
    assert do_start_due_runs(now=moment) == 0
    assert ReportRun.objects.count() == 1 and ReportSchedule.objects.get().next_at > moment


def test_deleted_clusters_and_unreadable_rows_do_not_stop_the_others(api: APIClient, shop: Cluster) -> None:
    broken, fine = make(api, name="broken"), make(api, name="fine")
    for schedule in (broken, fine):
        due(schedule, timezone.now())
    ReportSchedule.objects.filter(pk=broken["id"]).update(cron="gibberish")
    assert do_start_due_runs(now=timezone.now()) == 1
    assert "paused" in ReportSchedule.objects.get(pk=broken["id"]).note
    due(fine, timezone.now())
    Cluster.objects.update(deleted_at=timezone.now())
    assert do_start_due_runs(now=timezone.now()) == 0


def test_one_of_its_runs_now(api: APIClient, shop: Cluster) -> None:
    made = make(api, last_hours=2)
    run = api.post(f"{HERE}{made['id']}/run/").json()
    assert (run["schedule"], run["scheduled_for"], run["state"]) == ("nightly", None, "queued")
    assert api.delete(f"{HERE}{made['id']}/").status_code == 204
    assert ReportRun.objects.get().schedule is None, "runs stay"


def test_beat_looks_after_reports() -> None:
    assert look_after_reports.name in {entry["task"] for entry in SCHEDULE.values()}


def test_lists_take_a_pinned_number_of_queries(
    api: APIClient, shop: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(4):
        make(api, name=f"s{number}")
    with django_assert_num_queries(5):  # session, user, cluster, count, page
        assert api.get(HERE, {"ordering": "-next_at"}).json()["count"] == 4

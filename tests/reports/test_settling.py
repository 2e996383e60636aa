"""What becomes of runs that nobody looks after, of attempts that failed, and of those whose days are over."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from clusters.models import Cluster, Host
from console.core.job_leases import LEASE, LeaseLost, take, write
from reports.actions.expiring import do_expire_runs, do_remove_files
from reports.actions.run_decisions import after_death, after_failure
from reports.actions.run_work import take_run
from reports.actions.settling import SILENT_FOR, do_adopt_runs, do_settle_runs
from reports.models import ReportRun, SparkHost
from reports.submitting.folders import folders_of
from reports.submitting.processes import HostBusy, only_one

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def make(shop: Cluster, host: Host | None, **values: Any) -> ReportRun:
    given = {"report": "audit", "keep_days": 1, "created_by": "t", "created_at": NOW, **values}
    return ReportRun.objects.create(
        cluster=shop, host=host, **({"expires_at": NOW + timedelta(days=1)} | given)
    )


def settle(now: Any = NOW) -> int:
    return do_settle_runs(worker="settling", now=now)


def test_decisions_after_a_failure() -> None:
    failed: dict[str, Any] = {"is_cancelled": False, "now": NOW}
    assert after_failure(2, "bad", attempts=1, retries=9, **failed).state == "failed"
    again = after_failure(1, "broken", attempts=2, retries=2, **failed)
    assert (again.state, again.error) == ("queued", "attempt 2 failed: broken")
    assert again.not_before == NOW + timedelta(seconds=60)
    assert after_failure(1, "broken", attempts=3, retries=2, **failed).state == "failed"
    assert after_failure(1, "x", attempts=1, retries=9, is_cancelled=True, now=NOW).state == "cancelled"
    assert after_death(1, is_cancelled=False, now=NOW).state == "queued"
    assert after_death(3, is_cancelled=False, now=NOW).state == "failed"
    assert after_death(1, is_cancelled=True, now=NOW).state == "cancelled"


def test_a_run_without_its_worker_begins_again_three_times(shop: Cluster, host: Host) -> None:
    run = make(shop, host, state="running", fence=4, lease_until=NOW + LEASE, deaths=1)
    assert settle() == 0, "its lease still holds"
    later = NOW + LEASE + timedelta(seconds=1)
    assert settle(later) == 1
    run.refresh_from_db()
    assert (run.state, run.deaths, run.fence, run.lease_until) == ("queued", 2, 5, None)
    ReportRun.objects.update(state="running", lease_until=NOW)
    settle(later)
    run.refresh_from_db()
    assert (run.state, run.error) == ("failed", "its workers ended 3 times in the middle of it")


def test_one_that_was_to_be_cancelled_is(shop: Cluster, host: Host) -> None:
    run = make(shop, host, state="running", lease_until=NOW - LEASE, cancel_asked_at=NOW)
    settle()
    run.refresh_from_db()
    assert (run.state, run.finished_at) == ("cancelled", NOW)


def test_a_worker_that_was_taken_for_dead_writes_nothing(shop: Cluster, host: Host) -> None:
    run = make(shop, host)
    rows = ReportRun.objects.all()
    slow = take(rows, run.pk, ("queued",), "slow", NOW)
    assert slow is not None
    write(slow, ("queued",), NOW, state="running")
    settle(NOW + LEASE * 2)
    with pytest.raises(LeaseLost):
        write(slow, ("running",), NOW, state="done")
    assert ReportRun.objects.get().state == "queued"


def test_an_agent_that_boots_need_not_wait_for_leases(shop: Cluster, host: Host) -> None:
    make(shop, host, state="running", lease_until=NOW + LEASE, worker="reports@here:1")
    other = make(shop, None, state="running", lease_until=NOW + LEASE, worker="reports@there:1")
    assert do_adopt_runs(host, worker="reports@here:2", now=NOW) == 1
    other.refresh_from_db()
    assert other.state == "running"


def test_runs_do_not_wait_for_ever(shop: Cluster, host: Host) -> None:
    silent = make(shop, host)
    Host.objects.update(heartbeat_at=NOW - timedelta(hours=2))
    settle(NOW + SILENT_FOR / 2)
    silent.refresh_from_db()
    assert silent.state == "queued"
    assert settle(NOW + SILENT_FOR + timedelta(seconds=1)) == 1
    silent.refresh_from_db()
    assert silent.error == "the agent of here, which has the stores, does not answer"
    anywhere = make(shop, None)
    settle(NOW + SILENT_FOR + timedelta(seconds=1))
    anywhere.refresh_from_db()
    assert (anywhere.state, "no host" in anywhere.error) == ("failed", True)
    removed = make(shop, host)
    Host.objects.update(heartbeat_at=NOW, removed_at=NOW)
    settle()
    removed.refresh_from_db()
    assert removed.error == "the host here was removed"
    of_deleted = make(shop, host)
    Cluster.objects.update(deleted_at=NOW)
    settle()
    of_deleted.refresh_from_db()
    assert of_deleted.state == "cancelled"


def test_a_host_takes_one_run_at_a_time_in_order(shop: Cluster, host: Host) -> None:
    second = make(shop, host, created_at=NOW + timedelta(seconds=1))
    first = make(shop, None)
    make(shop, host, not_before=NOW + timedelta(hours=1), created_at=NOW - timedelta(hours=1))
    taken = take_run(host, "w", NOW)
    assert taken is not None and (taken.pk, taken.state, taken.attempts) == (first.pk, "running", 1)
    assert take_run(host, "w", NOW) is None
    with pytest.raises(IntegrityError), transaction.atomic():
        ReportRun.objects.filter(pk=second.pk).update(state="running")
    ReportRun.objects.filter(pk=first.pk).update(state="done")
    SparkHost.objects.create(host=host, missing="no Java", checked_at=NOW)
    make(shop, None, created_at=NOW - timedelta(days=1))
    mine = take_run(host, "w", NOW)
    assert mine is not None and mine.pk == second.pk, "what any host could do is not for one without Spark"


def test_the_lock_of_a_host_is_held_by_one(tmp_path: Path) -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with only_one(tmp_path / "lock"):
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait(10)
    try:
        with pytest.raises(HostBusy), only_one(tmp_path / "lock", wait_s=0.2):
            pass
    finally:
        leave.set()
        thread.join()
    with only_one(tmp_path / "lock"):
        pass


def test_old_runs_lose_their_files_and_then_their_rows(shop: Cluster, host: Host) -> None:
    run = make(shop, host, state="done", expires_at=NOW, summary={"a": 1})
    folder = f"report=audit/day=2026-11-16/run={run.pk}"
    ReportRun.objects.update(folder=folder)
    folders = folders_of(host.data_root)
    place = folders.results / folder
    place.mkdir(parents=True)
    (place / "summary.json").write_text("{}")
    folders.log(run.pk).parent.mkdir(parents=True)
    folders.log(run.pk).write_text("log")
    beside = folders.results / "report=audit" / "day=2026-11-15"
    beside.mkdir()
    queued = make(shop, host, expires_at=NOW)
    assert do_expire_runs(now=NOW - timedelta(seconds=1)) == 0
    assert do_expire_runs(now=NOW) == 1
    run.refresh_from_db()
    queued.refresh_from_db()
    assert (run.state, run.summary, queued.state) == ("expired", None, "queued")
    do_expire_runs(now=NOW + timedelta(days=365))
    assert ReportRun.objects.filter(pk=run.pk).exists(), "its files may still be there"
    assert do_remove_files(host, now=NOW) == 1
    assert not place.exists() and not place.parent.exists() and not folders.work(run.pk).exists()
    assert beside.exists()
    do_expire_runs(now=NOW + timedelta(days=59))
    assert ReportRun.objects.filter(pk=run.pk).exists()
    do_expire_runs(now=NOW + timedelta(days=61))
    assert not ReportRun.objects.filter(pk=run.pk).exists()


def test_only_a_runs_own_folder_is_removed(shop: Cluster, host: Host) -> None:
    keep = folders_of(host.data_root).results / "report=audit" / "day=2026-11-16" / "run=another"
    keep.mkdir(parents=True)
    for folder in ("", "..", "report=audit/day=2026-11-16/run=another", "../../../.."):
        make(shop, host, state="expired", folder=folder)
    assert do_remove_files(host, now=NOW) == 4
    assert keep.exists()

"""Runs by a real agent and a real spark-submit: done, failed, cancelled, too long, too large, killed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from rest_framework.test import APIClient

from clusters.models import Cluster, Host
from clusters.provisioning.presence import TOKEN_VARIABLE, read_pid_file
from reports.models import ReportRun, SparkHost
from reports.submitting.folders import ReportFolders, folders_of
from reports.tasks.runs import look_after_reports
from tests.clusters.provisioning.agent_process import AgentProcess, wait
from tests.requirements_probe import need_package

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
RUNS = "/api/v1/clusters/attached/reports/runs/"
SPARK_S = 120.0
"""A JVM on a machine that does other things too."""


@pytest.fixture
def agent(shop: Cluster, host: Host) -> Iterator[AgentProcess]:
    need_package("default-jdk-headless")
    process = AgentProcess(host)
    process.start()
    yield process
    process.stop()


def behave(store: Path, **how: Any) -> None:
    (store / "behave.json").write_text(json.dumps(how))


def start(api: APIClient, **asked: Any) -> str:
    answer = api.post(RUNS, {"report": "retention", **asked}, format="json")
    assert answer.status_code == 202, answer.content
    return str(answer.json()["id"])


def until(run: str, *states: str, agent: AgentProcess) -> ReportRun:
    def there() -> ReportRun | None:
        row = ReportRun.objects.get(pk=run)
        return row if row.state in states else None

    def why() -> str:
        row = ReportRun.objects.get(pk=run)
        return f"{row.state} {row.error}\n{row.log_tail}\n{agent.log()}"

    found: ReportRun = wait(there, SPARK_S, why)
    return found


def spark_processes(token: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(TOKEN_VARIABLE) == token and process.status() != "zombie":
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def token_of(folders: ReportFolders, run: str) -> str:
    about = wait(lambda: read_pid_file(folders.pid(ReportRun.objects.get(pk=run).pk)), SPARK_S)
    return str(about.token)


def running(run: str, agent: AgentProcess) -> None:
    """Spark runs, and says how far it is."""
    wait(lambda: ReportRun.objects.get(pk=run).progress.get("rows", "0") != "0", SPARK_S, agent.log)


def test_a_run_is_done_with_progress_log_summary_and_tables(
    api: APIClient, agent: AgentProcess, host: Host, store: Path
) -> None:
    run = start(api, begin="2026-01-01T00:00:00Z", time_zone="Europe/Berlin")
    row = until(run, "done", "failed", agent=agent)
    assert row.state == "done", (row.error, row.log_tail)
    assert row.summary["figures"] == {"messages": str(2**60)}
    assert [len(row.tables["topics"]["files"]), row.tables["topics"]["rows"]] == [2, 5]
    assert (row.attempts, row.error) == (1, "")
    assert row.progress["phase"] == "reading"
    folders = folders_of(host.data_root)
    assert (folders.results / row.folder / "summary.json").is_file()
    assert not list(folders.work(row.pk).glob("[0-9]*")), "what the attempt wrote aside is gone"
    shown = api.get(f"{RUNS}{run}/").json()
    assert shown["tables"][0]["name"] == "topics" and shown["host"] == "here"
    assert "attempt 1 on here" in api.get(f"{RUNS}{run}/log/").json()["text"]
    seen = json.loads((store / "seen.json").read_text())
    assert f"--store=attached/broker-a={store}" in seen["words"]
    assert "--from=2026-01-01T00:00:00+00:00" in seen["words"]
    assert "--time-zone=Europe/Berlin" in seen["words"]
    leaked = [
        name for name in seen["environment"] if name.startswith(("SIGNALBOX_CONSOLE", "DATABASE", "REDIS"))
    ]
    assert not leaked, "no secret of the console reaches Spark"
    assert SparkHost.objects.get(host=host).missing == ""


def test_bad_input_fails_at_once_with_the_jobs_own_line(
    api: APIClient, agent: AgentProcess, store: Path
) -> None:
    behave(store, exit=2)
    row = until(start(api, retries=3), "failed", agent=agent)
    assert (row.error, row.attempts) == ("the store is not one", 1)
    assert "a log line" in row.log_tail


@pytest.mark.nightly
def test_a_crash_is_tried_again_and_what_ends_well_without_a_summary_is_not(
    api: APIClient, agent: AgentProcess, store: Path
) -> None:
    behave(store, crash="once")
    run = start(api, retries=1)
    wait(lambda: "attempt 1 failed" in ReportRun.objects.get(pk=run).error, SPARK_S, agent.log)
    row = ReportRun.objects.get(pk=run)
    assert (row.state, row.not_before is not None) == ("queued", True)
    assert "the job is broken" in row.error
    ReportRun.objects.filter(pk=run).update(not_before=None)
    look_after_reports()
    assert until(run, "done", "failed", agent=agent).state == "done"
    behave(store, half=True)
    row = until(start(api), "done", "failed", agent=agent)
    assert (row.state, row.error) == ("failed", "the job ended well and left no summary")


def test_cancel_ends_every_process_of_the_run(
    api: APIClient, agent: AgentProcess, host: Host, store: Path
) -> None:
    behave(store, sleep=True)
    run = start(api)
    running(run, agent)
    token = token_of(folders_of(host.data_root), run)
    assert len(spark_processes(token)) >= 3, "Java, the job, its child"
    second = start(api)
    time.sleep(1)
    assert ReportRun.objects.get(pk=second).state == "queued", "one at a time on a host"
    answer = api.post(f"{RUNS}{run}/cancel/").json()
    assert (answer["state"], answer["is_cancelling"]) == ("running", True)
    row = until(run, "cancelled", agent=agent)
    assert spark_processes(token) == [] and row.finished_at is not None
    assert api.post(f"{RUNS}{run}/cancel/").status_code == 409
    running(second, agent)
    api.post(f"{RUNS}{second}/cancel/")
    until(second, "cancelled", agent=agent)
    behave(store)
    again = api.post(f"{RUNS}{run}/retry/").json()
    assert again["retry_of"] == run
    assert until(again["id"], "done", "failed", agent=agent).state == "done"


@pytest.mark.nightly
def test_time_and_memory_are_bounded(
    api: APIClient, shop: Cluster, host: Host, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_package("default-jdk-headless")
    monkeypatch.setenv("SIGNALBOX_SPARK_MEMORY_MB", "900")
    agent = AgentProcess(host)
    agent.start()
    try:
        behave(store, sleep=True)
        run = start(api, timeout_s=10, retries=3)
        row = until(run, "failed", agent=agent)
        assert (row.error, row.attempts) == ("it was ended because it took longer than 10 s", 1)
        behave(store, eat_mb=1500)
        run = start(api)
        row = until(run, "failed", agent=agent)
        assert "more than the 900 MB" in row.error
        assert spark_processes(token_of(folders_of(host.data_root), run)) == []
    finally:
        agent.stop()


@pytest.mark.nightly
def test_a_killed_agents_run_leaves_no_spark_and_begins_again(
    api: APIClient, agent: AgentProcess, host: Host, store: Path
) -> None:
    behave(store, sleep=True)
    run = start(api)
    running(run, agent)
    token = token_of(folders_of(host.data_root), run)
    agent.kill()
    wait(lambda: not [p for p in spark_processes(token) if p.name() == "java"], 20)
    row = ReportRun.objects.get(pk=run)
    assert row.state == "running", "nobody has looked yet"
    behave(store)
    agent.start()
    row = until(run, "done", "failed", agent=agent)
    assert (row.state, row.deaths, row.attempts) == ("done", 1, 2), row.error
    assert spark_processes(token) == []


def test_a_stopped_agent_puts_its_run_back_uncounted(
    api: APIClient, agent: AgentProcess, host: Host, store: Path
) -> None:
    behave(store, sleep=True)
    run = start(api)
    running(run, agent)
    token = token_of(folders_of(host.data_root), run)
    agent.stop()
    row = ReportRun.objects.get(pk=run)
    assert (row.state, row.attempts, row.deaths) == ("queued", 0, 0)
    assert spark_processes(token) == []


def test_without_java_a_run_fails_at_once_and_the_catalogue_says_why(
    api: APIClient, shop: Cluster, host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    agent = AgentProcess(host)
    agent.start()
    try:
        wait(lambda: SparkHost.objects.filter(host=host).exists(), 60, agent.log)
    finally:
        agent.stop()
    said = "Spark cannot run: no java on PATH or in JAVA_HOME (Java 17 or newer is needed)"
    catalogue = api.get("/api/v1/reports/").json()
    assert (catalogue["is_available"], catalogue["missing"]) == (False, said)
    run = api.get(f"{RUNS}{start(api)}/").json()
    assert (run["state"], run["error"]) == ("failed", f"{said} (host here)")

"""Files on a host whose disk the console does not see: a real agent sends them, piece by piece."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from django.conf import settings
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.models import Cluster, Host
from reports.actions import bringing
from reports.actions.expiring import do_expire_runs
from reports.models import ReportRun
from reports.submitting.folders import ReportFolders, folders_of
from reports.submitting.results import tables_of
from tests.clusters.provisioning.agent_process import AgentProcess, wait

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]


@pytest.fixture
def run(shop: Cluster, host: Host) -> ReportRun:
    run_id = uuid.uuid4()
    folder = f"report=audit/day=2026-11-16/run={run_id}"
    folders = folders_of(host.data_root)
    place = folders.results / folder
    (place / "queues").mkdir(parents=True)
    (place / "summary.json").write_text("{}")
    table = pyarrow.table({"number": list(range(400_000))})
    pyarrow.parquet.write_table(table, place / "queues" / "part-0.parquet", compression="none")
    folders.log(run_id).parent.mkdir(parents=True)
    folders.log(run_id).write_text("what Spark said\n")
    now = timezone.now()
    return ReportRun.objects.create(
        id=run_id,
        cluster=shop,
        report="audit",
        host=host,
        state="done",
        folder=folder,
        tables=tables_of(place, {}),
        log_tail="what the row kept",
        keep_days=1,
        created_by="t",
        created_at=now,
        expires_at=now + timedelta(days=1),
    )


@pytest.fixture
def agent(run: ReportRun, host: Host) -> Iterator[AgentProcess]:
    process = AgentProcess(host)
    process.start()
    yield process
    process.stop()


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The console's machine is another one: below the host's data root it sees nothing."""
    elsewhere = ReportFolders(tmp_path / "another-machine")
    monkeypatch.setattr(bringing, "folders_of", lambda data_root: elsewhere)


def test_a_table_and_a_log_are_brought_and_kept_until_the_run_expires(
    api: APIClient, agent: AgentProcess, host: Host, run: ReportRun, blind: None
) -> None:
    here = f"/api/v1/clusters/attached/reports/runs/{run.pk}/"
    page = api.get(f"{here}tables/queues/", {"offset": 399_998}).json()
    assert (page["count"], page["rows"]) == ("400000", [["399998"], ["399999"]])
    [copy] = Path(settings.DATA_ROOT.console).glob(f"report-copies/{run.pk}/queues/*")
    original = folders_of(host.data_root).results / run.folder / "queues" / "part-0.parquet"
    assert original.stat().st_size > bringing.PIECE_BYTES and copy.read_bytes() == original.read_bytes()
    assert api.get(f"{here}log/").json()["text"] == "what Spark said\n"
    agent.stop()
    Host.objects.update(heartbeat_at=None)
    assert api.get(f"{here}tables/queues/").status_code == 200, "the copy is here"
    assert api.get(f"{here}log/").json()["text"] == "what the row kept"
    do_expire_runs(now=run.expires_at)
    assert not copy.exists()


def test_files_that_are_gone_are_said_to_be(
    api: APIClient, agent: AgentProcess, host: Host, run: ReportRun, blind: None
) -> None:
    shutil.rmtree(folders_of(host.data_root).results)
    answer = api.get(f"/api/v1/clusters/attached/reports/runs/{run.pk}/tables/queues/")
    assert (answer.status_code, answer.json()["code"]) == (410, "gone")
    ReportRun.objects.update(state="expired")
    do_expire_runs(now=timezone.now())
    wait(lambda: ReportRun.objects.get().files_removed_at is not None, 60, agent.log)

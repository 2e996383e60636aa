"""The shared fixtures of the platform, a host, and an attached cluster whose stores it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.utils import timezone

from clusters.models import Cluster, Host
from reports.models import ClusterStores
from tests.clusters.provisioning.agent_process import make_host
from tests.platform_fixtures import *  # noqa: F403

JOBS = Path(__file__).with_name("jobs")


@pytest.fixture
def host(db: None, redis: str, tmp_path: Path) -> Host:
    """One that was heard of just now; no agent runs unless the test starts it."""
    made = make_host("here", tmp_path)
    Host.objects.filter(pk=made.pk).update(heartbeat_at=timezone.now())
    made.refresh_from_db()
    return made


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that agents of this test may read, with the jobs of the tests."""
    folder = tmp_path / "stores" / "broker-a"
    (folder / "commitlog").mkdir(parents=True)
    monkeypatch.setenv("SIGNALBOX_STORES", str(tmp_path / "stores"))
    monkeypatch.setenv("SIGNALBOX_REPORT_JOBS", str(JOBS))
    # Other tests run beside it, and would be let go first.
    monkeypatch.setenv("SIGNALBOX_SPARK_NICE", "0")
    return folder


@pytest.fixture
def shop(attached: Cluster, host: Host, store: Path) -> Cluster:
    """The attached cluster, with its store on `host`."""
    ClusterStores.objects.create(
        cluster=attached,
        host=host,
        stores=[{"broker": "broker-a", "path": str(store)}],
        updated_by="test",
        updated_at=timezone.now(),
    )
    return attached

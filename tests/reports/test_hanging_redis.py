"""A Redis that takes connections and answers nothing: nobody waits for it, and what was asked for is kept."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from redis import Redis
from rest_framework.test import APIClient

from clusters.models import Cluster
from reports.models import ReportRun
from tests.clusters.provisioning.agent_process import AgentProcess, wait
from tests.freezing import freeze, thaw
from tests.platform_fixtures import PASSWORD
from tests.requirements_probe import is_installed

# Without a limit each of these requests would wait until Redis goes on.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
RUNS = "/api/v1/clusters/attached/reports/runs/"
SPARK_S = 120.0
"""A JVM on a machine that does other things too."""


@pytest.fixture
def hanging(redis: str) -> Iterator[int]:
    """The process."""
    with Redis.from_url(redis) as client:
        pid = int(client.info("server")["process_id"])
    freeze(pid)
    try:
        yield pid
    finally:
        thaw(pid)


def test_requests_go_on_and_work_begins_once_redis_does(api: APIClient, shop: Cluster, hanging: int) -> None:
    answer = api.post(RUNS, {"report": "retention"}, format="json")
    assert answer.status_code == 202, answer.content
    assert api.get(RUNS).json()["results"][0]["state"] == "queued"
    said = Client().get("/readyz").json()
    assert said["checks"] == {"database": True, "writes": True, "room": True, "redis": False}
    assert said["reasons"] == ["Redis does not answer"]
    refused = APIClient().post("/api/v1/session/", {"username": "root", "password": PASSWORD}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (503, "redis_away")
    thaw(hanging)
    agent = AgentProcess(ReportRun.objects.get().host)
    agent.start()
    try:
        run = wait(ReportRun.objects.exclude(state__in=ReportRun.OPEN).first, SPARK_S, agent.log)
    finally:
        agent.stop()
    # Without Java it also begins, and says at once what is missing.
    if is_installed("default-jdk-headless"):
        assert (run.state, run.error) == ("done", "")
    else:
        assert run.state == "failed" and run.error.startswith("Spark cannot run: no java on PATH"), run.error

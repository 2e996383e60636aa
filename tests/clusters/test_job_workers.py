"""Jobs by a real Celery worker: woken by the request, and by beat's look when a worker was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.gateway.addressing import address_of
from clusters.gateway.sends import Outgoing, send_many
from clusters.models import Cluster, SearchJob
from clusters.tasks.redrives import look_after_redrives
from clusters.tasks.searches import look_after_searches
from console.core.job_leases import LEASE
from console.schedule import SCHEDULE
from tests.clusters.failing_consumers import until
from tests.engine.client.servers import ROOT
from tests.platform_processes import database_url


@contextmanager
def worker() -> Iterator[subprocess.Popen[bytes]]:
    """One that takes from the control queue, on this test's database and Redis."""
    environment = os.environ | {"DATABASE_URL": database_url()}
    command = [sys.executable, "-m", "celery", "--workdir", "platform", "-A", "console.celery", "worker"]
    process = subprocess.Popen(
        [*command, "-Q", "control", "--pool", "solo", "--loglevel", "warning", "--without-gossip"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


@pytest.mark.django_db(transaction=True)
def test_a_search_is_run_by_a_worker_and_again_after_a_kill(
    api: APIClient, attached: Cluster, fresh: Callable[[str], str]
) -> None:
    topic = fresh("worked")
    send_many(address_of(attached), [Outgoing(topic, b"needle %d" % n) for n in range(100)])
    here = "/api/v1/clusters/attached/searches/"
    first = api.post(here, {"topics": [topic], "body": "needle"}, format="json").json()
    with worker():
        until(lambda: SearchJob.objects.get(pk=first["id"]).state == "done", "the search is done", 60)
    assert SearchJob.objects.get(pk=first["id"]).found == 100
    # As a worker leaves it that was killed with the job in hand, its wake-up gone with it.
    second = api.post(here, {"topics": [topic], "body": "needle 7"}, format="json").json()
    SearchJob.objects.filter(pk=second["id"]).update(
        state="running", fence=7, worker="dead", lease_until=timezone.now() - LEASE
    )
    with worker():
        look_after_searches()
        until(lambda: SearchJob.objects.get(pk=second["id"]).state == "done", "it was taken over", 60)
    row = SearchJob.objects.get(pk=second["id"])
    assert (row.found, row.fence > 7) == (11, True)


def test_beat_looks_after_jobs_that_nobody_has(attached: Cluster) -> None:
    tasks = {entry["task"] for entry in SCHEDULE.values()}
    assert {look_after_searches.name, look_after_redrives.name} <= tasks
    look_after_redrives()

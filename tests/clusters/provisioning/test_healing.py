"""Looking after a host with real processes: killed ones come back, loops and drift are shown."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from clusters.models import Broker, BrokerGroup, Cluster, Host, NameServer, Operation, Step
from clusters.provisioning import fences, reconcile, running
from clusters.provisioning.driver import DriverError
from clusters.provisioning.inventory import find_process, name_server_addresses, raise_fence, spec_of
from clusters.provisioning.presence import is_run_lock_held
from clusters.provisioning.secrets_of_clusters import make_secrets, seal_for_hosts
from clusters.provisioning.states import drifted, is_drifted
from tests.clusters.provisioning.agent_process import ROOT, engines_below, make_host
from tests.platform_processes import database_url

pytestmark = pytest.mark.django_db


@pytest.fixture
def host(tmp_path: Path, redis: str) -> Iterator[Host]:
    yield make_host("here", tmp_path)
    for processes in engines_below(tmp_path).values():
        for process in processes:
            process.kill()


@pytest.fixture
def server(host: Host) -> NameServer:
    now = timezone.now()
    cluster = Cluster(name="c", broker_cluster_name="C", kind="managed", created_at=now)
    make_secrets(cluster)
    cluster.save()
    seal_for_hosts(cluster, [host], now)
    return NameServer.objects.create(
        cluster=cluster, number=1, host=host, port=host.namesrv_port_low, desired="running"
    )


def _kill(server: NameServer) -> None:
    server.refresh_from_db()
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while is_run_lock_held(spec_of(server).folder.run_lock):
        assert time.monotonic() < deadline


def _observed(server: NameServer) -> str:
    server.refresh_from_db()
    return server.observed


def test_a_killed_process_comes_back_and_a_step_in_hand_is_left_alone(server: NameServer, host: Host) -> None:
    now = timezone.now()
    reconcile.look_after(host, now)
    assert _observed(server) == "running" and server.crashes == []
    first = server.pid
    _kill(server)
    operation = Operation.objects.create(
        cluster=server.cluster, kind="restart", summary="", state="running", created_at=now
    )
    step = Step.objects.create(
        operation=operation, position=0, kind="restart", host=host, state="running",
        arguments={"process": "namesrv-1"},
    )  # fmt: skip
    reconcile.look_after(host, now)
    assert _observed(server) == "running", "the step has it in hand: nobody else looks"
    step.delete()
    assert reconcile.look_after(host, now) == 1.0
    assert _observed(server) == "crashed" and len(server.crashes) == 1
    reconcile.look_after(host, now + timedelta(seconds=1))
    assert _observed(server) == "running" and server.pid != first
    assert [len(each) for each in engines_below(Path(host.data_root)).values()] == [1]


def test_one_that_never_stays_up_is_shown_as_a_crash_loop(server: NameServer, host: Host) -> None:
    Cluster.objects.update(release="nowhere")
    now = timezone.now()
    seen: list[str] = []
    for second in (0, 1, 3, 7, 15):
        reconcile.look_after(host, now + timedelta(seconds=second))
        seen.append(_observed(server))
    assert seen == ["crashed"] * 4 + ["crash_loop"]
    assert "nowhere is not installed" in server.last_exit
    assert server.next_start_at is not None and server.next_start_at > now + timedelta(seconds=70)
    # Once the cause is gone the next try succeeds.
    Cluster.objects.update(release="builtin")
    reconcile.look_after(host, now + timedelta(seconds=80))
    assert _observed(server) == "running"


def test_what_is_not_to_run_is_stopped_and_other_settings_are_drift(server: NameServer, host: Host) -> None:
    now = timezone.now()
    reconcile.look_after(host, now)
    server = NameServer.objects.select_related("host", "cluster").get()
    assert not is_drifted(server, name_server_addresses(server.cluster))
    Host.objects.update(address="localhost")
    assert drifted(server.cluster) == ["namesrv-1"]
    Host.objects.update(address="127.0.0.1")
    NameServer.objects.update(desired="stopped")
    reconcile.look_after(host, now)
    assert _observed(server) == "stopped"
    assert engines_below(Path(host.data_root)) == {}


def test_processes_of_a_silent_host_are_unknown(server: NameServer, host: Host) -> None:
    NameServer.objects.update(observed="running")
    Host.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=1))
    assert reconcile.forget_silent_hosts(timezone.now()) == 1
    assert _observed(server) == "unknown"


def test_a_worker_that_was_replaced_acts_no_more(server: NameServer, host: Host) -> None:
    old = raise_fence(server)
    running.start(find_process(server.cluster, "namesrv-1"), timezone.now())
    with pytest.raises(fences.Outdated), fences.hold(spec_of(server).folder.fence, old, waits=True):
        pass


def test_a_founder_whose_store_is_gone_does_not_found_its_group_again(server: NameServer, host: Host) -> None:
    group = BrokerGroup.objects.create(cluster=server.cluster, name="broker-a", master_member=1)
    for member in range(2):
        Broker.objects.create(
            group=group, member=member, host=host, port=host.port_low + 2 + 5 * member, token="ran"
        )
    process = find_process(server.cluster, "broker-a-0")
    with pytest.raises(DriverError, match="second master"):
        running.start(process, timezone.now())
    assert engines_below(Path(host.data_root)) == {}


def _agent(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DATABASE_URL": database_url()}
    command = [sys.executable, "manage.py", "agent", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=90)


@pytest.mark.django_db(transaction=True)
def test_an_agent_that_is_nobody_says_so(tmp_path: Path) -> None:
    done = _agent("--data-root", str(tmp_path / "new"))
    assert done.returncode == 1 and "belongs to no host yet" in done.stderr
    wrong = _agent("--data-root", str(tmp_path / "new"), "--join", "sbj_wrong")
    assert wrong.returncode == 1 and "unknown, used or expired" in wrong.stderr
    shutil.rmtree(tmp_path / "new")

"""The way to brokers: kept connections, one deadline, never inside a transaction, never to a stranger."""

from __future__ import annotations

import ipaddress
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import transaction

from clusters.gateway import connections
from clusters.gateway.addressing import address_of
from clusters.gateway.connections import ask, each
from clusters.gateway.dialing import may_dial, may_dial_outside
from clusters.models import Cluster
from console.core.problems import Problem
from tests.engine.client.servers import Cluster as EngineCluster
from tests.engine.client.servers import start_name_server
from tests.platform_processes import ROOT, soon


def test_a_real_cluster_answers(attached: Cluster) -> None:
    brokers = ask(address_of(attached), lambda admin: admin.cluster.brokers())
    assert brokers == attached.broker_addresses


def test_asking_inside_a_transaction_is_refused(attached: Cluster) -> None:
    address = address_of(attached)
    with transaction.atomic(), pytest.raises(AssertionError, match="inside a database transaction"):
        ask(address, lambda admin: admin.cluster.info())


def test_a_broker_that_was_not_registered_is_not_dialled(attached: Cluster) -> None:
    [stranger], attached.broker_addresses = attached.broker_addresses, []
    with pytest.raises(Problem, match="cannot be reached") as caught:
        ask(address_of(attached), lambda admin: admin.brokers.runtime_info(stranger))
    assert caught.value.status == 503


def test_an_error_of_one_broker_is_that_brokers_answer(attached: Cluster) -> None:
    live = attached.broker_addresses[0]
    asked = ask(
        address_of(attached),
        lambda admin: each([live, "127.0.0.1:1"], admin.brokers.runtime_info),
    )
    assert isinstance(asked[live], dict)
    assert "cannot be reached" in str(asked["127.0.0.1:1"])


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "0.0.0.0", "224.0.0.1", "::ffff:127.0.0.1", "fe80::1"]
)
def test_what_no_broker_can_have_is_never_dialled(address: str) -> None:
    assert not may_dial(ipaddress.ip_address(address), [])


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "::1", "192.168.1.1", "169.254.1.1"])
def test_a_webhook_does_not_reach_inside_unless_listed(address: str) -> None:
    assert not may_dial_outside(ipaddress.ip_address(address), [])
    assert may_dial_outside(ipaddress.ip_address("127.0.0.1"), ["127.0.0.0/8"])


def test_connections_that_nobody_uses_are_closed(attached: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = connections._Kept(idle_s=0.2)
    monkeypatch.setattr(connections, "_kept", kept)
    ask(address_of(attached), lambda admin: admin.cluster.brokers())
    assert len(kept._admins) == 1
    soon(lambda: not kept._admins)
    assert ask(address_of(attached), lambda admin: admin.cluster.brokers()) == attached.broker_addresses
    kept.close()
    assert not kept._admins


_ENDS = """
import os, sys, time
import django
django.setup()
from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.connections import ask
answer = ask(ClusterAddress("c", (sys.argv[1],), frozenset()), lambda admin: admin.cluster.info())
print(answer is not None, flush=True)
sys.stdin.read()
"""


def test_a_process_that_ends_says_nothing_more(engine: EngineCluster, tmp_path: Path) -> None:
    """Its client would go on looking for name servers, and log into streams that are closed."""
    name_server = start_name_server(tmp_path)
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "console.settings"}
    environment["PYTHONPATH"] = f"{ROOT}/platform:{ROOT}"
    command = [sys.executable, "-c", _ENDS, name_server.address]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as process:
        assert process.stdout is not None and process.stdin is not None and process.stderr is not None
        assert process.stdout.readline() == "True\n"
        name_server.stop()
        process.stdin.close()
        said = process.stderr.read()
        assert process.wait(30) == 0
    assert "Logging error" not in said and "Traceback" not in said, said

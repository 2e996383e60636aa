"""A cluster's life by REST with a real agent: every kind of operation, the agent killed in its middle.

After each kill the operation finishes, no process runs twice, and none is left behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from clusters.models import Broker, Operation, Step
from console.beat import Beat
from tests.clusters.provisioning.agent_process import AgentProcess, agents, wait, wait_until_over

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(400)]
BASE = "/api/v1/clusters/"


@pytest.fixture
def agent(tmp_path: Path, redis: str, transactional_db: None) -> Iterator[AgentProcess]:
    with agents(tmp_path, "one") as [running], Beat():
        yield running


def _begin(api: APIClient, path: str, body: dict[str, Any] | None = None) -> str:
    planned = api.post(f"{BASE}{path}?dry_run=true", body or {}, format="json")
    assert planned.status_code == 200, planned.data
    assert planned.data["plan"] and planned.data["steps"]
    answer = api.post(f"{BASE}{path}", body or {}, format="json")
    assert answer.status_code == 202, answer.data
    return str(answer.data["id"])


def _kill_in_the_middle(agent: AgentProcess, operation: str) -> None:
    """While one of its steps on the host runs: as often as not a process is being started or stopped."""
    running = Step.objects.filter(operation=operation, state="running")
    wait(lambda: running.exists() or not Operation.objects.filter(pk=operation, state="running").exists())
    agent.kill()
    agent.start()


def _finish(agent: AgentProcess, operation: str) -> Operation:
    done = wait_until_over(operation)
    assert done.state == "succeeded", done.error + agent.log()
    return done


def _labels() -> set[str]:
    servers = {"namesrv-1"} if Broker.objects.exists() else set()
    return servers | {broker.label for broker in Broker.objects.select_related("group")}


def _assert_one_of_each(agent: AgentProcess) -> None:
    engines = agent.engines()
    assert {label: len(found) for label, found in engines.items()} == dict.fromkeys(_labels(), 1)


def test_every_kind_of_operation_outlives_its_agent(agent: AgentProcess, api: APIClient) -> None:
    new = {"name": "orders", "groups": 1, "slaves": 1, "allow_same_host": True}
    new["overrides"] = {"mappedFileSizeCommitLog": "8388608", "maxIndexNum": "1000", "maxHashSlotNum": "500"}
    created = _begin(api, "", new)
    _kill_in_the_middle(agent, created)
    _finish(agent, created)
    _assert_one_of_each(agent)
    log = api.get(f"{BASE}orders/processes/broker-a-0/log/?lines=50")
    assert log.status_code == 200 and any("ready on" in line for line in log.data["lines"]), log.data

    for path, body in (
        ("orders/configure/", {"changes": {"maxMessageSize": "100000"}}),
        ("orders/promote/", {"group": "broker-a", "member": 1}),
        ("orders/grow/", {"groups": 1, "slaves": 0, "allow_same_host": True}),
        ("orders/restart/", {"groups": ["broker-a"]}),
        ("orders/shrink/", {"group": "broker-b", "data": "remove"}),
    ):
        operation = _begin(api, path, body)
        _kill_in_the_middle(agent, operation)
        _finish(agent, operation)
        _assert_one_of_each(agent)

    master = Broker.objects.get(group__name="broker-a", member=1)
    assert not master.is_master, "the rolling restart handed over to member 0 again"
    gone = api.delete(f"{BASE}orders/?confirm=orders&keep_data=true")
    assert gone.status_code == 202, gone.data
    _kill_in_the_middle(agent, gone.data["id"])
    _finish(agent, gone.data["id"])
    assert agent.engines() == {}
    assert api.get(f"{BASE}orders/").status_code == 404

    restored = _begin(api, "orders/restore/")
    _kill_in_the_middle(agent, restored)
    _finish(agent, restored)
    _assert_one_of_each(agent)
    config = api.get(f"{BASE}orders/brokers/broker-a-0/config/").data
    assert config["is_reachable"] and config["different"] == []

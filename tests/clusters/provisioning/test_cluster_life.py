"""A cluster's life by REST with a real agent: every kind of operation, the agent killed in its middle.

After each kill the operation finishes, no process runs twice, and none is left behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rest_framework.test import APIClient

from clusters.models import Broker
from console.beat import Beat
from tests.clusters.provisioning.agent_process import AgentProcess, agents
from tests.clusters.provisioning.operating import assert_one_of_each, begin, finish, kill_in_the_middle

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(400)]
BASE = "/api/v1/clusters/"


@pytest.fixture
def agent(tmp_path: Path, redis: str, transactional_db: None) -> Iterator[AgentProcess]:
    with agents(tmp_path, "one") as [running], Beat():
        yield running


def test_every_kind_of_operation_outlives_its_agent(agent: AgentProcess, api: APIClient) -> None:
    new = {"name": "orders", "groups": 1, "slaves": 1, "allow_same_host": True}
    new["overrides"] = {"mappedFileSizeCommitLog": "8388608", "maxIndexNum": "1000", "maxHashSlotNum": "500"}
    created = begin(api, "", new)
    kill_in_the_middle(agent, created)
    finish(created)
    assert_one_of_each(agent)
    log = api.get(f"{BASE}orders/processes/broker-a-0/log/?lines=50")
    assert log.status_code == 200 and any("ready on" in line for line in log.data["lines"]), log.data

    for path, body in (
        ("orders/configure/", {"changes": {"maxMessageSize": "100000"}}),
        ("orders/promote/", {"group": "broker-a", "member": 1}),
        ("orders/grow/", {"groups": 1, "slaves": 0, "allow_same_host": True}),
        ("orders/restart/", {"groups": ["broker-a"]}),
        ("orders/shrink/", {"group": "broker-b", "data": "remove"}),
    ):
        operation = begin(api, path, body)
        kill_in_the_middle(agent, operation)
        finish(operation)
        assert_one_of_each(agent)

    master = Broker.objects.get(group__name="broker-a", member=1)
    assert not master.is_master, "the rolling restart handed over to member 0 again"
    gone = api.delete(f"{BASE}orders/?confirm=orders&keep_data=true")
    assert gone.status_code == 202, gone.data
    kill_in_the_middle(agent, gone.data["id"])
    finish(gone.data["id"])
    assert agent.engines() == {}
    assert api.get(f"{BASE}orders/").status_code == 404

    restored = begin(api, "orders/restore/")
    kill_in_the_middle(agent, restored)
    finish(restored)
    assert_one_of_each(agent)
    config = api.get(f"{BASE}orders/brokers/broker-a-0/config/").data
    assert config["is_reachable"] and config["different"] == []

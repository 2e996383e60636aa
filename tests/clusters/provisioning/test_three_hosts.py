"""Three hosts, each with its own agent, queue and data folder: one request lays a cluster out over them; one
host goes entirely, the rest goes on; it comes back and all heals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from clusters.gateway.addressing import address_of
from clusters.gateway.connections import ask
from clusters.models import Broker, Cluster, Host, NameServer
from console.beat import Beat
from engine.client import Message
from engine.client.admin import Admin
from engine.client.blocking import Producer
from engine.protocol.bodies.topics import TopicConfig
from tests.clusters.provisioning.agent_process import AgentProcess, agents, wait, wait_until_over

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600), pytest.mark.nightly]
BASE = "/api/v1/clusters/orders/"
NEW = {
    "name": "orders",
    "name_servers": 3,
    "groups": 3,
    "slaves": 2,
    "overrides": {"mappedFileSizeCommitLog": "8388608", "maxIndexNum": "1000", "maxHashSlotNum": "500"},
}


def _observed(host: Host) -> set[str]:
    rows: list[Any] = [*Broker.objects.filter(host=host), *NameServer.objects.filter(host=host)]
    return {row.observed for row in rows}


def _sent(api: APIClient, count: int) -> set[str]:
    """Names of the groups that took messages."""
    namesrv = ";".join(api.get(BASE).data["name_server_addresses"])
    with Producer("three-hosts", namesrv=namesrv) as producer:
        return {producer.send(Message("hello", b"hi")).queue.broker_name for _ in range(count)}


def _make_topic() -> None:
    """On all masters: one that a send makes is on the broker that got it."""
    cluster = Cluster.objects.get()

    async def make(admin: Admin) -> None:
        for master in await admin.cluster.masters():
            await admin.topics.create(master, TopicConfig("hello", 2, 2))

    ask(address_of(cluster), make, deadline_s=20)


def _stop_entirely(agent: AgentProcess) -> None:
    agent.kill()
    for processes in agent.engines().values():
        for process in processes:
            process.kill()


def test_a_host_goes_and_comes_back(tmp_path: Path, redis: str, api: APIClient) -> None:
    with agents(tmp_path, "h1", "h2", "h3") as [one, two, three], Beat():
        operation = api.post("/api/v1/clusters/", NEW, format="json").data["id"]
        done = wait_until_over(operation, 240)
        assert done.state == "succeeded", done.error
        for agent in (one, two, three):
            members = Broker.objects.filter(host=agent.host).select_related("group")
            assert len({member.group_id for member in members}) == len(members) == 3
            assert sum(member.is_master for member in members) == 1
        _make_topic()
        assert _sent(api, 30) == {"broker-a", "broker-b", "broker-c"}

        _stop_entirely(three)
        wait(lambda: _observed(three.host) == {"unknown"}, 90)
        assert _observed(one.host) == {"running"} and _observed(two.host) == {"running"}
        assert api.get("/api/v1/hosts/h3/").data["is_silent"] is True
        refused = api.post(f"{BASE}restart/", {}, format="json")
        assert refused.status_code == 409 and "h3" in refused.data["detail"]
        lost = {b.group.name for b in Broker.objects.filter(host=three.host) if b.is_master}
        assert _sent(api, 20) == {"broker-a", "broker-b", "broker-c"} - lost

        three.start()
        wait(lambda: _observed(three.host) == {"running"}, 120, three.log)
        wait(lambda: _sent(api, 20) == {"broker-a", "broker-b", "broker-c"}, 60)

"""Three hosts, each with its own agent, queue and data folder: one request lays a cluster out over them; one
host goes entirely, the rest goes on; it comes back and all heals."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from clusters.gateway.addressing import address_of
from clusters.gateway.connections import ask
from clusters.models import Broker, Cluster, Host, NameServer
from console.beat import Beat
from engine.client import ConsumeFromWhere, LitePullOptions, Message
from engine.client.admin import Admin
from engine.client.blocking import LitePullConsumer, Producer
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


def _namesrv(api: APIClient) -> str:
    return ";".join(api.get(BASE).data["name_server_addresses"])


def _send(api: APIClient, *bodies: str) -> dict[str, set[str]]:
    """What each broker group took."""
    taken: dict[str, set[str]] = {}
    with Producer("three-hosts", namesrv=_namesrv(api)) as producer:
        for body in bodies:
            sent = producer.send(Message("hello", body.encode()))
            assert sent.status.name == "SEND_OK"
            taken.setdefault(sent.queue.broker_name, set()).add(body)
    return taken


def _bodies(word: str, count: int) -> list[str]:
    return [f"{word}-{number}" for number in range(count)]


def _read(api: APIClient, wanted: set[str], within_s: float = 60) -> set[str]:
    """What of it is read from the beginning of all queues, by a reader that has just come."""
    options = LitePullOptions(from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, auto_commit=False)
    found: set[str] = set()
    deadline = time.monotonic() + within_s
    with LitePullConsumer("readers", namesrv=_namesrv(api), options=options) as reader:
        queues = reader.queues("hello")
        reader.assign(queues)
        for queue in queues:
            reader.seek_to_begin(queue)
        while not wanted <= found and time.monotonic() < deadline:
            found |= {message.body.decode() for message in reader.poll(timeout_ms=1_000)}
    return found & wanted


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
        before = _send(api, *_bodies("before", 30))
        assert before.keys() == {"broker-a", "broker-b", "broker-c"}
        everything = set().union(*before.values())
        assert _read(api, everything) == everything

        _stop_entirely(three)
        lost = {b.group.name for b in Broker.objects.filter(host=three.host) if b.is_master}
        during = _send(api, *_bodies("during", 20))
        assert during.keys() == {"broker-a", "broker-b", "broker-c"} - lost
        everything |= set().union(*during.values())
        assert _read(api, everything) == everything, "slaves of the lost master are read from"
        wait(lambda: _observed(three.host) == {"unknown"}, 90)
        assert _observed(one.host) == {"running"} and _observed(two.host) == {"running"}
        _assert_console_says_what_is_lost(api, lost)

        three.start()
        wait(lambda: _observed(three.host) == {"running"}, 120, three.log)
        wait(lambda: _send(api, *_bodies("after", 20)).keys() == before.keys(), 60)
        assert _read(api, everything) == everything, "nothing that was acknowledged is lost"


def _assert_console_says_what_is_lost(api: APIClient, lost: set[str]) -> None:
    assert api.get("/api/v1/hosts/h3/").data["is_silent"] is True
    refused = api.post(f"{BASE}restart/", {}, format="json")
    assert refused.status_code == 409 and "h3" in refused.data["detail"]
    rows = api.get(f"{BASE}brokers/").data["results"]
    unknown = {row["label"]: row["is_master"] for row in rows if row["process"]["observed"] == "unknown"}
    assert len(unknown) == 3 and {label[:-2] for label, master in unknown.items() if master} == lost
    running = [row for row in rows if row["process"]["observed"] == "running"]
    assert len(running) == 6 and all(row["process"]["host"] != "h3" for row in running)

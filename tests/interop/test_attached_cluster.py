"""An Apache RocketMQ cluster attached by REST: topics, groups, lag, resets and messages work on it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from clusters.models import Cluster as ClusterRow
from engine.client import Message, blocking
from engine.errors import EngineError
from engine.protocol.bodies.basics import MessageQueue
from tests.clusters.collecting.rounds import rounds_of
from tests.platform_fixtures import api, people, quick_passwords, redis  # noqa: F401

from .clusters import BROKER_NAME, Cluster

pytestmark = [pytest.mark.interop, pytest.mark.django_db(transaction=True)]
TOPIC, GROUP = "attached-topic", "attached-group"


def fine(answer: Any) -> Any:
    assert answer.status_code in (200, 201, 202), str(answer.json())
    return answer.json()


def until(condition: Callable[[], Any], what: str, timeout_s: float = 30) -> Any:
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.2)
    return found


def collect(name: str) -> None:
    async def once() -> None:
        async with rounds_of(await ClusterRow.objects.aget(name=name)) as (collector, _):
            await collector._round(True)

    asyncio.run(once())


def send(name_server: str, count: int) -> list[str]:
    queue = MessageQueue(TOPIC, BROKER_NAME, 0)
    with blocking.Producer("attached-producers", namesrv=name_server) as producer:

        def sent(number: int) -> str | None:
            try:
                return producer.send(
                    Message(TOPIC, f"body {number}".encode(), keys=[f"order-{number}"]), queue=queue
                ).msg_id
            except EngineError:
                return None  # Apache tells its name servers of a topic a moment later.

        return [until(lambda: sent(number), "a message is taken") for number in range(count)]  # noqa: B023


def test_an_apache_cluster_is_looked_after(
    apache: Cluster,
    api: APIClient,  # noqa: F811
    redis: str,  # noqa: F811
) -> None:
    name = f"apache-{apache.target[-1]}"
    here = f"/api/v1/clusters/{name}/"
    wish = {"kind": "attached", "name": name, "name_servers": [apache.name_server]}
    plan = fine(api.post("/api/v1/clusters/?dry_run=true", wish, format="json"))
    assert apache.broker in str(plan)
    made = fine(api.post("/api/v1/clusters/", wish, format="json"))
    assert (made["kind"], made["flavour"]) == ("attached", "apache")

    topic = fine(
        api.post(f"{here}topics/", {"name": TOPIC, "read_queues": 1, "write_queues": 1}, format="json")
    )
    assert topic["is_complete"] and topic["brokers"][0]["read_back"]["write_queues"] == 1
    assert fine(api.post(f"{here}groups/", {"name": GROUP}, format="json"))["is_complete"]
    ids = send(apache.name_server, 10)
    with blocking.Admin(namesrv=apache.name_server) as admin:
        admin.offsets.commit(GROUP, MessageQueue(TOPIC, BROKER_NAME, 0), 4)

    collect(name)
    assert TOPIC in [row["name"] for row in fine(api.get(f"{here}topics/?search={TOPIC}"))["results"]]
    group = fine(api.get(f"{here}groups/{GROUP}/"))
    assert (group["lag"], group["lag_s"]) == ("6", None), (
        "seconds of a group that nobody watches are not known"
    )

    path = f"{here}groups/{GROUP}/resets/"
    preview = fine(api.post(f"{path}?dry_run=true", {"to": "earliest", "topics": [TOPIC]}, format="json"))
    assert [(queue["committed"], queue["to"]) for queue in preview["queues"]] == [("4", "0")]
    reset = fine(api.post(path, {"to": "earliest", "topics": [TOPIC]}, format="json"))
    assert [(queue["read_back"], queue["ok"]) for queue in reset["queues"]] == [("0", True)], reset
    undone = fine(api.post(f"{path}{reset['id']}/undo/", {}, format="json"))
    assert [queue["read_back"] for queue in undone["queues"]] == ["4"]

    def found() -> Any:
        return fine(api.get(f"{here}messages/?topic={TOPIC}&key=order-7"))["messages"]

    message = until(found, "the message is found by its key")
    assert [each["msg_id"] for each in message] == [ids[7]]
    by_body = fine(api.get(f"{here}messages/?topic={TOPIC}&body=body%203"))
    assert [each["msg_id"] for each in by_body["messages"]] == [ids[3]]

    for step in ("restart/", "grow/"):
        refused = api.post(f"{here}{step}", {}, format="json")
        assert refused.status_code in (400, 409), "its processes are not ours"

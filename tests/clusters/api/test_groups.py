"""Consumer groups by REST on a real broker: config, members, stacks, modes, direct consumption, diagnosis."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from rest_framework.test import APIClient

from clusters.models import Cluster, ConsumerGroup
from console.audit_reading import changes
from console.core.models import AuditEntry
from engine.client import Message, MessageQueue, blocking
from tests.clusters.api.conftest import HERE, until
from tests.engine.client.servers import Cluster as EngineCluster
from tests.platform_fixtures import People

Fresh = Callable[[str], str]
Member = Callable[..., list[Any]]


def test_a_group_is_made_changed_and_read_back(
    api: APIClient, attached: Cluster, admin: blocking.Admin, engine: EngineCluster, fresh: Fresh
) -> None:
    name = fresh("readers")
    made = api.post(f"{HERE}groups/", {"name": name, "retry_max_times": 3, "team": "shop"}, format="json")
    assert made.status_code == 201, made.json()
    assert made.json()["brokers"][0]["read_back"]["retry_max_times"] == 3
    again = api.post(f"{HERE}groups/", {"name": name}, format="json")
    assert (again.status_code, again.json()["code"]) == (409, "exists")
    changed = api.patch(f"{HERE}groups/{name}/", {"is_enabled": False}, format="json")
    assert changed.status_code == 200
    config = admin.groups.configs(engine.broker)[name]
    assert (config.consume_enable, config.retry_max_times) == (False, 3)
    intent = AuditEntry.objects.get(action="group.update", target=name, phase="intent")
    [change] = changes(intent.details)
    assert (change["path"].split(".")[-1], change["before"], change["after"]) == ("is_enabled", True, False)
    row = ConsumerGroup.objects.get(cluster=attached, name=name)
    assert (row.team, row.config["is_enabled"]) == ("shop", False)
    [told] = api.get(f"{HERE}groups/{name}/config/").json()["brokers"]
    assert (told["read_back"]["is_enabled"], told["read_back"]["retry_max_times"]) == (False, 3)
    [planned] = api.delete(f"{HERE}groups/{name}/?dry_run=true").json()["brokers"]
    assert (planned["change"], planned["now"], planned["then"]) == ("delete", told["read_back"], None)


def test_looking_at_a_group_does_not_make_it(
    api: APIClient, attached: Cluster, admin: blocking.Admin, engine: EngineCluster, fresh: Fresh
) -> None:
    name = fresh("nobody")
    assert api.patch(f"{HERE}groups/{name}/", {"is_enabled": False}, format="json").status_code == 404
    assert api.delete(f"{HERE}groups/{name}/?confirm={name}").status_code == 404
    assert api.get(f"{HERE}groups/{name}/config/").status_code == 404
    assert api.post(f"{HERE}groups/?dry_run=true", {"name": name}, format="json").status_code == 200
    assert name not in admin.groups.configs(engine.broker)


def test_a_deleted_group_comes_back_where_it_stood(
    api: APIClient,
    attached: Cluster,
    admin: blocking.Admin,
    engine: EngineCluster,
    made: Callable[..., str],
    group: str,
) -> None:
    topic = made(messages=5, queues=1)
    queue = MessageQueue(topic, engine.broker_name, 0)
    admin.offsets.reset_queue(engine.broker, group, topic, 0, 3)
    assert api.delete(f"{HERE}groups/{group}/").status_code == 400
    assert api.delete(f"{HERE}groups/{group}/?confirm={group}").status_code == 200
    assert group not in admin.groups.configs(engine.broker)
    assert api.post(f"{HERE}groups/{group}/restore/").status_code == 200
    assert group in admin.groups.configs(engine.broker)
    offsets = admin.offsets.all_on_broker(engine.broker)
    assert offsets[f"{topic}@{group}"] == {queue.queue_id: 3}


@pytest.mark.parametrize("name", ["TOOLS_CONSUMER", "CID_RMQ_SYS_x"])
def test_system_groups_are_refused(api: APIClient, attached: Cluster, name: str) -> None:
    assert api.delete(f"{HERE}groups/{name}/?confirm={name}").status_code == 409
    assert api.post(f"{HERE}groups/", {"name": name}, format="json").status_code == 409


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "a b"}, "name"),
        ({"name": "x" * 249}, "name"),
        ({"name": "g", "retry_queues": -1}, "retry_queues"),
        ({"name": "g", "retry_max_times": "often"}, "retry_max_times"),
    ],
)
def test_bad_input_is_refused_with_its_field(
    api: APIClient, attached: Cluster, body: dict[str, Any], field: str
) -> None:
    answer = api.post(f"{HERE}groups/", body, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)


def test_modes_are_set_and_read_back(
    api: APIClient, attached: Cluster, made: Callable[..., str], group: str
) -> None:
    topic = made()
    url = f"{HERE}groups/{group}/modes/"
    answer = api.put(url, {"topic": topic, "mode": "pop", "share": 2}, format="json")
    assert answer.status_code == 200, answer.json()
    assert answer.json()["brokers"][0]["read_back"] == {"mode": "pop", "share": 2}
    assert api.get(url).json()["brokers"][0]["read_back"] == {topic: "pop"}
    assert api.put(url, {"topic": topic, "mode": "push"}, format="json").status_code == 400


def test_members_say_what_they_hold_and_want(
    api: APIClient, attached: Cluster, made: Callable[..., str], group: str, member: Member
) -> None:
    topic = made(messages=1, queues=2)
    got = member(group, topic, None, "a || b")
    body = until(lambda: _with_queues(api, group))
    [row] = body["members"]
    assert (row["language"], row["protocol"], body["model"]) == ("PYTHON", "remoting", "CLUSTERING")
    assert {queue["queue"] for queue in row["queues"] if queue["topic"] == topic} == {0, 1}
    wanted = [one for one in row["subscriptions"] if one["topic"] == topic]
    assert wanted == [{"topic": topic, "expression": "a || b", "type": "TAG"}]
    assert body["is_complete"] and body["differing_subscriptions"] == []
    assert got == []


def test_members_that_subscribe_differently_are_found(
    api: APIClient, attached: Cluster, made: Callable[..., str], group: str, member: Member
) -> None:
    topic = made(queues=2)
    member(group, topic, None, "a")
    member(group, topic, None, "b")
    body = until(lambda: (found := _members(api, group))["differing_subscriptions"] and found)
    [differing] = body["differing_subscriptions"]
    assert sorted(differing["members"].values()) == ["a", "b"]
    found = _findings(api, group)
    assert found["subscriptions"]["state"] == "critical"


@pytest.fixture
def stuck() -> Iterator[tuple[threading.Event, Callable[[Any], None]]]:
    """A listener that stands still until the test is over."""
    release = threading.Event()

    def hold(_message: Any) -> None:
        release.wait(30)

    yield release, hold
    release.set()


def test_stacks_show_where_listeners_stand(
    api: APIClient,
    attached: Cluster,
    made: Callable[..., str],
    group: str,
    member: Member,
    people: People,
    stuck: tuple[threading.Event, Callable[[Any], None]],
) -> None:
    topic = made(messages=3, queues=2)
    got = member(group, topic, stuck[1])
    until(lambda: len(got) >= 2)
    [row] = until(lambda: _members(api, group)["members"])
    url = f"{HERE}groups/{group}/members/{quote(row['client_id'], safe='')}/stack/"
    assert people.viewer.post(url).status_code == 403
    answer = api.post(url)
    assert answer.status_code == 200, answer.json()
    [stand] = answer.json()["listeners_stand_in"]
    assert stand["count"] == 2 and "wait" in stand["call"]
    assert AuditEntry.objects.filter(action="group.stack", target=group, is_ok=True).exists()
    blocked = _findings(api, group, "?stacks=true")["blocked_threads"]
    assert blocked["state"] == "warning" and blocked["evidence"][0]["threads"] == 2
    assert _findings(api, group)["blocked_threads"]["state"] == "unknown"
    assert api.post(f"{HERE}groups/{group}/members/nobody/stack/").status_code == 404


def test_one_message_is_consumed_directly(
    api: APIClient,
    attached: Cluster,
    engine: EngineCluster,
    made: Callable[..., str],
    group: str,
    member: Member,
) -> None:
    topic = made(queues=1)
    got = member(group, topic)
    [row] = until(lambda: _members(api, group)["members"])
    with blocking.Producer("maker", namesrv=engine.namesrv) as producer:
        sent = producer.send(Message(topic, b"again"))
    until(lambda: len(got) == 1)
    assert sent.offset_msg_id is not None
    body = {"client_id": row["client_id"], "message_id": sent.offset_msg_id, "topic": topic}
    answer = api.post(f"{HERE}groups/{group}/consume/", body, format="json")
    assert answer.status_code == 200, answer.json()
    assert answer.json()["result"] == "CR_SUCCESS"
    assert len(got) == 2
    nobody = api.post(f"{HERE}groups/{group}/consume/", body | {"client_id": "x"}, format="json")
    assert (nobody.status_code, nobody.json()["code"]) == (409, "not_online")
    bad = api.post(f"{HERE}groups/{group}/consume/", body | {"message_id": "zz"}, format="json")
    assert bad.status_code == 400


def test_a_group_without_members_is_diagnosed(
    api: APIClient,
    attached: Cluster,
    admin: blocking.Admin,
    engine: EngineCluster,
    made: Callable[..., str],
    group: str,
) -> None:
    topic = made(messages=4, queues=1)
    admin.offsets.reset_queue(engine.broker, group, topic, 0, 1)
    found = _findings(api, group)
    assert found["members"]["state"] == "critical" and "messages wait" in found["members"]["text"]
    assert found["growing_lag"]["state"] == "unknown"
    assert found["offsets_in_range"]["state"] == "ok"
    assert found["retries"]["state"] == "ok"
    assert found["enabled"]["state"] == "ok"


def _members(api: APIClient, group: str) -> Any:
    answer = api.get(f"{HERE}groups/{group}/members/")
    assert answer.status_code == 200, answer.json()
    return answer.json()


def _with_queues(api: APIClient, group: str) -> Any:
    body = _members(api, group)
    held = [queue for row in body["members"] for queue in row["queues"] or ()]
    return body if len([queue for queue in held if not queue["topic"].startswith("%")]) == 2 else None


def _findings(api: APIClient, group: str, query: str = "") -> dict[str, Any]:
    answer = api.get(f"{HERE}groups/{group}/diagnosis/{query}")
    assert answer.status_code == 200, answer.json()
    return {row["check_name"]: row for row in answer.json()["findings"]}

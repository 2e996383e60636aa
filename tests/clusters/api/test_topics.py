"""Topics by REST on a real broker: made, changed, deleted with a read-back, restored, refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.models import BrokerGroup, Cluster, LiveBroker, LiveTopic, Topic
from clusters.selectors.broker_names import expected_brokers
from console.audit_reading import changes
from console.core.models import AuditEntry
from console.core.models.people import Role
from engine.client import Message, blocking
from engine.errors import PeerError
from tests.clusters.api.conftest import HERE, until
from tests.engine.client.servers import Cluster as EngineCluster
from tests.platform_fixtures import People, client_of, make_user

Fresh = Callable[[str], str]


def test_a_topic_is_made_read_back_and_audited(
    api: APIClient, attached: Cluster, admin: blocking.Admin, engine: EngineCluster, fresh: Fresh
) -> None:
    name = fresh("orders")
    body = {"name": name, "read_queues": 3, "write_queues": 4, "owner": "ann", "labels": {"tier": "1"}}
    answer = api.post(f"{HERE}topics/", body, format="json")
    assert answer.status_code == 201, answer.json()
    [outcome] = answer.json()["brokers"]
    assert outcome["ok"] and outcome["read_back"]["write_queues"] == 4 and answer.json()["is_complete"]
    assert admin.topics.config(engine.broker, name).read_queue_nums == 3
    row = Topic.objects.get(cluster=attached, name=name)
    assert (row.owner, row.labels, row.config["read_queues"]) == ("ann", {"tier": "1"}, 3)
    phases = AuditEntry.objects.filter(action="topic.create", target=name).order_by("id")
    assert list(phases.values_list("phase", "is_ok")) == [("intent", None), ("outcome", True)]


def test_a_dry_run_plans_and_writes_nothing(
    api: APIClient, attached: Cluster, admin: blocking.Admin, engine: EngineCluster, fresh: Fresh
) -> None:
    name = fresh("orders")
    answer = api.post(f"{HERE}topics/?dry_run=true", {"name": name}, format="json")
    assert answer.status_code == 200
    [planned] = answer.json()["brokers"]
    assert planned["change"] == "create" and planned["then"]["read_queues"] == 8
    with pytest.raises(PeerError):
        admin.topics.config(engine.broker, name)
    assert not Topic.objects.filter(name=name).exists()
    assert not AuditEntry.objects.filter(target=name).exists()


def test_a_topic_that_is_there_is_not_made_again(
    api: APIClient, attached: Cluster, made: Callable[..., str]
) -> None:
    topic = made(queues=2)
    again = api.post(f"{HERE}topics/", {"name": topic, "read_queues": 5}, format="json")
    assert (again.status_code, again.json()["code"]) == (409, "exists")


def test_a_change_leaves_what_was_not_said(
    api: APIClient, attached: Cluster, made: Callable[..., str], admin: blocking.Admin, engine: EngineCluster
) -> None:
    topic = made(queues=2)
    answer = api.patch(f"{HERE}topics/{topic}/", {"perm": 4}, format="json")
    assert answer.status_code == 200, answer.json()
    config = admin.topics.config(engine.broker, topic)
    assert (config.perm, config.read_queue_nums) == (4, 2)
    intent = AuditEntry.objects.get(action="topic.update", target=topic, phase="intent")
    [change] = changes(intent.details)
    assert (change["path"].split(".")[-1], change["before"], change["after"]) == ("perm", 6, 4)
    planned = api.patch(f"{HERE}topics/{topic}/?dry_run=1", {"perm": 6}, format="json").json()["brokers"]
    assert [row["change"] for row in planned] == ["update"] and planned[0]["now"]["perm"] == 4
    [told] = api.get(f"{HERE}topics/{topic}/config/").json()["brokers"]
    assert told["read_back"] == planned[0]["now"]
    assert api.get(f"{HERE}topics/no-such-topic/config/").status_code == 404


def test_a_broker_group_that_is_down_makes_the_answer_partial(
    api: APIClient, attached: Cluster, fresh: Fresh, engine: EngineCluster
) -> None:
    LiveBroker.objects.create(cluster=attached, broker_name="gone-b", member=0, address="127.0.0.1:1")
    answer = api.post(f"{HERE}topics/", {"name": fresh("orders")}, format="json")
    assert answer.status_code == 207
    assert [(row["broker"], row["ok"]) for row in answer.json()["brokers"]] == [
        (engine.broker_name, True),
        ("gone-b", False),
    ]
    assert answer.json()["is_complete"] is False
    assert AuditEntry.objects.filter(action="topic.create", phase="outcome").get().is_ok is False


def test_when_no_broker_does_it_the_answer_is_a_problem(
    api: APIClient, attached: Cluster, fresh: Fresh
) -> None:
    attached.broker_addresses = ["127.0.0.1:1"]
    attached.broker_cluster_name = "ClientCluster"
    attached.save()
    answer = api.post(f"{HERE}topics/", {"name": fresh("orders")}, format="json")
    assert answer.status_code == 503
    assert answer.json()["code"] == "no_broker_did_it" and answer.json()["brokers"][0]["ok"] is False


def test_deleting_shows_the_impact_wants_the_name_and_can_be_undone(
    api: APIClient,
    attached: Cluster,
    made: Callable[..., str],
    admin: blocking.Admin,
    engine: EngineCluster,
    group: str,
    member: Callable[..., list[Any]],
) -> None:
    topic = made(messages=2, queues=2)
    url = f"{HERE}topics/{topic}/"
    impact = api.delete(f"{url}?dry_run=true").json()
    assert (impact["messages"], impact["is_complete"], impact["groups"]) == ("4", True, [])
    assert impact["last_write_at"] is not None
    refused = api.delete(url)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "confirm")
    assert admin.topics.config(engine.broker, topic).read_queue_nums == 2

    assert api.delete(f"{url}?confirm={topic}").status_code == 200
    with pytest.raises(PeerError):
        admin.topics.config(engine.broker, topic)
    assert api.get(url).status_code == 404
    assert api.post(f"{url}restore/").status_code == 200
    assert admin.topics.config(engine.broker, topic).read_queue_nums == 2
    assert api.post(f"{url}restore/").status_code == 404


def test_a_live_producer_and_the_groups_are_part_of_the_impact(
    api: APIClient,
    attached: Cluster,
    made: Callable[..., str],
    engine: EngineCluster,
    group: str,
    member: Callable[..., list[Any]],
    fresh: Fresh,
) -> None:
    topic, maker = made(messages=1), fresh("maker")
    got = member(group, topic)
    until(lambda: len(got) == 2)
    with blocking.Producer(maker, namesrv=engine.namesrv) as producer:
        producer.send(Message(topic, b"x"))

        def told() -> Any:
            found = api.get(f"{HERE}topics/{topic}/impact/").json()
            return maker in [row["group"] for row in found["producers"]] and found

        impact = until(told)
    assert group in [row["name"] for row in impact["groups"]]
    assert "Apache RocketMQ's do not" in impact["note"]


@pytest.mark.parametrize("name", ["TBW102", "SCHEDULE_TOPIC_XXXX", "rmq_sys_x", "RMQ_SYS_TRANS_HALF_TOPIC"])
def test_system_topics_are_refused(api: APIClient, attached: Cluster, name: str) -> None:
    made = api.post(f"{HERE}topics/", {"name": name}, format="json")
    gone = api.delete(f"{HERE}topics/{name}/?confirm={name}")
    assert (made.status_code, gone.status_code) == (409, 409)
    assert gone.json()["code"] == "system_topic"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": "x" * 128}, "name"),
        ({"name": "ok", "read_queues": 0}, "read_queues"),
        ({"name": "ok", "write_queues": "many"}, "write_queues"),
        ({"name": "ok", "perm": 9}, "perm"),
        ({"name": "ok", "labels": {"": "x"}}, "labels"),
        ({"name": "ok", "brokers": ["no-such-broker"]}, "brokers"),
        ({"name": "%RETRY%g"}, "name"),
    ],
)
def test_bad_input_is_refused_with_its_field(
    api: APIClient, attached: Cluster, body: dict[str, Any], field: str
) -> None:
    answer = api.post(f"{HERE}topics/", body, format="json")
    assert 400 <= answer.status_code < 500
    assert answer.json()["errors"][0]["field"].startswith(field), answer.json()


def test_a_name_pattern_limits_operators(attached: Cluster, fresh: Fresh, people: People) -> None:
    operator = client_of(make_user("shop", Role.OPERATOR, names="shop-*"))
    assert operator.post(f"{HERE}topics/", {"name": "bank-a"}, format="json").status_code == 403
    assert operator.post(f"{HERE}topics/", {"name": fresh("shop-a")}, format="json").status_code == 201
    assert operator.patch(f"{HERE}topics/bank-a/", {"perm": 4}, format="json").status_code == 403
    assert people.viewer.post(f"{HERE}topics/", {"name": "x"}, format="json").status_code == 403


def test_what_is_said_about_a_topic_asks_no_broker(
    api: APIClient, attached: Cluster, made: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    LiveTopic.objects.create(
        cluster=attached, name="%RETRY%g", kind="retry", read_queues=1, write_queues=1, perm=6
    )
    url = f"{HERE}topics/{quote('%RETRY%g')}/"
    monkeypatch.setattr("clusters.gateway.connections._kept", None)
    assert api.patch(url, {"owner": "ann", "team": "shop"}, format="json").status_code == 200
    assert api.put(f"{url}favourite/", {"is_favourite": True}, format="json").status_code == 200
    said = AuditEntry.objects.get(action="topic.describe", target="%RETRY%g").details
    assert said == {"before": {"owner": "", "team": ""}, "after": {"owner": "ann", "team": "shop"}}
    found = api.get(url).json()
    assert (found["owner"], found["team"], found["is_favourite"]) == ("ann", "shop", True)


def test_a_managed_clusters_group_without_a_master_is_named(db: None, redis: str) -> None:
    managed = Cluster.objects.create(
        name="m", kind="managed", broker_cluster_name="m", created_at=timezone.now()
    )
    BrokerGroup.objects.create(cluster=managed, name="m-a")
    assert expected_brokers(managed) == ["m-a"]

"""Declarative documents by REST and by manage.py: planned, applied by operations, drift, prune, refusals."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from nacl.encoding import Base64Encoder
from nacl.public import PrivateKey
from rest_framework.test import APIClient

from clusters.actions.operations import do_roll_back_operation
from clusters.models import Cluster, Host, LiveBroker, Operation, Topic
from clusters.provisioning.executor import run_open_steps
from console.core.actors import Actor
from console.core.models import AuditEntry
from engine.client import blocking
from engine.protocol.bodies.topics import TopicConfig
from tests.engine.client.servers import Cluster as EngineCluster
from tests.platform_fixtures import People

HERE = "/api/v1/documents/"


def document(topic: str, group: str, **more: Any) -> str:
    return f"""
name: {more.get("name", "shop")}
prune: {str(more.get("prune", False)).lower()}
clusters:
  - name: attached
    topics:
      - name: {topic}
        read_queues: {more.get("queues", 3)}
        write_queues: {more.get("queues", 3)}
        owner: ann
        labels: {{tier: "1"}}
    groups:
      - {{name: {group}, retry_max_times: 5}}
"""


def send(api: APIClient, verb: str, text: str) -> Any:
    return api.post(f"{HERE}{verb}/", text, content_type="application/yaml")


def done(answer: Any) -> None:
    """Its operations, run as a worker would."""
    assert answer.status_code == 202, answer.json()
    run_open_steps(None, "test")
    for operation in Operation.objects.filter(pk__in=answer.json()["operations"]):
        assert operation.state == "succeeded", operation.error


def test_a_document_is_planned_applied_and_checked_for_drift(
    api: APIClient,
    attached: Cluster,
    admin: blocking.Admin,
    engine: EngineCluster,
    fresh: Callable[[str], str],
) -> None:
    topic, group, name = fresh("topic"), fresh("group"), fresh("doc")
    text = document(topic, group, name=name)
    plan = send(api, "plan", text)
    assert plan.status_code == 200, plan.json()
    assert [(row["kind"], row["name"]) for row in plan.json()["create"]] == [
        ("topic", topic),
        ("group", group),
    ]
    assert not Operation.objects.exists() and not AuditEntry.objects.exists()
    assert topic not in admin.topics.configs(engine.broker)

    done(send(api, "apply", text))
    assert admin.topics.config(engine.broker, topic).read_queue_nums == 3
    assert admin.groups.configs(engine.broker)[group].retry_max_times == 5
    row = Topic.objects.get(name=topic)
    assert (row.owner, row.labels, row.document) == ("ann", {"tier": "1"}, name)
    again = send(api, "apply", text)
    assert (again.status_code, again.json()["unchanged"], again.json()["operations"]) == (200, 2, [])

    kept = api.get(f"{HERE}{name}/").json()
    assert (kept["name"], kept["clusters"]) == (name, ["attached"])
    assert send(api, "plan", kept["text"]).json()["unchanged"] == 2
    assert [row["clusters"] for row in api.get(HERE).json() if row["name"] == name] == [["attached"]]
    assert api.get(f"{HERE}nobody/").status_code == 404

    clean = api.get(f"{HERE}{name}/drift/").json()
    assert clean["has_drift"] is False
    admin.topics.create(engine.broker, TopicConfig(topic, 7, 3))
    drift = api.get(f"{HERE}{name}/drift/").json()
    assert drift["has_drift"] and drift["change"][0]["diffs"] == [
        {"broker": engine.broker_name, "field": "read_queues", "now": 7, "then": 3}
    ]
    done(send(api, "apply", text))
    assert admin.topics.config(engine.broker, topic).read_queue_nums == 3
    assert AuditEntry.objects.filter(action="topic.apply", target=topic, is_ok=True).count() == 2


def test_prune_deletes_what_the_document_made_and_nothing_else(
    api: APIClient,
    attached: Cluster,
    admin: blocking.Admin,
    engine: EngineCluster,
    made: Callable[..., str],
    fresh: Callable[[str], str],
) -> None:
    name, kept, gone, foreign = fresh("doc"), fresh("topic"), fresh("topic"), made()
    done(send(api, "apply", document(gone, fresh("group"), name=name)))
    text = document(kept, fresh("group"), name=name, prune=True)
    plan = send(api, "plan", text).json()
    assert gone in [row["name"] for row in plan["delete"]]
    assert foreign not in json.dumps(plan)
    done(send(api, "apply", text))
    there = admin.topics.configs(engine.broker)
    assert kept in there and foreign in there and gone not in there


def test_a_step_that_fails_leaves_an_operation_that_can_be_rolled_back(
    api: APIClient,
    attached: Cluster,
    admin: blocking.Admin,
    engine: EngineCluster,
    fresh: Callable[[str], str],
) -> None:
    topic, other = fresh("topic"), fresh("topic")
    body = {
        "name": fresh("doc"),
        "clusters": [
            {
                "name": "attached",
                "topics": [
                    {"name": topic},
                    {"name": other, "attributes": {"message.type": "NO_SUCH_TYPE"}},
                ],
            }
        ],
    }
    answer = api.post(f"{HERE}apply/", body, format="json")
    run_open_steps(None, "test")
    operation = Operation.objects.get(pk=answer.json()["operations"][0])
    assert operation.state == "failed" and engine.broker_name in operation.error
    assert topic in admin.topics.configs(engine.broker)
    do_roll_back_operation(operation, actor=Actor("test"), now=timezone.now())
    run_open_steps(None, "test")
    operation.refresh_from_db()
    assert operation.state == "rolled_back", operation.error
    assert topic not in admin.topics.configs(engine.broker)


def test_two_applications_at_once_are_refused(
    api: APIClient, attached: Cluster, fresh: Callable[[str], str]
) -> None:
    first = send(api, "apply", document(fresh("topic"), fresh("group")))
    assert first.status_code == 202
    second = send(api, "apply", document(fresh("topic"), fresh("group"), name="other"))
    assert (second.status_code, second.json()["code"]) == (409, "busy")
    run_open_steps(None, "test")


def test_nothing_is_planned_past_a_broker_that_is_silent(
    api: APIClient, attached: Cluster, fresh: Callable[[str], str]
) -> None:
    LiveBroker.objects.create(cluster=attached, broker_name="gone-b", member=0, address="127.0.0.1:1")
    answer = send(api, "plan", document(fresh("topic"), fresh("group")))
    assert (answer.status_code, answer.json()["code"]) == (503, "incomplete")


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nname: x\nclusters: [*b,*b]\n"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("name: [", "document"),
        ("- a\n- b", "document"),
        ("just a text", "document"),
        (BOMB, "document"),
        ("name: x\nname: y\nclusters: []", "document"),
        ("name: !!python/object/apply:os.system [id]", "document"),
        ("name: x\n---\nname: y", "document"),
        ("name: " + "[" * 40 + "]" * 40, "document"),
        ("\x00", "document"),
        ("1: 2", "document"),
        ("clusters: [{name: attached}]", "name"),
        ("name: x", "clusters"),
        ("name: x\nclusters: []", "clusters"),
        ("name: a b\nclusters: [{name: attached}]", "name"),
        ("name: x\nclusters: [{name: attached, topic: []}]", "clusters[0].topic"),
        ("name: x\nclusters: [{name: nowhere}]", "clusters[0].name"),
        ("name: x\nclusters: [{name: attached}, {name: attached}]", "clusters[1].name"),
        ("name: x\nclusters: [{name: attached, topics: [{name: a b}]}]", "clusters[0].topics[0].name"),
        (
            "name: x\nclusters: [{name: attached, topics: [{name: t, read_queue: 8}]}]",
            "clusters[0].topics[0].read_queue",
        ),
        (
            "name: x\nclusters: [{name: attached, topics: [{name: t}, {name: t}]}]",
            "clusters[0].topics[1].name",
        ),
        (
            "name: x\nclusters: [{name: attached, topics: [{name: t, brokers: [nobody]}]}]",
            "clusters[0].topics[0].brokers",
        ),
        (
            "name: x\nclusters: [{name: attached, users: [{name: u, secret: hunter2}]}]",
            "clusters[0].users[0].secret",
        ),
        (
            "name: x\nclusters: [{name: attached, users: [{name: u, policies: [{resource: Planet:x,"
            " actions: [Pub]}]}]}]",
            "clusters[0].users[0].policies",
        ),
    ],
)
def test_a_document_that_breaks_the_schema_is_refused_with_its_field(
    api: APIClient, attached: Cluster, text: str, field: str
) -> None:
    for verb in ("plan", "apply"):
        answer = send(api, verb, text)
        assert answer.status_code == 400, answer.json()
        assert answer.json()["errors"][0]["field"] == field, answer.json()
        assert "hunter2" not in answer.content.decode()
    assert not Operation.objects.exists()


def test_a_large_or_deep_document_is_refused(api: APIClient, attached: Cluster) -> None:
    assert send(api, "plan", "name: x\n#" + "x" * 1_048_576).status_code == 413
    deep = "[" * 100_000
    answer = api.post(f"{HERE}plan/", deep, content_type="application/json")
    assert answer.status_code == 400


def test_only_administrators_of_everything_apply_documents(people: People, attached: Cluster) -> None:
    for client in (people.viewer, people.operator, people.other):
        assert send(client, "plan", "name: x").status_code == 403
        assert client.get(HERE).status_code == 403
    assert people.admin.get(HERE).json() == []


def test_manage_py_apply_plans_applies_and_finds_drift(
    attached: Cluster,
    admin: blocking.Admin,
    engine: EngineCluster,
    fresh: Callable[[str], str],
    tmp_path: Path,
) -> None:
    topic, name = fresh("topic"), fresh("doc")
    file = tmp_path / "shop.yml"
    file.write_text(document(topic, fresh("group"), name=name))
    out = io.StringIO()
    with pytest.raises(SystemExit) as planned:
        call_command("apply", str(file), "--plan", stdout=out)
    assert planned.value.code == 2 and f"Create topic {topic}" in out.getvalue()
    out = io.StringIO()
    call_command("apply", str(file), stdout=out)
    assert "succeeded" in out.getvalue()
    assert topic in admin.topics.configs(engine.broker)
    out = io.StringIO()
    call_command("apply", name, "--drift", stdout=out)
    assert "nothing to do" in out.getvalue()
    admin.topics.delete_on_broker(engine.broker, topic)
    with pytest.raises(SystemExit):
        call_command("apply", str(file), "--drift", stdout=out)
    file.write_text("name: x\nclusters: [{name: attached, topics: [{name: a b}]}]")
    with pytest.raises(CommandError, match=r"clusters\[0\].topics\[0\].name"):
        call_command("apply", str(file))
    with pytest.raises(CommandError, match="No such file"):
        call_command("apply", str(tmp_path / "absent.yml"))


def test_a_cluster_that_is_not_there_is_made_by_the_same_operation_as_its_objects(
    api: APIClient, redis: str
) -> None:
    Host.objects.create(
        name="one",
        address="127.0.0.1",
        data_root="unused",
        public_key=PrivateKey.generate().public_key.encode(Base64Encoder).decode(),
        joined_at=timezone.now(),
        heartbeat_at=timezone.now(),
    )
    about = {
        "name": "new",
        "layout": {"groups": 2},
        "topics": [{"name": "orders"}],
        "groups": [{"name": "g"}],
    }
    body = {"name": "made", "clusters": [about]}
    plan = api.post(f"{HERE}plan/", body, format="json")
    assert plan.status_code == 200, plan.json()
    assert [row["kind"] for row in plan.json()["create"]] == ["cluster", "topic", "group"]
    assert not Cluster.objects.filter(name="new").exists()
    applied = api.post(f"{HERE}apply/", body, format="json")
    assert applied.status_code == 202, applied.json()
    steps = Operation.objects.get(pk=applied.json()["operations"][0]).steps.order_by("position", "id")
    kinds = [step.kind for step in steps]
    assert kinds[0] == "declare" and kinds[-2:] == ["apply_object", "apply_object"]
    assert max(step.position for step in steps if step.kind == "gate") < steps[len(kinds) - 2].position
    too_many = {"name": "far", "layout": {"groups": 1, "hosts": ["nowhere"]}}
    refused = api.post(f"{HERE}plan/", {"name": "x", "clusters": [too_many]}, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "hosts")

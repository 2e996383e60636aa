"""Users and policies by REST on brokers with access control: equal on all, drift shown, explained."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.models import AclUser, Cluster, Operation, Step
from clusters.provisioning.executor import run_open_steps
from console.core.models import AuditEntry
from console.core.sealing import seal, unseal
from engine.client import Credentials, Message, blocking
from engine.client.admin.access import acl_of
from engine.errors import EngineError
from engine.protocol.bodies.auth import UserInfo
from engine.protocol.bodies.topics import TopicConfig
from tests.engine.client.servers import start_broker, start_name_server
from tests.platform_fixtures import People

HERE = "/api/v1/clusters/guarded/acl/"
ROOT = Credentials("root", "a root secret")


@dataclass(frozen=True, slots=True)
class Guarded:
    namesrv: str
    one: str
    two: str


@pytest.fixture(scope="module")
def guarded_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A name server and two brokers that know whom they let in."""
    home = tmp_path_factory.mktemp("guarded")
    settings = {
        "authenticationEnabled": "true",
        "authorizationEnabled": "true",
        "brokerClusterName": "GuardedCluster",
        "initAuthenticationUser": json.dumps({"username": ROOT.access_key, "password": "a root secret"}),
        "innerClientAuthenticationCredentials": json.dumps(
            {"accessKey": "inner", "secretKey": "inner-secret"}
        ),
        "signalboxSecretKeyFile": str(home / "secret.key"),
    }
    name_server = start_name_server(home)
    running = [name_server]
    try:
        for name in ("guarded-a", "guarded-b"):
            running.append(start_broker(home, name_server.address, name, **settings))
        yield Guarded(name_server.address, running[1].address, running[2].address)
    finally:
        for daemon in reversed(running):
            daemon.stop()


@pytest.fixture
def guarded(db: None, guarded_engine: Guarded, redis: str) -> Cluster:
    return Cluster.objects.create(
        name="guarded",
        broker_cluster_name="GuardedCluster",
        kind=Cluster.Kind.ATTACHED,
        name_server_addresses=[guarded_engine.namesrv],
        broker_addresses=[guarded_engine.one, guarded_engine.two],
        access_key=ROOT.access_key,
        sealed_secret_key=seal("a root secret"),
        created_at=timezone.now(),
    )


@pytest.fixture
def root(guarded_engine: Guarded) -> Iterator[blocking.Admin]:
    with blocking.Admin(namesrv=guarded_engine.namesrv, credentials=ROOT) as admin:
        yield admin


@pytest.fixture
def user(api: APIClient, guarded: Cluster, fresh: Callable[[str], str]) -> tuple[str, str]:
    """A name and its secret."""
    name = fresh("user")
    made = api.post(f"{HERE}users/", {"name": name}, format="json")
    assert made.status_code == 201, made.json()
    return name, made.json()["secret"]


def give(api: APIClient, name: str, *entries: dict[str, Any]) -> Any:
    return api.put(f"{HERE}users/{name}/policies/", {"policies": list(entries)}, format="json")


def ask(api: APIClient, **question: str) -> Any:
    answer = api.post(f"{HERE}explain/", {"address": "10.0.0.1", **question}, format="json")
    assert answer.status_code == 200, answer.json()
    return answer.json()


def test_a_made_secret_is_shown_once_kept_sealed_and_works(
    api: APIClient,
    guarded: Cluster,
    guarded_engine: Guarded,
    root: blocking.Admin,
    user: tuple[str, str],
    fresh: Callable[[str], str],
) -> None:
    name, secret = user
    topic = fresh("topic")
    for broker in (guarded_engine.one, guarded_engine.two):
        root.topics.create(broker, TopicConfig(topic, 1, 1))
    assert give(api, name, {"resource": f"Topic:{topic}", "actions": ["Pub"]}).status_code == 200
    signed = Credentials(name, secret)
    with blocking.Producer("p", namesrv=guarded_engine.namesrv, credentials=signed) as producer:
        assert producer.send(Message(topic, b"x")).status.name == "SEND_OK"
    row = AclUser.objects.get(cluster=guarded, name=name)
    assert secret not in row.sealed_secret and unseal(row.sealed_secret) == secret
    seen = api.get(f"{HERE}users/{name}/").content + api.get(f"{HERE}users/").content
    audited = str(list(AuditEntry.objects.filter(target=name).values_list("details", flat=True)))
    assert secret not in seen.decode() and secret not in audited


def test_a_new_secret_ends_the_old_one(
    api: APIClient, guarded_engine: Guarded, user: tuple[str, str]
) -> None:
    name, old = user
    changed = api.patch(f"{HERE}users/{name}/", {"new_secret": True}, format="json")
    assert changed.status_code == 200 and changed.json()["secret"] not in (None, old)
    given = api.patch(f"{HERE}users/{name}/", {"secret": "chosen by hand"}, format="json")
    assert given.status_code == 200 and given.json()["secret"] is None
    with (
        blocking.Admin(namesrv=guarded_engine.namesrv, credentials=Credentials(name, old)) as admin,
        pytest.raises(EngineError, match="signature"),
    ):
        admin.brokers.runtime_info(guarded_engine.one)


def test_what_differs_between_brokers_is_shown_and_mended(
    api: APIClient, guarded: Cluster, guarded_engine: Guarded, root: blocking.Admin, user: tuple[str, str]
) -> None:
    name, _ = user
    give(api, name, {"resource": "Topic:a", "actions": ["Pub", "Sub"]})
    assert api.get(f"{HERE}users/{name}/").json()["drift"] == []
    root.access.create_acl(guarded_engine.two, acl_of(name, ["Topic:b"], ["Pub"]))
    root.access.update_user(guarded_engine.two, UserInfo(name, None, None, "disable"))
    drift = api.get(f"{HERE}users/{name}/").json()["drift"]
    assert [(row["broker"], row["field"]) for row in drift] == [
        ("guarded-b", "status"),
        ("guarded-b", "policies"),
    ]
    assert "Topic:b" in drift[1]["live"] and "Topic:b" not in drift[1]["declared"]
    root.access.delete_user(guarded_engine.one, name)
    missing = api.get(f"{HERE}users/{name}/").json()
    assert {"broker": "guarded-a", "field": "", "declared": "there", "live": "missing"} in missing["drift"]

    assert api.patch(f"{HERE}users/{name}/", {"status": "enable"}, format="json").status_code == 200
    assert give(api, name, {"resource": "Topic:a", "actions": ["Sub", "Pub"]}).status_code == 200
    assert api.get(f"{HERE}users/{name}/").json()["drift"] == []


def test_policies_are_replaced_as_a_whole(api: APIClient, guarded: Cluster, user: tuple[str, str]) -> None:
    name, _ = user
    give(api, name, {"resource": "Topic:a", "actions": ["Pub"]}, {"resource": "Group:g", "actions": ["Sub"]})
    done = give(
        api,
        name,
        {"resource": "topic:b*", "actions": ["All"], "source_ips": ["10.0.0.0/8"], "type": "Default"},
    )
    assert done.status_code == 200, done.json()
    [entry] = api.get(f"{HERE}users/{name}/").json()["policies"]
    assert entry == {
        "type": "Default",
        "resource": "Topic:b*",
        "actions": ["All"],
        "source_ips": ["10.0.0.0/8"],
        "decision": "Allow",
    }
    assert give(api, name).status_code == 200
    assert api.get(f"{HERE}users/{name}/").json()["policies"] == []


def test_a_decision_is_explained_as_the_broker_decides_it(
    api: APIClient,
    guarded: Cluster,
    guarded_engine: Guarded,
    root: blocking.Admin,
    user: tuple[str, str],
    fresh: Callable[[str], str],
) -> None:
    name, secret = user
    allowed, denied, elsewhere = fresh("orders-eu"), fresh("orders-secret"), fresh("other")
    entries = [
        {"resource": "Topic:orders-*", "actions": ["Pub"]},
        {"resource": f"Topic:{denied}", "actions": ["Pub"], "decision": "Deny"},
        {"resource": f"Topic:{elsewhere}", "actions": ["Pub"], "source_ips": ["10.0.0.0/8"]},
    ]
    assert give(api, name, *entries).status_code == 200
    said = {}
    for topic in (allowed, denied, elsewhere, "unnamed"):
        answer = ask(api, user=name, action="pub", topic=topic, address="127.0.0.1")
        said[topic] = answer["is_allowed"]
        assert len(answer["brokers"]) == 2 and answer["is_complete"]
    assert said == {allowed: True, denied: False, elsewhere: False, "unnamed": False}
    rule = ask(api, user=name, action="pub", topic=denied)["brokers"][0]["rules"][0]
    assert rule["entry"]["resource"] == f"Topic:{denied}" and rule["entry"]["decision"] == "Deny"
    assert rule["code"] == "entry"
    assert ask(api, user=name, action="pub", topic=elsewhere)["is_allowed"] is True
    # What the brokers themselves do, for each of them.
    for topic in (allowed, denied, elsewhere):
        for broker in (guarded_engine.one, guarded_engine.two):
            root.topics.create(broker, TopicConfig(topic, 1, 1))
    signed = Credentials(name, secret)
    with blocking.Producer("p", namesrv=guarded_engine.namesrv, credentials=signed) as producer:
        for topic in (allowed, denied, elsewhere):
            try:
                producer.send(Message(topic, b"x"))
                did = True
            except EngineError:
                did = False
            assert did is said[topic], topic


def test_a_consumer_needs_its_group_and_its_topic(
    api: APIClient, guarded: Cluster, user: tuple[str, str]
) -> None:
    name, _ = user
    give(api, name, {"resource": "Topic:orders", "actions": ["Sub"]})
    answer = ask(api, user=name, action="sub", topic="orders", group="billing")
    assert answer["is_allowed"] is False
    assert [rule["is_allowed"] for rule in answer["brokers"][0]["rules"]] == [False, True]


def test_brokers_that_would_decide_differently_are_told_apart(
    api: APIClient, guarded: Cluster, guarded_engine: Guarded, root: blocking.Admin, user: tuple[str, str]
) -> None:
    name, _ = user
    root.access.create_acl(guarded_engine.one, acl_of(name, ["Topic:a"], ["Pub"]))
    answer = ask(api, user=name, action="pub", topic="a")
    assert answer["is_allowed"] is None
    assert {row["broker"]: row["is_allowed"] for row in answer["brokers"]} == {
        "guarded-a": True,
        "guarded-b": False,
    }
    nobody = ask(api, user="nobody", action="pub", topic="a")
    assert nobody["is_allowed"] is False and "no such user" in nobody["brokers"][0]["reason"]
    assert [row["code"] for row in answer["brokers"] + nobody["brokers"]] == [
        *("entry", "no_entry", "no_user", "no_user")
    ]
    root_may = ask(api, user="root", action="delete", topic="a")
    assert (root_may["is_allowed"], root_may["brokers"][0]["code"]) == (True, "super_user")
    guarded_topic = ask(api, user=name, action="sub", topic="SCHEDULE_TOPIC_XXXX")
    assert "only an entry that names it" in guarded_topic["brokers"][0]["reason"]
    assert guarded_topic["brokers"][0]["code"] == "guarded"


def test_deleting_wants_the_name_and_spares_the_consoles_own_user(
    api: APIClient, guarded: Cluster, user: tuple[str, str]
) -> None:
    name, _ = user
    assert api.delete(f"{HERE}users/{name}/").status_code == 400
    assert api.delete(f"{HERE}users/{name}/?confirm={name}").status_code == 200
    assert api.get(f"{HERE}users/{name}/").status_code == 404
    assert api.delete(f"{HERE}users/{name}/?confirm={name}").status_code == 404
    assert api.delete(f"{HERE}users/root/?confirm=root").status_code == 409


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": "a:b"}, "name"),
        ({"name": "a/b"}, "name"),
        ({"name": "ok", "kind": "God"}, "kind"),
        ({"name": "ok", "secret": "short"}, "secret"),
    ],
)
def test_bad_users_are_refused(api: APIClient, guarded: Cluster, body: dict[str, Any], field: str) -> None:
    answer = api.post(f"{HERE}users/", body, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"resource": "Topic", "actions": ["Pub"]}, "policies[0]"),
        ({"resource": "Planet:mars", "actions": ["Pub"]}, "policies[0]"),
        ({"resource": "Topic:a", "actions": []}, "policies[0].actions"),
        ({"resource": "Topic:a", "actions": ["Fly"]}, "policies[0].actions"),
        ({"resource": "Topic:a", "actions": ["Pub"], "source_ips": ["here"]}, "policies[0]"),
    ],
)
def test_bad_policies_are_refused(
    api: APIClient, guarded: Cluster, user: tuple[str, str], entry: dict[str, Any], field: str
) -> None:
    answer = give(api, user[0], entry)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"].startswith(field), answer.json()


def test_only_admins_look_at_access(guarded: Cluster, people: People) -> None:
    for client, status in ((people.viewer, 403), (people.operator, 403), (people.other, 404)):
        assert client.get(f"{HERE}users/").status_code == status
        assert client.post(f"{HERE}explain/", {}, format="json").status_code == status
    assert people.admin.get(f"{HERE}users/").status_code == 200


def test_brokers_without_access_control_say_so(api: APIClient, attached: Cluster) -> None:
    answer = api.get("/api/v1/clusters/attached/acl/users/")
    assert (answer.status_code, answer.json()["code"]) == (409, "access_control_off")
    assert "authenticationEnabled" in answer.json()["detail"]


def test_a_document_makes_users_and_policies_without_holding_a_secret(
    api: APIClient,
    guarded: Cluster,
    guarded_engine: Guarded,
    user: tuple[str, str],
    fresh: Callable[[str], str],
) -> None:
    name, other, topic = fresh("user"), fresh("user"), fresh("topic")
    shared = {"cluster": "guarded", "user": user[0]}
    entry = {"resource": f"Topic:{topic}", "actions": ["Pub"]}
    about = {
        "name": "guarded",
        "topics": [{"name": topic, "read_queues": 1, "write_queues": 1}],
        "users": [
            {"name": name, "policies": [entry]},
            {"name": other, "secret": shared, "policies": [entry]},
        ],
    }
    body = {"name": fresh("doc"), "clusters": [about]}
    applied = api.post("/api/v1/documents/apply/", body, format="json")
    assert applied.status_code == 202, applied.json()
    run_open_steps(None, "test")
    operation = Operation.objects.get(pk=applied.json()["operations"][0])
    assert operation.state == "succeeded", operation.error
    assert api.get(f"/api/v1/documents/{body['name']}/drift/").json()["has_drift"] is False
    made = unseal(AclUser.objects.get(cluster=guarded, name=name).sealed_secret)
    for signed in (Credentials(name, made), Credentials(other, user[1])):
        with blocking.Producer("p", namesrv=guarded_engine.namesrv, credentials=signed) as producer:
            assert producer.send(Message(topic, b"x")).status.name == "SEND_OK"
    kept = json.dumps(list(Step.objects.values_list("arguments", "result")))
    assert made not in kept and user[1] not in kept

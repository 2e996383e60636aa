"""Clusters, hosts and operations by REST: plans, refusals with field and reason, who may, pinned queries."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from clusters.actions.hosts import Ranges, do_join_host
from clusters.models import Broker, BrokerGroup, Cluster, Host, NameServer, Operation, SealedBundle
from clusters.provisioning.host_keys import make_key, open_bundle, public_half
from clusters.provisioning.kinds.rows import declare
from console.core.models import AuditEntry
from console.core.problems import Problem
from tests.engine.client.servers import Cluster as EngineCluster
from tests.platform_fixtures import People

CLUSTERS = "/api/v1/clusters/"
pytestmark = pytest.mark.django_db


@pytest.fixture
def hosts(redis: str, tmp_path: Path) -> list[Host]:
    """Three that are heard of; nobody works on their steps."""
    now = timezone.now()
    made = []
    for number in range(3):
        key = make_key(tmp_path / f"h{number}")
        made.append(
            Host.objects.create(
                name=f"h{number}",
                address=f"10.0.0.{number + 1}",
                data_root=str(tmp_path / f"h{number}"),
                public_key=public_half(key),
                joined_at=now,
                heartbeat_at=now,
            )
        )
    return made


def _new(**changes: Any) -> dict[str, Any]:
    return {"name": "orders", "groups": 3, "slaves": 2, "name_servers": 3, **changes}


def test_a_plan_is_shown_and_nothing_is_written(api: APIClient, hosts: list[Host]) -> None:
    answer = api.post(f"{CLUSTERS}?dry_run=true", _new(), format="json")
    assert answer.status_code == 200, answer.data
    assert "Make 3 name servers and 3 broker groups with 9 brokers, profile fast." in answer.data["plan"]
    assert not Cluster.objects.exists() and not Operation.objects.exists() and not AuditEntry.objects.exists()


def test_creating_begins_an_operation_and_leaves_an_audit_row(api: APIClient, hosts: list[Host]) -> None:
    answer = api.post(CLUSTERS, _new(), format="json")
    assert answer.status_code == 202, answer.data
    assert answer.headers["Location"] == f"/api/v1/operations/{answer.data['id']}/"
    assert [step["kind"] for step in answer.data["steps"]][:2] == ["declare", "reserve_ports"]
    assert AuditEntry.objects.get().action == "operation.create"
    shown = api.get(f"{CLUSTERS}orders/").data
    assert shown["open_operation"] == Operation.objects.get().pk
    assert "secret" not in str(shown).lower()


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"name": "Orders!"}, 400, "name"),
        ({"name": "x" * 64}, 400, "name"),
        ({"name": "../etc"}, 400, "name"),
        ({"groups": 0}, 400, "groups"),
        ({"groups": 65}, 400, "groups"),
        ({"slaves": 3}, 409, "slaves"),
        ({"slaves": -1}, 400, "slaves"),
        ({"name_servers": 10}, 400, "name_servers"),
        ({"hosts": ["nowhere"]}, 400, "hosts"),
        ({"hosts": ["h0", "h0"]}, 400, "hosts"),
        ({"profile": "quick"}, 400, "profile"),
        ({"profile": "safe", "slaves": 0}, 409, "slaves"),
        ({"overrides": {"storePathRootDir": "/etc"}}, 400, "overrides.storePathRootDir"),
        ({"overrides": {"brokerId": "0"}}, 400, "overrides.brokerId"),
        ({"overrides": {"flushDiskType": "NEVER"}}, 400, "overrides.flushDiskType"),
        ({"overrides": {"mappedFileSizeCommitLog": "4096"}}, 400, "overrides.mappedFileSizeCommitLog"),
        ({"group_names": ["a/b"]}, 400, "groups"),
        ({"group_names": ["namesrv"]}, 400, "groups"),
        ({"release": "../../bin"}, 400, "release"),
    ],
)
def test_bad_requests_name_the_field_and_leave_nothing(
    api: APIClient, hosts: list[Host], changes: dict[str, Any], status: int, field: str
) -> None:
    answer = api.post(CLUSTERS, _new(**changes), format="json")
    assert answer.status_code == status, answer.data
    assert answer.data["errors"][0]["field"] == field
    assert not Cluster.objects.exists()


def test_a_host_that_never_answers_is_refused_by_name(api: APIClient, hosts: list[Host]) -> None:
    Host.objects.filter(name="h1").update(heartbeat_at=timezone.now() - timedelta(minutes=5))
    answer = api.post(CLUSTERS, _new(hosts=["h0", "h1", "h2"]), format="json")
    assert answer.status_code == 409 and "h1 does not answer" in answer.data["detail"]
    Host.objects.filter(name="h2").update(is_cordoned=True)
    answer = api.post(CLUSTERS, _new(hosts=["h0", "h2"], slaves=1), format="json")
    assert answer.status_code == 409 and "cordoned" in answer.data["detail"]


def test_two_operations_at_once_are_refused_with_the_first_ones_id(api: APIClient, hosts: list[Host]) -> None:
    first = api.post(CLUSTERS, _new(), format="json").data["id"]
    second = api.post(f"{CLUSTERS}orders/repair/", {}, format="json")
    assert second.status_code == 409 and second.data["operation"] == first
    assert api.post(CLUSTERS, _new(), format="json").status_code == 409


def test_a_creation_that_nobody_approved_gives_its_name_back(people: People, hosts: list[Host]) -> None:
    asked = people.root.post(CLUSTERS, _new(needs_approval=True), format="json")
    assert asked.data["state"] == "awaiting_approval"
    path = f"/api/v1/operations/{asked.data['id']}"
    refused = people.root.post(f"{path}/approve/")
    assert refused.status_code == 403 and refused.data["code"] == "second_person"
    assert people.operator.post(f"{path}/approve/").status_code == 403
    assert people.root.post(f"{path}/cancel/").data["state"] == "cancelled"
    assert people.root.get(f"{CLUSTERS}orders/").status_code == 404
    again = people.root.post(CLUSTERS, _new(needs_approval=True), format="json")
    assert people.admin.post(f"/api/v1/operations/{again.data['id']}/approve/").data["state"] == "running"


def test_what_is_not_failed_cannot_be_retried_or_rolled_back(api: APIClient, hosts: list[Host]) -> None:
    operation = api.post(CLUSTERS, _new(), format="json").data["id"]
    for verb in ("retry", "roll_back", "give_up", "approve"):
        answer = api.post(f"/api/v1/operations/{operation}/{verb}/")
        assert answer.status_code in (403, 409), verb


def test_others_see_neither_the_cluster_nor_its_operations(people: People, hosts: list[Host]) -> None:
    operation = people.root.post(CLUSTERS, _new(), format="json").data["id"]
    assert people.other.get(f"{CLUSTERS}orders/").status_code == 404
    assert people.other.get(f"/api/v1/operations/{operation}/").status_code == 404
    assert people.other.get("/api/v1/operations/").data["count"] == 0
    assert people.viewer.get(f"/api/v1/operations/{operation}/").status_code == 200
    assert people.viewer.post(f"/api/v1/operations/{operation}/cancel/").status_code == 403
    assert people.operator.post(CLUSTERS, _new(name="two"), format="json").status_code == 403
    assert people.anonymous.get(CLUSTERS).status_code == 401


def _declared(hosts: list[Host], groups: int = 3) -> Cluster:
    """A cluster whose rows are there, as after the first step of its creation."""
    cluster = Cluster.objects.create(
        name="orders", broker_cluster_name="C", kind="managed", created_at=timezone.now()
    )
    for number in range(groups):
        group = BrokerGroup.objects.create(cluster=cluster, name=f"broker-{number}")
        for member in range(3):
            Broker.objects.create(
                group=group, member=member, host=hosts[member], port=11000 + 10 * number, observed="running"
            )
    for host in hosts:
        NameServer.objects.create(cluster=cluster, number=int(host.name[1]) + 1, host=host, port=9876)
    return cluster


def test_lists_cost_the_same_for_any_number_of_rows(
    api: APIClient, hosts: list[Host], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    _declared(hosts, groups=8)
    with django_assert_max_num_queries(9):
        answer = api.get(f"{CLUSTERS}orders/brokers/")
    assert len(answer.data["results"]) == 24
    assert answer.data["results"][0]["live"] is None, "what nobody has seen is not shown as zero"
    with django_assert_max_num_queries(9):
        assert api.get(CLUSTERS).data["results"][0]["brokers"] == 24
    with django_assert_max_num_queries(7):
        assert api.get("/api/v1/hosts/").data["results"][0]["masters"] == 8


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("shrink/", {"group": "nope"}, 400, "group"),
        ("shrink/", {"group": "broker-0", "member": 0}, 409, "member"),
        ("promote/", {"group": "broker-0", "member": 0}, 409, "member"),
        ("promote/", {"group": "broker-0", "member": 7}, 400, "member"),
        ("grow/", {}, 400, "groups"),
        ("grow/", {"slaves": 1}, 409, "slaves"),
        ("grow/", {"group_names": ["broker-0"]}, 409, "groups"),
        ("upgrade/", {"release": "builtin"}, 409, "release"),
        ("configure/", {"changes": {}}, 400, "changes"),
        ("configure/", {"changes": {"listenPort": "1"}}, 400, "changes.listenPort"),
        (
            "configure/",
            {"changes": {"mappedFileSizeCommitLog": "67108864"}},
            409,
            "changes.mappedFileSizeCommitLog",
        ),
        ("configure/", {"changes": {"maxMessageSize": None}}, 400, "changes.maxMessageSize"),
        # CVE-2023-33246 and its relatives: commands, paths, a second property behind a line end.
        ("configure/", {"changes": {"rocketmqHome": "-c $@|sh . echo id"}}, 400, "changes.rocketmqHome"),
        ("configure/", {"changes": {"filterServerNums": "1"}}, 400, "changes.filterServerNums"),
        ("configure/", {"changes": {"configStorePath": "/var/lib/x"}}, 400, "changes.configStorePath"),
        (
            "configure/",
            {"changes": {"maxMessageSize": "1\nfilterServerNums=1"}},
            400,
            "changes.maxMessageSize",
        ),
        ("configure/", {"changes": {"maxMessageSize": "9" * 1_000_000}}, 400, "changes.maxMessageSize"),
        ("configure/", {"changes": {"MAXMESSAGESIZE": "1024"}}, 400, "changes.MAXMESSAGESIZE"),
        ("configure/", {"changes": {"__class__": "x"}}, 400, "changes.__class__"),
        ("restart/", {"groups": ["nope"]}, 400, "groups"),
    ],
)
def test_bad_changes_name_the_field_and_begin_nothing(
    api: APIClient, hosts: list[Host], path: str, body: dict[str, Any], status: int, field: str
) -> None:
    _declared(hosts)
    answer = api.post(f"{CLUSTERS}orders/{path}", body, format="json")
    assert answer.status_code == status, answer.data
    assert answer.data["errors"][0]["field"] == field
    assert not Operation.objects.exists()


def test_deleting_takes_the_typed_name(api: APIClient, hosts: list[Host]) -> None:
    _declared(hosts)
    answer = api.delete(f"{CLUSTERS}orders/?confirm=order")
    assert answer.status_code == 400 and answer.data["errors"][0]["field"] == "confirm"
    plan = api.delete(f"{CLUSTERS}orders/?confirm=orders&dry_run=true").data
    assert "Every message of the cluster is lost." in plan["warnings"]


def test_secrets_are_sealed_for_the_hosts_that_need_them(
    api: APIClient, hosts: list[Host], tmp_path: Path
) -> None:
    answer = api.post(CLUSTERS, _new(profile="safe", groups=1, slaves=1), format="json")
    operation = Operation.objects.get(pk=answer.data["id"])

    class Context:
        arguments = operation.steps.get(kind="declare").arguments
        cluster = operation.cluster

        def now(self) -> Any:
            return timezone.now()

    declare(Context())  # type: ignore[arg-type]
    bundle = SealedBundle.objects.get(host__name="h0")
    opened = open_bundle(make_key(tmp_path / "h0"), bundle.sealed)
    assert {"cluster_secret", "secret_key", "inner_secret", "access_key_file"} <= set(opened)
    with pytest.raises(Problem, match="another key"):
        open_bundle(make_key(tmp_path / "h1"), bundle.sealed)
    listens = Broker.objects.order_by("member").values_list("host__name", "port")
    assert list(listens) == [("h0", 10911), ("h1", 10911)]


def test_a_host_is_invited_joins_once_and_is_removed_when_it_is_empty(
    people: People, redis: str, tmp_path: Path
) -> None:
    assert people.operator.post("/api/v1/hosts/", {"name": "far"}, format="json").status_code == 403
    token = people.root.post("/api/v1/hosts/", {"name": "far"}, format="json").data["token"]
    key = public_half(make_key(tmp_path))

    def join() -> Host:
        return do_join_host(token, "127.0.0.1", str(tmp_path), key, Ranges(), version="1", now=timezone.now())

    assert join().name == "far"
    with pytest.raises(Problem, match="unknown, used or expired"):
        join()
    cordoned = people.root.patch("/api/v1/hosts/far/", {"is_cordoned": True}, format="json")
    assert cordoned.data["is_cordoned"] is True
    assert people.root.delete("/api/v1/hosts/far/").status_code == 204
    assert people.root.get("/api/v1/hosts/far/").status_code == 404
    actions = set(AuditEntry.objects.values_list("action", flat=True))
    assert actions == {"host.invite", "host.join", "host.cordon", "host.remove"}


@pytest.mark.parametrize("name", ["", "UPPER", "a" * 64, "a/b", "-a"])
def test_bad_names_of_hosts_are_refused(api: APIClient, redis: str, name: str) -> None:
    answer = api.post("/api/v1/hosts/", {"name": name}, format="json")
    assert answer.status_code == 400 and answer.data["errors"][0]["field"] == "name"


def test_a_host_in_use_is_not_removed(api: APIClient, hosts: list[Host]) -> None:
    _declared(hosts)
    answer = api.delete("/api/v1/hosts/h0/")
    assert answer.status_code == 409 and "orders/broker-0-0" in answer.data["detail"]


def test_a_real_cluster_is_attached_with_the_addresses_that_the_plan_shows(
    api: APIClient, engine: EngineCluster, redis: str
) -> None:
    body = {"kind": "attached", "name": "theirs", "name_servers": [engine.namesrv]}
    plan = api.post(f"{CLUSTERS}?dry_run=true", body, format="json")
    assert plan.status_code == 200, plan.data
    assert any(engine.broker in sentence for sentence in plan.data["plan"])
    assert not Cluster.objects.exists()
    made = api.post(CLUSTERS, body, format="json")
    assert made.status_code == 201, made.data
    assert made.data["flavour"] == "signalbox" and made.data["brokers"] is None
    assert Cluster.objects.get().broker_addresses == [engine.broker]
    assert api.post(f"{CLUSTERS}theirs/restart/", {}, format="json").data["code"] == "attached"
    assert api.post(f"{CLUSTERS}theirs/refresh/").status_code == 200
    assert api.delete(f"{CLUSTERS}theirs/?confirm=theirs").status_code == 204


@pytest.mark.parametrize(
    "address", ["169.254.169.254:80", "0.0.0.0:9876", "no port", "http://x:1", "[ff02::1]:9876", "x:99999"]
)
def test_addresses_that_no_name_server_can_have_are_refused(api: APIClient, redis: str, address: str) -> None:
    body = {"kind": "attached", "name": "theirs", "name_servers": [address]}
    answer = api.post(CLUSTERS, body, format="json")
    assert answer.status_code == 400 and answer.data["errors"][0]["field"] == "name_servers"


def test_write_permission_of_a_real_broker_is_read_back(
    api: APIClient, attached: Cluster, engine: EngineCluster
) -> None:
    from clusters.models import LiveBroker

    LiveBroker.objects.create(
        cluster=attached, broker_name=engine.broker_name, member=0, address=engine.broker, is_reachable=True
    )
    path = f"{CLUSTERS}attached/broker_groups/{engine.broker_name}/write_permission/"
    for wanted, permission in ((False, "4"), (True, "6")):
        answer = api.put(path, {"is_writable": wanted}, format="json")
        assert answer.status_code == 200 and answer.data["is_complete"], answer.data
        assert answer.data["brokers"][0]["read_back"] == {"brokerPermission": permission}
    phases = list(AuditEntry.objects.order_by("id").values_list("phase", flat=True))
    assert phases == ["intent", "outcome"] * 2
    config = api.get(f"{CLUSTERS}attached/brokers/{engine.broker_name}-0/config/")
    assert config.data["is_reachable"] and config.data["different"] == []


def test_settings_of_all_brokers_stand_side_by_side(
    api: APIClient, people: People, attached: Cluster, engine: EngineCluster
) -> None:
    from clusters.models import LiveBroker

    for member, address in ((0, engine.broker), (1, "127.0.0.1:1")):
        LiveBroker.objects.create(
            cluster=attached, broker_name=engine.broker_name, member=member, address=address
        )
    body = api.get(f"{CLUSTERS}attached/broker_settings/").data
    assert [(row["broker"], row["is_reachable"]) for row in body["brokers"]] == [
        (f"{engine.broker_name}-0", True),
        (f"{engine.broker_name}-1", False),
    ]
    assert body["brokers"][1]["error"]
    lines = {line["key"]: line for line in body["settings"]}
    cells = lines["maxMessageSize"]["cells"]
    assert [cell["running"] for cell in cells] == ["4194304", None], "no answer is no value"
    assert not lines["maxMessageSize"]["is_drifted"] and not lines["maxMessageSize"]["is_different"]
    assert lines["maxMessageSize"]["rule"] is None, "an attached cluster's settings are not ours to change"
    assert "storePathRootDir" in lines
    shown = people.viewer.get(f"{CLUSTERS}attached/broker_settings/").data["settings"]
    assert "storePathRootDir" not in {line["key"] for line in shown}

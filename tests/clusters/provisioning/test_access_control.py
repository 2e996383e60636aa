"""Access control of clusters: what rows make of it, the plan that changes it, and the change by REST."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.actions.repairs import do_repair_drifted
from clusters.models import Broker, BrokerGroup, Cluster, Host, NameServer, Operation, Step
from clusters.provisioning.confs import (
    BrokerConf,
    NameServerConf,
    access_read_back,
    broker_settings,
    name_server_settings,
)
from clusters.provisioning.host_keys import make_key, public_half
from clusters.provisioning.plans.access import change_access_control
from clusters.provisioning.plans.plan import Plan
from console.agent import VERSION
from console.beat import Beat
from engine.broker.settings.options import load_options
from engine.client import Message, Producer
from tests.clusters.provisioning.agent_process import AgentProcess, agents, wait
from tests.clusters.provisioning.operating import assert_one_of_each, begin, cancel_after, finish, tell
from tests.clusters.provisioning.test_plans import _group, _state
from tests.upgrade import old_tree

BASE = "/api/v1/clusters/"
ROOT = Path(__file__).parents[3]
SMALL = {"mappedFileSizeCommitLog": "8388608", "maxIndexNum": "1000", "maxHashSlotNum": "500"}


# -- from rows to settings -----------------------------------------------------------------------------------


def broker_conf(access_control: str, profile: str = "fast") -> dict[str, str]:
    folder = PurePosixPath("/d/p")
    return broker_settings(
        BrokerConf("c", "g", 0, profile, {}, "127.0.0.1", 10911, folder, folder, ["a:1"], access_control)
    )


@pytest.mark.parametrize("profile", ["fast", "safe", "none"])
@pytest.mark.parametrize("state", ["off", "administration", "on"])
def test_a_broker_is_in_the_state_that_its_row_says(state: str, profile: str) -> None:
    settings = broker_conf(state, profile)
    options = load_options("".join(f"{key}={value}\n" for key, value in settings.items()))
    assert options.access.is_on == (state != "off")
    assert options.access.guards_changes_only == (state == "administration")
    shown = dict(options.access.shown)
    assert {key: shown[key] for key in access_read_back(state)} == access_read_back(state)


def test_off_and_on_are_written_as_before() -> None:
    """What an existing cluster runs with must not look like drift after an upgrade."""
    off, on = broker_conf("off"), broker_conf("on")
    assert "signalboxAccessControl" not in off | on
    assert (off["authenticationEnabled"], on["authenticationEnabled"]) == ("false", "true")
    servers = [
        name_server_settings(NameServerConf("h", 1, PurePosixPath("/d"), state)) for state in ("off", "on")
    ]
    assert "authenticationEnabled" not in servers[0]
    assert servers[1]["authenticationWhitelist"] == "105,106"


# -- the plan ------------------------------------------------------------------------------------------------


def kinds(plan: Plan) -> list[str]:
    return [f"{step.kind} {step.arguments.get('process', '')}".strip() for _, step in plan.steps]


def test_a_master_alone_is_restarted_once_and_name_servers_come_last() -> None:
    plan = change_access_control(_state(_group("broker-a", 1)), "off", "administration")
    assert kinds(plan) == [
        "make_access_secrets",
        "set_access_control",
        "restart broker-a-0",
        "gate",
        "restart namesrv-1",
        "await_registration",
        "read_back broker-a-0",
    ]
    assert "without credentials are refused" in " ".join(plan.warnings).replace("\n", " ")


def test_members_of_a_group_learn_to_sign_before_any_asks_for_it() -> None:
    plan = change_access_control(_state(_group("broker-a", 2)), "off", "administration")
    listed = kinds(plan)
    switch = listed.index("set_access_control")
    assert [each for each in listed[:switch] if each.startswith("restart")] == [
        "restart broker-a-1",
        "restart broker-a-0",
    ]
    # Member 1 is master by then: the second round begins with member 0.
    assert [each for each in listed[switch:] if each.startswith("restart")] == [
        "restart broker-a-0",
        "restart broker-a-1",
        "restart namesrv-1",
    ]


def test_where_everybody_signs_already_one_round_is_enough() -> None:
    for before, after in (("on", "administration"), ("administration", "on"), ("administration", "off")):
        plan = change_access_control(_state(_group("broker-a", 2)), before, after)
        assert kinds(plan)[0] == "set_access_control"
        assert sum(each.startswith("restart broker") for each in kinds(plan)) == 2
        assert plan.warnings


# -- by REST -------------------------------------------------------------------------------------------------


@pytest.fixture
def host(redis: str, tmp_path: Path) -> Host:
    """One that is heard of; nobody works on its steps."""
    now = timezone.now()
    public_key = public_half(make_key(tmp_path / "h"))
    about = {"address": "10.0.0.1", "data_root": str(tmp_path / "h"), "public_key": public_key}
    return Host.objects.create(name="h", joined_at=now, heartbeat_at=now, **about)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("asked", "state"),
    [
        ({}, "off"),
        ({"profile": "safe", "slaves": 1}, "on"),
        ({"access_control": "administration"}, "administration"),
        ({"profile": "safe", "slaves": 1, "access_control": "administration"}, "administration"),
        ({"access_control": "on"}, "on"),
    ],
)
def test_a_new_cluster_is_in_the_state_that_was_asked_for(
    api: APIClient, host: Host, asked: dict[str, Any], state: str
) -> None:
    body = {"name": "orders", "allow_same_host": True, **asked}
    made = api.post(BASE, body, format="json")
    assert made.status_code == 202, made.data
    row = Cluster.objects.get(name="orders")
    assert row.access_control == state
    assert bool(row.access_key) == bool(row.sealed_secret_key) == (state != "off")
    shown = api.get(f"{BASE}orders/").data
    assert (shown["access_control"], shown["has_access_control"]) == (state, state == "on")


@pytest.mark.django_db
def test_bad_requests_are_refused(api: APIClient, host: Host) -> None:
    wrong = api.post(BASE, {"name": "orders", "access_control": "some"}, format="json")
    assert wrong.status_code == 400 and wrong.data["errors"][0]["field"] == "access_control"
    assert api.post(BASE, {"name": "orders"}, format="json").status_code == 202
    busy = api.post(f"{BASE}orders/access_control/", {"access_control": "on"}, format="json")
    assert busy.status_code == 409


@pytest.mark.django_db
def test_an_agent_of_the_release_before_gets_no_work_that_it_would_do_wrongly(
    api: APIClient, host: Host
) -> None:
    new = {"name": "orders", "access_control": "administration"}
    Host.objects.update(agent_version="1")
    for asks in ("?dry_run=true", ""):
        refused = api.post(f"{BASE}{asks}", new, format="json")
        assert (refused.status_code, refused.data["code"]) == (409, "old_agent")
        assert refused.data["detail"] == (
            "the agent of h is of release 0.1.0, which does not know access control `administration` and "
            "would start processes without it: upgrade that agent first"
        )
    assert not Cluster.objects.exists()
    assert api.post(BASE, new | {"access_control": "off"}, format="json").status_code == 202
    Operation.objects.update(state="succeeded")
    rows = _rows_of_one_broker(Cluster.objects.get(), host)
    wanted = {"access_control": "administration"}
    refused = api.post(f"{BASE}orders/access_control/?dry_run=true", wanted, format="json")
    assert (refused.status_code, refused.data["code"]) == (409, "old_agent")
    # Its agent was put back to the release before: it may stop what runs, and start nothing.
    Cluster.objects.update(administration_only=True, repairs_drift=True)
    rows.update(running_config_digest="of another configuration", token="t", observed="running")
    for path in ("restart/", "repair/"):
        refused = api.post(f"{BASE}orders/{path}", {}, format="json")
        assert (refused.status_code, refused.data["code"]) == (409, "old_agent"), path
    assert do_repair_drifted(now=timezone.now()) == 0
    assert api.delete(f"{BASE}orders/?confirm=orders&dry_run=true").status_code == 200
    left = api.post(f"{BASE}orders/access_control/?dry_run=true", {"access_control": "on"}, format="json")
    assert left.status_code == 200, left.data
    Host.objects.update(agent_version=VERSION)
    assert api.post(f"{BASE}orders/restart/?dry_run=true", {}, format="json").status_code == 200
    assert do_repair_drifted(now=timezone.now()) == 1


def _rows_of_one_broker(cluster: Cluster, host: Host) -> QuerySet[Broker]:
    """As its operation would have left them."""
    NameServer.objects.create(cluster=cluster, host=host, number=1, port=9876)
    group = BrokerGroup.objects.create(cluster=cluster, name="broker-a")
    broker = Broker.objects.create(group=group, host=host, member=0, port=10911)
    return Broker.objects.filter(pk=broker.pk)


# -- a real cluster ------------------------------------------------------------------------------------------


@pytest.fixture
def agent(tmp_path: Path, redis: str, transactional_db: None) -> Iterator[AgentProcess]:
    with agents(tmp_path, "one") as [running], Beat():
        yield running


def admin(name_server: str, data_root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "engine.admin", *words, "-n", name_server]
    environment = {"PATH": os.environ["PATH"], "SIGNALBOX_DATA": str(data_root), "HOME": str(data_root)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)


async def send(name_server: str, body: bytes) -> None:
    async with Producer("shop", namesrv=name_server) as producer:
        await producer.send(Message("hello", body))


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(400)
@pytest.mark.parametrize("slaves", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_an_existing_cluster_gets_it_by_an_operation_with_a_preview(
    agent: AgentProcess, api: APIClient, slaves: int
) -> None:
    new = {"name": "orders", "groups": 1, "slaves": slaves, "allow_same_host": True, "overrides": SMALL}
    finish(begin(api, "", new))
    detail = api.get(f"{BASE}orders/").data
    name_server, broker = detail["name_server_addresses"][0], Broker.objects.get(member=0).address
    root = Path(Broker.objects.get(member=0).host.data_root)
    assert admin(name_server, root, "updateTopic", "-b", broker, "-t", "before").returncode == 0
    asyncio.run(send(name_server, b"before"))

    wanted = {"access_control": "administration"}
    preview = api.post(f"{BASE}orders/access_control/?dry_run=true", wanted, format="json")
    assert preview.status_code == 200 and preview.data["warnings"]
    assert any("first time" in sentence for sentence in preview.data["plan"]) == (slaves > 0)
    assert Cluster.objects.get(name="orders").access_control == "off", "a preview changes nothing"
    assert not list(root.glob("clusters/*/secrets/administrator.yml"))

    finish(begin(api, "orders/access_control/", wanted), seconds=300)
    assert_one_of_each(agent)
    assert Cluster.objects.get(name="orders").access_control == "administration"
    [file] = root.glob("clusters/*/secrets/administrator.yml")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    # What applications and readers do needs no credentials; what changes something does.
    asyncio.run(send(name_server, b"after"))
    read = admin(name_server, root, "consumeMessage", "-t", "hello", "--unsigned")
    assert "before" in read.stdout and "after" in read.stdout, read.stderr
    for words in (
        ("updateBrokerConfig", "-b", broker, "-k", "fileReservedTime", "-v", "1"),
        ("wipeWritePerm", "-b", "broker-a"),
        ("updateTopic", "-b", broker, "-t", "strangers"),
    ):
        refused = admin(name_server, root, *words, "--unsigned")
        assert refused.returncode == 1 and "NO_PERMISSION" in refused.stderr, (words, refused)
    # The command line finds the administrator by itself, and the console signs.
    signed = admin(name_server, root, "updateTopic", "-b", broker, "-t", "after")
    assert signed.returncode == 0, signed.stderr
    topics = json.loads(admin(name_server, root, "topicList", "--json").stdout)
    assert "after" in json.dumps(topics)
    spec = {"name": "of-the-console", "read_queues": 1, "write_queues": 1}
    made = api.post(f"{BASE}orders/topics/", spec, format="json")
    assert made.status_code in (200, 201), made.data
    same = api.post(f"{BASE}orders/access_control/", wanted, format="json")
    assert same.status_code == 409 and same.data["code"] == "same"

    if not slaves:
        return
    finish(begin(api, "orders/access_control/", {"access_control": "off"}), seconds=300)
    assert not file.exists()
    anew = admin(name_server, root, "updateTopic", "-c", "DefaultCluster", "-t", "again")
    assert anew.returncode == 0, anew.stderr


# -- an agent that dies in every step ------------------------------------------------------------------------


def through_deaths(agent: AgentProcess, operation: str) -> list[str]:
    """Starts the agent again whenever it is dead, until the operation is over. What it died of."""
    deaths = Path(agent.environment["DEATHS"])

    def over() -> bool:
        assert agent.process is not None
        if agent.process.poll() is not None:
            agent.launch()
        return Operation.objects.filter(pk=operation).exclude(state__in=["running", "rolling_back"]).exists()

    wait(over, 500, lambda: f"{sorted(each.name for each in deaths.iterdir())}\n{agent.log()}")
    return sorted(each.name.split(maxsplit=1)[1] for each in deaths.iterdir())


def die_in(agent: AgentProcess, what: str, folder: Path) -> None:
    folder.mkdir()
    agent.stop()
    agent.program = "tests/clusters/provisioning/dying_agent.py"
    agent.environment = {"DIES_IN": what, "DEATHS": str(folder)}
    agent.start()


def assert_as_shown(agent: AgentProcess, api: APIClient, state: str) -> None:
    """What the console shows is what every process does."""
    assert_one_of_each(agent)
    assert api.get(f"{BASE}orders/").data["access_control"] == state
    name_server = api.get(f"{BASE}orders/").data["name_server_addresses"][0]
    for row in Broker.objects.select_related("group", "host"):
        config = api.get(f"{BASE}orders/brokers/{row.label}/config/").data
        assert config["is_reachable"] and config["different"] == [], (row.label, config)
        words = ("updateBrokerConfig", "-b", row.address, "-k", "fileReservedTime", "-v", "71")
        unsigned = admin(name_server, Path(row.host.data_root), *words, "--unsigned")
        assert ("NO_PERMISSION" in unsigned.stderr) == (state == "administration"), unsigned
        assert (unsigned.returncode == 0) == (state == "off"), unsigned
    wiped = admin(name_server, Path(row.host.data_root), "addWritePerm", "-b", "broker-a", "--unsigned")
    assert ("NO_PERMISSION" in wiped.stderr) == (state == "administration"), wiped
    asyncio.run(send(name_server, b"afterwards"))
    read = admin(name_server, Path(row.host.data_root), "consumeMessage", "-t", "hello", "--unsigned")
    assert "before" in read.stdout and "afterwards" in read.stdout, read


@pytest.mark.nightly
@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("goes_back", [False, True])
def test_an_agent_that_dies_in_every_step_leaves_the_cluster_as_shown(
    agent: AgentProcess, api: APIClient, tmp_path: Path, goes_back: bool
) -> None:
    new = {"name": "orders", "groups": 1, "slaves": 1, "allow_same_host": True, "overrides": SMALL}
    finish(begin(api, "", new))
    asyncio.run(send(api.get(f"{BASE}orders/").data["name_server_addresses"][0], b"before"))
    die_in(agent, "undo access_control" if goes_back else "access_control", tmp_path / "deaths")
    operation = begin(api, "orders/access_control/", {"access_control": "administration"})
    if goes_back:
        cancel_after(api, operation, "await_registration")
        tell(api, operation, "roll_back")
    deaths = through_deaths(agent, operation)
    finish(operation, "rolled_back" if goes_back else "succeeded")
    print(len(deaths), deaths)
    steps = Step.objects.filter(operation=operation, is_undo=goes_back).exclude(state="skipped")
    died_done = [death.removeprefix("done ") for death in deaths if death.startswith("done")]
    assert sorted(died_done) == sorted(step.kind for step in steps)
    assert deaths.count("stopped restart") == steps.filter(kind="restart").count() >= 3
    assert_as_shown(agent, api, "off" if goes_back else "administration")


# -- an agent of the release before --------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(400)
def test_what_an_agent_of_the_release_before_starts_is_shown_and_put_right_by_ours(
    agent: AgentProcess, api: APIClient, tmp_path: Path
) -> None:
    """It heals by itself, and nobody can keep it from that: what it started has no access control."""
    new = {"name": "orders", "access_control": "administration", "overrides": SMALL}
    finish(begin(api, "", new))
    asyncio.run(send(api.get(f"{BASE}orders/").data["name_server_addresses"][0], b"before"))
    agent.stop()
    agent.program = str(old_tree.check_out(tmp_path / "old") / "manage.py")
    agent.start()
    wait(lambda: Host.objects.get().agent_version == "1")
    refused = api.post(f"{BASE}orders/restart/", {}, format="json")
    assert (refused.status_code, refused.data["code"]) == (409, "old_agent")
    [broker] = agent.engines()["broker-a-0"]
    broker.kill()

    def shown() -> dict[str, Any]:
        return dict(api.get(f"{BASE}orders/brokers/broker-a-0/").data["process"])

    wait(lambda: shown()["observed"] == "running" and shown()["pid"] not in (None, broker.pid), 60, agent.log)
    assert shown()["is_drifted"] is True
    agent.stop()
    agent.program = "manage.py"
    agent.start()
    wait(lambda: Host.objects.get().agent_version == VERSION)
    finish(begin(api, "orders/repair/"))
    assert shown()["is_drifted"] is False
    assert_as_shown(agent, api, "administration")

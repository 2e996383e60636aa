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
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.models import Broker, Cluster, Host
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
from console.beat import Beat
from engine.broker.settings.options import load_options
from engine.client import Message, Producer
from tests.clusters.provisioning.agent_process import AgentProcess, agents
from tests.clusters.provisioning.operating import assert_one_of_each, begin, finish
from tests.clusters.provisioning.test_plans import _group, _state

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

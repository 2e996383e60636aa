"""A name server and a broker with access control, as processes, and every face of our client on them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.client import (
    Admin,
    ClientInstance,
    ClientOptions,
    ConsumeFromWhere,
    ConsumerOptions,
    Credentials,
    LitePullConsumer,
    LitePullOptions,
    Message,
    PopConsumer,
    PopOptions,
    Producer,
    ProducerOptions,
    PushConsumer,
    TransactionProducer,
    TransactionState,
    blocking,
)
from engine.client.admin.access import acl_of
from engine.errors import BadInput, EngineError, PeerError
from engine.protocol.bodies.auth import UserInfo
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.commands import Command
from tests.engine.client.servers import ROOT, start_broker, start_name_server

FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
BOSS = Credentials("admin-user", "canary-admin-secret")
CLUSTER = Credentials("cluster", "canary-cluster-secret")
WORKER = Credentials("team-a-user", "canary-team-secret")


@dataclass(frozen=True, slots=True)
class SafeCluster:
    namesrv: str
    broker: str
    home: Path


def _account(who: Credentials, **more: object) -> dict[str, object]:
    return {"accessKey": who.access_key, "secretKey": who.secret_key, **more}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SafeCluster]:
    home = tmp_path_factory.mktemp("safe-cluster")
    users = home / "users.yml"
    accounts = [
        _account(BOSS, admin=True),
        _account(WORKER, defaultTopicPerm="PUB|SUB", defaultGroupPerm="SUB"),
    ]
    users.write_text(json.dumps({"accounts": accounts}))
    users.chmod(0o600)
    inner = json.dumps({"accessKey": CLUSTER.access_key, "secretKey": CLUSTER.secret_key})
    safe = {"authenticationEnabled": "true", "authorizationEnabled": "true"}
    safe["innerClientAuthenticationCredentials"] = inner
    name_server = start_name_server(home, **safe, signalboxUserFile=str(users))
    try:
        broker = start_broker(
            home,
            name_server.address,
            **safe,
            initAuthenticationUser=json.dumps({"username": "admin-user", "password": BOSS.secret_key}),
            signalboxSecretKeyFile=str(home / "keys" / "secret.key"),
            traceTopicEnable="true",
        )
        try:
            found = SafeCluster(name_server.address, broker.address, home)
            asyncio.run(_set_up(found))
            yield found
        finally:
            broker.stop()
    finally:
        name_server.stop()
    logs = "".join(path.read_text() for path in home.rglob("*.log"))
    assert "refused" in logs
    assert "canary" not in logs


async def _set_up(cluster: SafeCluster) -> None:
    async with Admin(namesrv=cluster.namesrv, credentials=BOSS) as admin:
        await admin.access.create_user(
            cluster.broker, UserInfo("team-a-user", WORKER.secret_key, "Normal", None)
        )
        resources = ["Topic:a-*", "Group:a-*", "Topic:RMQ_SYS_TRACE_TOPIC"]
        await admin.access.create_acl(cluster.broker, acl_of("team-a-user", resources, ["Pub", "Sub", "Get"]))
        for topic in ("a-orders", "a-popped", "a-halves", "b-secret"):
            await admin.topics.create(cluster.broker, TopicConfig(topic, 1, 1))


async def test_the_broker_registers_with_the_clusters_credential(cluster: SafeCluster) -> None:
    async with Admin(namesrv=cluster.namesrv, credentials=WORKER) as admin:
        assert await admin.cluster.masters() == [cluster.broker]


async def test_producer_and_push_consumer(cluster: SafeCluster) -> None:
    seen: asyncio.Queue[bytes] = asyncio.Queue()

    async def listen(message: object) -> None:
        seen.put_nowait(message.body)  # type: ignore[attr-defined]

    options = ConsumerOptions(from_where=FIRST)
    consumer = PushConsumer("a-push", listen, namesrv=cluster.namesrv, options=options, credentials=WORKER)
    consumer.subscribe("a-orders")
    traced = ProducerOptions(trace=True)
    async with (
        Producer("p", namesrv=cluster.namesrv, credentials=WORKER, options=traced) as producer,
        consumer,
    ):
        await producer.send(Message("a-orders", b"one"))
        await producer.send_batch([Message("a-orders", b"two"), Message("a-orders", b"three")])
        async with asyncio.timeout(20):
            assert {await seen.get() for _ in range(3)} == {b"one", b"two", b"three"}


async def test_lite_pull_and_pop_consumers(cluster: SafeCluster) -> None:
    async with Producer("p", namesrv=cluster.namesrv, credentials=WORKER, acks=0) as producer:
        await producer.send(Message("a-popped", b"one-way"))
    lite = LitePullConsumer(
        "a-lite", namesrv=cluster.namesrv, credentials=WORKER, options=LitePullOptions(from_where=FIRST)
    )
    lite.subscribe("a-popped")
    async with lite, asyncio.timeout(20):
        while not (found := await lite.poll()):
            pass
        assert [message.body for message in found] == [b"one-way"]
    pop = PopConsumer(
        "a-pop", namesrv=cluster.namesrv, credentials=WORKER, options=PopOptions(from_where=FIRST)
    )
    pop.subscribe("a-popped")
    async with pop, asyncio.timeout(20):
        while not (popped := await pop.receive()):
            pass
        await pop.ack(popped[0])


async def test_transactions(cluster: SafeCluster) -> None:
    producer = TransactionProducer(
        "a-tx", lambda message: TransactionState.COMMIT, namesrv=cluster.namesrv, credentials=WORKER
    )
    async with producer, Admin(namesrv=cluster.namesrv, credentials=WORKER) as admin:
        half = Message("a-halves", b"half")
        await producer.send_in_transaction(half, lambda message: TransactionState.COMMIT)
        async with asyncio.timeout(10):
            while not await _count(admin, "a-halves"):
                await asyncio.sleep(0.05)


async def _count(admin: Admin, topic: str) -> int:
    return sum(offset.max_offset for offset in (await admin.topics.stats(topic)).offset_table.values())


async def test_an_instance_has_its_credentials_in_its_options(cluster: SafeCluster) -> None:
    options = ClientOptions(credentials=WORKER)
    async with (
        ClientInstance(cluster.namesrv, options) as instance,
        Producer("p", instance=instance) as producer,
    ):
        assert (await producer.send(Message("a-orders", b"shared"))).msg_id
        with pytest.raises(BadInput):
            Producer("q", instance=instance, credentials=WORKER)


def test_the_blocking_face(cluster: SafeCluster) -> None:
    with blocking.Producer("p", namesrv=cluster.namesrv, credentials=WORKER) as producer:
        producer.send(Message("a-orders", b"blocking"))
    with blocking.Admin(namesrv=cluster.namesrv, credentials=BOSS) as admin:
        assert [user.username for user in admin.access.users(cluster.broker)] == [
            "admin-user",
            "cluster",
            "team-a-user",
        ]


@pytest.mark.parametrize(
    ("who", "topic"),
    [
        (None, "a-orders"),
        (Credentials("team-a-user", "wrong secret"), "a-orders"),
        (Credentials("nobody-here", WORKER.secret_key), "a-orders"),
        (WORKER, "b-secret"),
    ],
)
async def test_who_may_not_is_refused(cluster: SafeCluster, who: Credentials | None, topic: str) -> None:
    async with Producer("p", namesrv=cluster.namesrv, credentials=who) as producer:
        with pytest.raises(EngineError) as refused:
            await producer.send(Message(topic, b"x"))
        assert refused.value.code == 16


async def test_name_servers_take_registrations_from_the_cluster_alone(cluster: SafeCluster) -> None:
    """Route poisoning: an evil broker with the name of a good one, unregistering others, wiping."""
    for who in (None, WORKER):
        options = ClientOptions(credentials=who)
        async with ClientInstance(cluster.namesrv, options) as instance:
            for code, fields in (
                (103, {"brokerName": "client-a", "brokerAddr": "6.6.6.6:1", "clusterName": "ClientCluster",
                       "haServerAddr": "6.6.6.6:2", "brokerId": "0"}),
                (104, {"brokerName": "client-a", "brokerAddr": cluster.broker, "clusterName": "ClientCluster",
                       "brokerId": "0"}),
                (205, {"brokerName": "client-a"}),
                (216, {"topic": "a-orders"}),
                (100, {"namespace": "n", "key": "k", "value": "v"}),
                (318, {}),
            ):  # fmt: skip
                answer = await instance.name_servers.request(Command(code, fields=dict(fields)))
                assert answer.code == 16, (who, code)
    async with Admin(namesrv=cluster.namesrv, credentials=BOSS) as admin:
        assert await admin.cluster.masters() == [cluster.broker]


async def test_a_revoked_user_is_out_and_a_restored_one_in(cluster: SafeCluster) -> None:
    async with (
        Admin(namesrv=cluster.namesrv, credentials=BOSS) as admin,
        Producer("p", namesrv=cluster.namesrv, credentials=WORKER) as producer,
    ):
        await producer.send(Message("a-orders", b"before"))
        await admin.access.update_user(cluster.broker, UserInfo("team-a-user", None, None, "disable"))
        with pytest.raises(PeerError, match="disabled"):
            await producer.send(Message("a-orders", b"while"))
        await admin.access.update_user(cluster.broker, UserInfo("team-a-user", None, None, "enable"))
        await producer.send(Message("a-orders", b"after"))


def command_line(
    cluster: SafeCluster, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "engine.admin", *arguments, "-n", cluster.namesrv],
        cwd=ROOT,
        env={"PATH": "", **environment},
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_the_command_line_signs_by_environment_file_or_options(cluster: SafeCluster, tmp_path: Path) -> None:
    ask = ("listUser", "-b", cluster.broker, "--json")
    keys = {"SIGNALBOX_ACCESS_KEY": "admin-user", "SIGNALBOX_SECRET_KEY": BOSS.secret_key}
    tools = tmp_path / "conf" / "tools.yml"
    tools.parent.mkdir()
    tools.write_text(f"accessKey: admin-user\nsecretKey: {BOSS.secret_key}\n")
    for done in (
        command_line(cluster, *ask, **keys),
        command_line(cluster, *ask, "--credentials", str(tools)),
        command_line(cluster, *ask, ROCKETMQ_HOME=str(tmp_path)),
        command_line(cluster, *ask, "-ak", "admin-user", "-sk", BOSS.secret_key),
    ):
        assert done.returncode == 0, done.stderr
        assert "team-a-user" in done.stdout
        assert "canary" not in done.stdout + done.stderr
    refused = command_line(cluster, *ask)
    assert refused.returncode == 1 and "NO_PERMISSION" in refused.stderr


def test_users_and_policies_by_command_line(cluster: SafeCluster, tmp_path: Path) -> None:
    keys = {"SIGNALBOX_ACCESS_KEY": "admin-user", "SIGNALBOX_SECRET_KEY": BOSS.secret_key}
    secret = tmp_path / "secret"
    secret.write_text("canary-carols-secret\n")

    def run(*arguments: str) -> str:
        done = command_line(cluster, *arguments, "--json", **keys)
        assert done.returncode == 0, done.stderr
        assert "canary" not in done.stdout + done.stderr
        return done.stdout

    run("createUser", "-c", "ClientCluster", "-u", "carol", "-pf", str(secret), "-t", "Normal")
    run("createAcl", "-b", cluster.broker, "-s", "User:carol", "-r", "Topic:c-*,Group:c-*", "-a", "Pub,Sub")
    denied = ("-r", "Topic:c-*", "-a", "Pub", "-i", "10.0.0.0/8", "-d", "Deny")
    run("updateAcl", "-b", cluster.broker, "-s", "carol", *denied)
    shown = json.loads(run("getAcl", "-b", cluster.broker, "-s", "carol"))
    assert [(row["resource"], row["actions"], row["sourceip"], row["decision"]) for row in shown] == [
        ("Topic:c-*", "Pub", "10.0.0.0/8", "Deny"),
        ("Group:c-*", "Pub,Sub", "", "Allow"),
    ]
    run("updateUser", "-b", cluster.broker, "-u", "carol", "-s", "disable")
    assert json.loads(run("getUser", "-b", cluster.broker, "-u", "carol"))[0]["userstatus"] == "disable"
    run("deleteAcl", "-b", cluster.broker, "-s", "carol", "-r", "Topic:c-*")
    assert len(json.loads(run("listAcl", "-b", cluster.broker, "-s", "carol"))) == 1
    run("copyUser", "-f", cluster.broker, "-t", cluster.broker, "-u", "carol")
    run("copyAcl", "-f", cluster.broker, "-t", cluster.broker, "-s", "carol")
    run("deleteUser", "-b", cluster.broker, "-u", "carol")

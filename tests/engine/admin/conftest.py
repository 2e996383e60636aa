"""One name server, one broker and one broker group with access control for all tests of the command line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TypeVar

import pytest

from engine.client import (
    Credentials,
    Message,
    MessageQueue,
    ProducerOptions,
    blocking,
)
from tests.engine.admin.command_line import CommandLine, Names
from tests.engine.client.servers import Daemon, start_broker, start_name_server

ADMINISTRATOR = Credentials("administrator", "canary-administrator")
CLUSTER_ACCOUNT = Credentials("cluster", "canary-cluster")
PATIENCE_S = 30.0
T = TypeVar("T")


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Names]:
    """`administration`: changes must be signed, everything else is open."""
    home = tmp_path_factory.mktemp("admin-cluster")
    keys = {"accessKey": CLUSTER_ACCOUNT.access_key, "secretKey": CLUSTER_ACCOUNT.secret_key}
    access = {
        "signalboxAccessControl": "administration",
        "innerClientAuthenticationCredentials": json.dumps(keys),
    }
    accounts = [{"accessKey": ADMINISTRATOR.access_key, "secretKey": ADMINISTRATOR.secret_key, "admin": True}]
    (home / "users.yml").write_text(json.dumps({"accounts": accounts}))
    (home / "secret").write_text("one secret for the members of the group\n")
    (home / "password").write_text("canary-password\n")
    for name in ("users.yml", "secret", "password"):
        (home / name).chmod(0o600)
    user = {"username": ADMINISTRATOR.access_key, "password": ADMINISTRATOR.secret_key}
    settings = access | {
        "brokerClusterName": "AdminCluster",
        "initAuthenticationUser": json.dumps(user),
        "signalboxSecretKeyFile": str(home / "secret.key"),
        "traceTopicEnable": "true",
    }
    group = settings | {"signalboxClusterSecretFile": str(home / "secret")}
    with ExitStack() as running:

        def started(daemon: Daemon) -> str:
            running.callback(daemon.stop)
            return daemon.address

        namesrv = started(start_name_server(home, **access, signalboxUserFile=str(home / "users.yml")))
        broker = started(start_broker(home, namesrv, "admin-a", **settings))
        master = started(start_broker(home, namesrv, "admin-g", **group))
        (home / "slave").mkdir()
        follower = {"brokerId": "1", "brokerRole": "SLAVE"}
        slave = started(start_broker(home / "slave", namesrv, "admin-g", **group | follower))
        yield {
            "namesrv": namesrv,
            "cluster": "AdminCluster",
            "broker": broker,
            "broker_name": "admin-a",
            "master": master,
            "slave": slave,
            "group_name": "admin-g",
            "password_file": str(home / "password"),
            "password": "canary-password",
        }


@pytest.fixture(scope="session")
def command_line(servers: Names) -> CommandLine:
    return CommandLine(servers["namesrv"], ADMINISTRATOR)


@pytest.fixture(scope="session")
def stage(servers: Names, command_line: CommandLine) -> Iterator[Names]:
    """A topic with messages, groups with offsets, a consumer and a producer that stay online."""
    run = command_line.done
    for topic in ("orders", "watched"):
        run(f"updateTopic -b {servers['broker']} -t {topic} -r 2 -w 2")
    for group in ("billing", "online"):
        run(f"updateSubGroup -b {servers['broker']} -g {group}")
    namesrv = servers["namesrv"]
    with ExitStack() as online:
        producer = online.enter_context(
            blocking.Producer("shop", namesrv=namesrv, options=ProducerOptions(trace=True))
        )
        message = Message("orders", b"hi there", "tagA", ["order-1", "first"])
        sent = producer.send(message, queue=MessageQueue("orders", "admin-a", 0))
        producer.send(Message("orders", b"\xff\x00"), queue=MessageQueue("orders", "admin-a", 0))
        run("skipAccumulatedMessage -g billing -t orders")
        run("skipAccumulatedMessage -g online -t watched")
        run(f"resetOffsetByTime -g billing -t orders -b {servers['broker']} -q 0 -o 1")
        consumer = blocking.PushConsumer("online", lambda _: None, namesrv=namesrv)
        consumer.subscribe("watched", "tagA || tagB")
        online.enter_context(consumer)
        (client,) = until(lambda: command_line.json("consumerConnection -g online")["connectionSet"])
        until(lambda: len(consumer.assignment()) == 3)
        until(lambda: command_line.run(f"queryMsgTraceById -i {sent.msg_id}").status == 0)
        until(
            lambda: command_line.json(f"haStatus -b {servers['master']}")[servers["master"]][
                "inSyncSlaveNums"
            ]
        )
        details = command_line.json(f"queryMsgByUniqueKey -t orders -i {sent.msg_id}")
        yield servers | {
            "topic": "orders",
            "group": "billing",
            "online": "online",
            "client": client["clientId"],
            "message": sent.msg_id,
            "offset_id": details["OffsetID"],
        }


def until(ask: Callable[[], T]) -> T:
    """What the servers say once it is true: registrations, traces and rebalancing take a moment."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := ask()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found

"""Failures of a command line that is well formed: credentials, certificates, servers that are away."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.admin.main import main
from engine.client import ClientInstance, ClientOptions, blocking
from engine.client.admin.groups import GroupAdmin
from engine.errors import PeerTimeout
from engine.protocol.bodies.registration import RegisterBrokerBody
from engine.protocol.bodies.stats import ConsumeStats
from engine.protocol.codes import RequestCode
from engine.protocol.headers.namesrv import RegisterBrokerRequest
from tests.engine.admin.command_line import CommandLine, Names, read_table
from tests.engine.admin.conftest import CLUSTER_ACCOUNT, until

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("options", "status", "error"),
    [
        ("--unsigned", 1, "NO_PERMISSION (16)"),
        ("-ak administrator -sk wrong", 1, "NO_PERMISSION (16)"),
        ("-ak stranger -sk wrong", 1, "NO_PERMISSION (16)"),
        ("--credentials /nothing/here.yml", 2, "/nothing/here.yml cannot be read: No such file or directory"),
        ("--credentials {readme}", 2, "is not YAML with accessKey and secretKey"),
        ("--tls-ca /nothing/here.pem", 2, "/nothing/here.pem cannot be read: No such file or directory"),
        ("--tls", 1, "no name server answers"),
    ],
)
def test_without_the_right_credentials_nothing_is_changed(
    command_line: CommandLine, servers: Names, options: str, status: int, error: str
) -> None:
    options = options.format(readme=ROOT / "README.md")
    outcome = command_line.run(f"updateTopic -c {servers['cluster']} -t not-created {options}")
    assert error in outcome.error()
    assert outcome.status == status
    assert "not-created" not in command_line.done("topicList")


def test_half_a_credential_is_wrong_use(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNALBOX_SECRET_KEY", "x")
    assert main(["topicList"]) == 2
    assert capsys.readouterr().err == "error: a secret key was given without its access key\n"
    monkeypatch.delenv("SIGNALBOX_SECRET_KEY")
    assert main(["topicList", "-ak", "x"]) == 2
    assert capsys.readouterr().err == "error: an access key was given without its secret key\n"


def test_a_silent_server_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert main(["topicList", "-n", address, "--timeout", "100"]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: no name server answers: ") and err.count("\n") == 1


@pytest.fixture
def absent_broker(servers: Names, command_line: CommandLine) -> Iterator[str]:
    """Registered by a connection that stays open, at an address where nobody listens."""
    loop, address = blocking.LoopThread(), "127.0.0.1:1"
    options = ClientOptions(credentials=CLUSTER_ACCOUNT)
    header = RegisterBrokerRequest("absent", address, "AbsentCluster", "127.0.0.1:2", 0)
    body = RegisterBrokerBody().encode()
    instance = loop.call(lambda: ClientInstance(servers["namesrv"], options))
    try:
        loop.run(instance.call(servers["namesrv"], RequestCode.REGISTER_BROKER, header, body))
        yield address
    finally:
        loop.run(instance.close())
        loop.close()
        until(lambda: "AbsentCluster" not in command_line.done("clusterList"))


def test_lists_say_which_broker_could_not_be_asked(
    command_line: CommandLine, stage: Names, absent_broker: str
) -> None:
    reason = f"cannot connect to {absent_broker}: Connection refused"
    columns = ["Cluster", "Broker", "BID", "Addr", "Version", "In TPS", "Out TPS", "Disk", "Active"]
    rows = read_table(command_line.done("clusterList"), columns)
    (absent,) = [row for row in rows if row["Broker"] == "absent"]
    assert list(absent.values())[2:] == ["0", absent_broker, *["unknown"] * 4, f"no: {reason}"]
    assert {"admin-a", "admin-g"} < {row["Broker"] for row in rows}
    totals = command_line.json("clusterList -m -c AbsentCluster")
    assert list(totals[0].values()) == ["AbsentCluster", "absent", *["unknown"] * 4]
    config = command_line.json("getConsumerConfig -g billing")
    assert {"broker": absent_broker, "name": "unknown", "value": reason} in config
    assert {"broker": stage["broker"], "name": "groupName", "value": "billing"} in config


def test_the_lag_of_a_group_that_no_broker_tells_is_unknown(
    command_line: CommandLine, stage: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = GroupAdmin.consume_stats_on_broker

    async def time_out(self: GroupAdmin, broker: str, group: str, topic: str | None = None) -> ConsumeStats:
        if group == "billing":
            raise PeerTimeout("no answer in time")
        return await ask(self, broker, group, topic)

    monkeypatch.setattr(GroupAdmin, "consume_stats_on_broker", time_out)
    rows = {row["group"]: row for row in command_line.json("consumerProgress")}
    assert list(rows["billing"].values()) == [
        "billing",
        "unknown",
        None,
        None,
        "unknown",
        "no answer in time",
    ]
    assert rows["online"]["count"] == 1

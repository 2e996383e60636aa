"""Java consumers keep reading from a slave while the master is dead, and go back to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from . import signalbox
from .clusters import BROKER_DEFAULTS, CLUSTER_NAME, Cluster, running
from .jars import CLIENT_VERSIONS
from .java_client import JavaClient
from .processes import Server, free_port_base
from .received import bodies, numbered
from .remoting import call, create_topic, is_listening

COUNT, QUEUES = 40, 4
GROUP, TOPIC = "slave-readers", "slave-reads"
_QUERY_CONSUMER_OFFSET, _GET_MAX_OFFSET, _GET_MEMBERS, _GET_HA_STATUS = 14, 30, 901, 907
_TIMEOUT_S = 60.0


class Slave:
    """One slave of the cluster's broker; all its members share a secret."""

    def __init__(self, cluster: Cluster, home: Path, secret: Path) -> None:
        home.mkdir()
        self.port = free_port_base()
        settings = {
            **BROKER_DEFAULTS,
            "brokerId": "1",
            "brokerRole": "SLAVE",
            "slaveReadEnable": "true",
            "listenPort": str(self.port),
            "storePathRootDir": str(home / "store"),
            "signalboxClusterSecretFile": str(secret),
        }
        config = home / "broker.conf"
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self.server: Server = signalbox.launch_broker(config, cluster.name_server, home)
        self.server.wait_until(lambda: is_listening(self.address))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def total(self, code: int) -> int:
        """Of all queues of the topic: the ends (30), or what the group has committed (14)."""
        fields = {"topic": TOPIC, "consumerGroup": GROUP}
        answers = [call(self.address, code, {**fields, "queueId": str(queue)}) for queue in range(QUEUES)]
        return sum(int(answer.fields.get("offset", 0)) for answer in answers if answer.code == 0)


@contextmanager
def running_group(home: Path) -> Iterator[tuple[Cluster, Slave]]:
    secret = home / "secret"
    secret.write_text("a secret that both of them know")
    secret.chmod(0o600)
    overrides = {"slaveReadEnable": "true", "signalboxClusterSecretFile": str(secret)}
    with running("signalbox", home / "master", overrides) as cluster:
        slave = Slave(cluster, home / "slave", secret)
        try:
            yield cluster, slave
        finally:
            slave.server.kill()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.2)


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
def test_consumers_read_from_a_slave_while_the_master_is_dead(tmp_path: Path, version: str) -> None:
    with running_group(tmp_path) as (cluster, slave):
        create_topic(cluster.broker, TOPIC, queues=QUEUES)
        java = JavaClient(version, cluster.name_server, tmp_path / "client")
        try:
            java.do("push-start", name="first", group=GROUP, topic=TOPIC)
            java.do("send-sync", topic=TOPIC, count=COUNT, prefix="before")
            assert bodies(java.do("push-wait", name="first", count=COUNT)) == numbered("before", COUNT)
            java.do("push-stop", name="first")
            java.do("send-sync", topic=TOPIC, count=COUNT, prefix="after")
            until(lambda: slave.total(_GET_MAX_OFFSET) == 2 * COUNT)
            until(lambda: slave.total(_QUERY_CONSUMER_OFFSET) == COUNT)

            cluster.kill_broker()
            fields = {"clusterName": CLUSTER_NAME, "brokerName": BROKER_DEFAULTS["brokerName"]}
            until(lambda: cluster.broker.encode() not in call(cluster.name_server, _GET_MEMBERS, fields).body)
            java.do("push-start", name="second", group=GROUP, topic=TOPIC)
            received = java.do("push-wait", name="second", count=COUNT, timeoutMs=60_000)
            assert bodies(received) == numbered("after", COUNT)
            until(lambda: slave.total(_QUERY_CONSUMER_OFFSET) == 2 * COUNT)

            cluster.start_broker()
            # It asks its group first whether it is still the master.
            until(lambda: b'"master":true' in call(cluster.broker, _GET_HA_STATUS).body)
            java.do("send-sync", topic=TOPIC, count=COUNT, prefix="back")
            received = java.do("push-wait", name="second", count=2 * COUNT, timeoutMs=90_000)
            assert set(bodies(received)) == {*numbered("after", COUNT), *numbered("back", COUNT)}
            java.do("push-stop", name="second")
        finally:
            java.close()

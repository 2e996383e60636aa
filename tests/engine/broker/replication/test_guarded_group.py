"""A master and its slave as processes, with access control and the cluster's secret both on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.client import Admin, Credentials, Message, Producer
from engine.client.admin.access import acl_of
from engine.errors import EngineError
from engine.protocol.bodies.auth import UserInfo
from engine.protocol.bodies.topics import TopicConfig
from tests.engine.client.servers import Daemon, start_broker, start_name_server

CLUSTER = Credentials("cluster", "canary-cluster")
ALICE = Credentials("alice", "canary-alice")


@pytest.fixture
def guarded_group(tmp_path: Path) -> Iterator[tuple[str, Daemon, Daemon]]:
    """Name server, master, slave."""
    on = {"authenticationEnabled": "true", "authorizationEnabled": "true"}
    on["innerClientAuthenticationCredentials"] = json.dumps(
        {"accessKey": CLUSTER.access_key, "secretKey": CLUSTER.secret_key}
    )
    (tmp_path / "cluster.secret").write_text("a secret that both brokers have\n")
    (tmp_path / "cluster.secret").chmod(0o600)
    started: list[Daemon] = []
    try:
        # Everybody may look up; registering takes the cluster's credential.
        looks = {"authenticationWhitelist": "105,106", "authorizationWhitelist": "105,106"}
        started.append(start_name_server(tmp_path, **on, **looks))
        for number, role in enumerate(("SYNC_MASTER", "SLAVE")):
            home = tmp_path / role
            home.mkdir()
            started.append(
                start_broker(
                    home,
                    started[0].address,
                    **on,
                    brokerId=str(number),
                    brokerRole=role,
                    signalboxClusterSecretFile=str(tmp_path / "cluster.secret"),
                    signalboxSecretKeyFile=str(tmp_path / "keys" / "secret.key"),
                )
            )
        yield started[0].address, started[1], started[2]
    finally:
        for daemon in reversed(started):
            daemon.stop()


async def test_users_reach_the_slave_and_a_promotion_passes_the_gate(
    guarded_group: tuple[str, Daemon, Daemon],
) -> None:
    name_server, master, slave = guarded_group
    async with Admin(namesrv=name_server, credentials=CLUSTER) as admin, asyncio.timeout(60):
        await admin.access.create_user(master.address, UserInfo("alice", ALICE.secret_key, "Normal", None))
        await admin.access.create_acl(master.address, acl_of("alice", ["Topic:orders"], ["Pub"]))
        await admin.topics.create(master.address, TopicConfig("orders", 1, 1))
        async with Producer("p", namesrv=name_server, credentials=ALICE) as producer:
            await producer.send(Message("orders", b"before"))
        while await admin.access.user(slave.address, "alice") is None:
            await asyncio.sleep(0.2)
        await promote_when_ready(admin, slave.address)
        async with Producer("p", namesrv=name_server, credentials=ALICE) as producer:
            while True:
                try:
                    await producer.send(Message("orders", b"after"))
                    break
                except EngineError:
                    await asyncio.sleep(0.2)


async def promote_when_ready(admin: Admin, slave: str) -> None:
    while True:
        try:
            await admin.broker_groups.promote(slave, wanted=1)
            return
        except EngineError:
            await asyncio.sleep(0.5)


async def test_a_stranger_may_not_promote(guarded_group: tuple[str, Daemon, Daemon]) -> None:
    name_server, _, slave = guarded_group
    for who in (None, Credentials("cluster", "guessed")):
        async with Admin(namesrv=name_server, credentials=who) as admin:
            with pytest.raises(EngineError) as refused:
                await admin.broker_groups.promote(slave.address, wanted=1)
            assert refused.value.code == 16

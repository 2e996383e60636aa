"""A cluster that takes nothing but TLS from clients with certificates, and every face of our client on it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
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
    LitePullConsumer,
    LitePullOptions,
    Message,
    PopConsumer,
    PopOptions,
    Producer,
    PushConsumer,
    TlsOptions,
    TransactionProducer,
    TransactionState,
    blocking,
)
from engine.errors import BadInput, EngineError
from tests.certificates import Authority, serial_in, serial_of
from tests.engine.client.servers import ROOT, Daemon, start_broker, start_name_server

FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET


@dataclass(frozen=True, slots=True)
class TlsCluster:
    name_server: Daemon
    broker: Daemon
    authority: Authority
    tls: TlsOptions
    server_cert: str

    @property
    def namesrv(self) -> str:
        return self.name_server.address


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsCluster]:
    home = tmp_path_factory.mktemp("tls-cluster")
    authority = Authority(home / "ca")
    server, client = authority.issue("server", password="secret"), authority.issue("client")
    (home / "tls.properties").write_text(
        f"tls.server.certPath={server.cert}\ntls.server.keyPath={server.key}\n"
        f"tls.server.keyPassword=secret\ntls.server.trustCertPath={authority.ca}\n"
        "tls.server.need.client.auth=require\n"
        f"tls.client.trustCertPath={authority.ca}\n"
        f"tls.client.certPath={client.cert}\ntls.client.keyPath={client.key}\n"
    )
    settings = {"tls.server.mode": "enforcing", "tls.config.file": str(home / "tls.properties")}
    name_server = start_name_server(home, **settings)
    broker = None
    try:
        broker = start_broker(home, name_server.address, **settings)
        tls = TlsOptions(authority.ca, client.cert, client.key)
        yield TlsCluster(name_server, broker, authority, tls, server.cert)
    finally:
        if broker is not None:
            broker.stop()
        name_server.stop()


async def test_producers_and_all_consumers(cluster: TlsCluster):
    received: asyncio.Queue[bytes] = asyncio.Queue()

    async def listen(message):
        await received.put(message.body)

    where = {"namesrv": cluster.namesrv, "tls": cluster.tls}
    async with Producer("tls-senders", **where) as producer:
        for number in range(20):
            await producer.send(Message("tls-orders", b"%d" % number))
    consumer = PushConsumer("tls-push", listen, options=ConsumerOptions(from_where=FIRST), **where)
    consumer.subscribe("tls-orders")
    async with consumer:
        got = {await asyncio.wait_for(received.get(), 20) for _ in range(20)}
    assert got == {b"%d" % number for number in range(20)}
    lite = LitePullConsumer("tls-lite", options=LitePullOptions(from_where=FIRST), **where)
    lite.subscribe("tls-orders")
    async with lite:
        polled: list[bytes] = []
        while len(polled) < 20:
            polled += [message.body for message in await lite.poll()]
    assert len(polled) == 20
    pops = PopConsumer("tls-pop", options=PopOptions(from_where=FIRST), **where)
    pops.subscribe("tls-orders")
    async with pops:
        popped = {message.body for _ in range(8) for message in await pops.receive(32, wait_ms=1000)}
    assert popped == got


async def test_transactions(cluster: TlsCluster):
    def commit(message):
        return TransactionState.COMMIT

    producer = TransactionProducer(
        "tls-tx", lambda message: TransactionState.COMMIT, namesrv=cluster.namesrv, tls=cluster.tls
    )
    async with producer:
        result = await producer.send_in_transaction(Message("tls-tx-orders", b"x"), commit)
    assert result.state is TransactionState.COMMIT


def test_the_blocking_face(cluster: TlsCluster):
    with blocking.Producer("tls-blocking", namesrv=cluster.namesrv, tls=cluster.tls) as producer:
        assert producer.send(Message("tls-blocking-orders", b"x")).queue_offset == 0
    with blocking.Admin(namesrv=cluster.namesrv, tls=cluster.tls) as admin:
        assert admin.cluster.masters() == [cluster.broker.address]


@pytest.mark.parametrize("flaw", ["plain", "no certificate", "system authorities"])
async def test_nobody_else_is_served(cluster: TlsCluster, flaw: str):
    tls = {"plain": None, "no certificate": TlsOptions(cluster.authority.ca), "system authorities": True}
    for address in (cluster.namesrv, cluster.broker.address):
        async with Admin(namesrv=address, tls=tls[flaw]) as admin:
            with pytest.raises(EngineError):
                await admin.brokers.config(address)
            with pytest.raises(EngineError):
                await admin.name_servers.config(address)


async def test_secrets_are_in_no_listing(cluster: TlsCluster):
    async with Admin(namesrv=cluster.namesrv, tls=cluster.tls) as admin:
        broker = str(await admin.brokers.config(cluster.broker.address))
        name_server = str(await admin.name_servers.config(cluster.namesrv))
    for listing in (broker, name_server):
        assert "tls.server.mode" in listing and "enforcing" in listing
        assert "secret" not in listing and "keyPassword" not in listing


def test_an_instance_decides_for_its_users():
    instance = ClientInstance("127.0.0.1:9876", ClientOptions(tls=None))
    with pytest.raises(BadInput, match="ClientOptions"):
        Producer("orders", instance=instance, tls=True)


# -- the command line ---------------------------------------------------------------------------------------


def admin_command(cluster: TlsCluster, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "engine.admin", "clusterList", "-n", cluster.namesrv, "--json", *options]
    environment = {**os.environ, **environment}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)


def test_the_command_line_speaks_tls(cluster: TlsCluster, tmp_path: Path):
    mine = cluster.authority.issue("operator", password="hidden")
    options = ["--tls-ca", cluster.authority.ca, "--tls-cert", mine.cert, "--tls-key", mine.key]
    done = admin_command(cluster, *options, SIGNALBOX_TLS_KEY_PASSWORD="hidden")
    assert done.returncode == 0, done.stderr
    assert cluster.broker.address in json.dumps(json.loads(done.stdout))
    insecure = ["--tls-insecure", "--tls-cert", mine.cert, "--tls-key", mine.key]
    careless = admin_command(cluster, *insecure, SIGNALBOX_TLS_KEY_PASSWORD="hidden")
    assert careless.returncode == 0
    assert "NOT verified" in careless.stderr
    stranger = admin_command(cluster, "--tls")
    assert (stranger.returncode, stranger.stdout) == (1, "")
    assert "certificate was refused" in stranger.stderr
    wrong = admin_command(cluster, *options, SIGNALBOX_TLS_KEY_PASSWORD="wrong")
    assert wrong.returncode == 2
    assert "cannot be used" in wrong.stderr


# -- rotation -----------------------------------------------------------------------------------------------


def presented(address: str, tls: TlsOptions) -> int:
    host, _, port = address.rpartition(":")
    context = tls.context()
    with (
        socket.create_connection((host, int(port))) as sock,
        context.wrap_socket(sock, server_hostname=host) as stream,
    ):
        return serial_of(stream.getpeercert(binary_form=True) or b"")


async def test_certificates_change_under_load_without_a_lost_connection(cluster: TlsCluster):
    lost: list[str] = []
    async with Producer("tls-rotation", namesrv=cluster.namesrv, tls=cluster.tls) as producer:
        await producer.send(Message("tls-rotation", b"first"))
        for address in (cluster.namesrv, cluster.broker.address):
            connection = producer.instance.requester.connected(address)
            assert connection is not None
            connection.on_close(lambda closed: lost.append(closed.peer_name))
        before = producer.instance.requester.connected(cluster.broker.address)
        stop = asyncio.Event()
        sent = 0

        async def load() -> None:
            nonlocal sent
            while not stop.is_set():
                await producer.send(Message("tls-rotation", os.urandom(1000)))
                sent += 1

        loads = [asyncio.create_task(load()) for _ in range(4)]
        for _ in range(3):
            cluster.authority.issue("server", password="secret")
            wanted = serial_in(cluster.server_cert)
            for address in (cluster.namesrv, cluster.broker.address):
                await until_presented(address, cluster.tls, wanted)
        stop.set()
        await asyncio.gather(*loads)
        assert producer.instance.requester.connected(cluster.broker.address) is before
        assert lost == []
    assert sent > 100


async def until_presented(address: str, tls: TlsOptions, serial: int) -> None:
    for _ in range(100):
        try:
            if await asyncio.to_thread(presented, address, tls) == serial:
                return
        except ssl.SSLError as error:
            pytest.fail(f"a handshake failed while certificates changed: {error}")
        await asyncio.sleep(0.1)
    pytest.fail(f"{address} does not present the new certificate")

"""What a broker tells name servers of its topics."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from engine.broker.failover.role import Role, RoleKind
from engine.broker.process import registration_task as registration
from engine.broker.process.registration_task import Registration, encode_parts
from engine.broker.settings.options import BrokerIdentity, LiveOptions
from engine.broker.topics.topic_table import TopicTable
from engine.daemon.running import stop_tasks
from engine.namesrv.namesrv import Namesrv
from engine.namesrv.options import NamesrvOptions
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.registration import RegisterBrokerBody
from engine.protocol.bodies.routes import TopicRouteData
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer

VERSION = DataVersion(0, 1_000, 7)
TOPICS = ("first", "second", "TBW102")


def topics(count: int) -> dict[str, TopicConfig]:
    return {f"t{number}": TopicConfig(f"t{number}", 4, 4, 6) for number in range(count)}


@pytest.mark.parametrize("compress", [False, True])
def test_all_topics_in_one_body(compress: bool) -> None:
    (body,) = encode_parts(topics(3), VERSION, 6, compress)
    wrapper = RegisterBrokerBody.decode(body).topic_config_serialize_wrapper
    assert wrapper.topic_config_table == topics(3)
    assert wrapper.data_version == VERSION


def test_no_topic_is_still_a_registration() -> None:
    (body,) = encode_parts({}, VERSION, 6, False)
    assert RegisterBrokerBody.decode(body).topic_config_serialize_wrapper.topic_config_table == {}


def test_a_large_table_goes_in_parts_that_differ_in_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "TOPICS_PER_PART", 4)
    parts = [RegisterBrokerBody.decode(body) for body in encode_parts(topics(10), VERSION, 6, False)]
    wrappers = [part.topic_config_serialize_wrapper for part in parts]
    assert [len(wrapper.topic_config_table) for wrapper in wrappers] == [4, 4, 2]
    assert [wrapper.data_version.counter for wrapper in wrappers] == [7, 8, 9]
    together = {name for wrapper in wrappers for name in wrapper.topic_config_table}
    assert together == set(topics(10))


def test_a_broker_that_is_closed_closes_its_topics() -> None:
    (body,) = encode_parts(topics(1), VERSION, 4, False)
    table = RegisterBrokerBody.decode(body).topic_config_serialize_wrapper.topic_config_table
    assert table["t0"].perm == 4


def test_100_000_topics_fit_their_frames() -> None:
    long_names = {name: TopicConfig(name) for name in (f"{number:0127d}" for number in range(20_000))}
    (body,) = encode_parts(long_names, VERSION, 6, False)
    assert len(body) < 16 * 1024 * 1024


class NameServers:
    """Notes the topics that each name server hears of; answers once its gate is open."""

    def __init__(self, *addresses: str) -> None:
        self.gates = {address: asyncio.Event() for address in addresses}
        self.asked = {address: asyncio.Event() for address in addresses}
        self.heard: dict[str, list[set[str]]] = {address: [] for address in addresses}

    async def request(self, address: str, command: Command, timeout_ms: float) -> Command:
        self.asked[address].set()
        await self.gates[address].wait()
        body = RegisterBrokerBody.decode(bytes(command.body))
        self.heard[address].append(set(body.topic_config_serialize_wrapper.topic_config_table))
        return Command(0)

    def connected(self, address: str) -> None:
        return None


def registering(servers: NameServers, table: TopicTable, role: Role | None = None) -> Registration:
    identity = BrokerIdentity("c", "b", "127.0.0.1:1", "127.0.0.1:2")
    return Registration(
        identity, servers.gates, table, LiveOptions(), servers, role or Role(RoleKind.MASTER, 0)
    )  # type: ignore[arg-type]


async def test_a_topic_made_while_the_first_registration_is_answered_is_announced_at_once() -> None:
    servers, table = NameServers("n1"), TopicTable(topics(2))
    made = registering(servers, table)
    starting = asyncio.create_task(made.start())
    await servers.asked["n1"].wait()
    table.put(TopicConfig("late"), 1)
    made.when_announced(lambda: None)
    servers.gates["n1"].set()
    await starting
    async with asyncio.timeout(1):
        while len(servers.heard["n1"]) < 2:
            await asyncio.sleep(0)
    assert servers.heard["n1"] == [{"t0", "t1"}, {"late"}]
    await made.stop()


async def test_all_topics_are_encoded_once_for_each_version(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[int] = []

    def counted(table: dict[str, TopicConfig], *how: Any) -> list[bytes]:
        encoded.append(len(table))
        return encode_parts(table, *how)

    monkeypatch.setattr(registration, "encode_parts", counted)
    servers, table = NameServers("n1"), TopicTable(topics(2))
    servers.gates["n1"].set()
    made = registering(servers, table)
    for _ in range(3):
        await made.register_all()
    assert encoded == [2]
    table.put(TopicConfig("t2"), 1)
    table.take_changed()
    await made.register_all()
    made.live.broker_permission = 4
    await made.register_all()
    assert encoded == [2, 3, 3]
    assert [len(names) for names in servers.heard["n1"]] == [2, 2, 2, 3, 3]


async def test_a_silent_name_server_holds_up_no_news_for_the_other() -> None:
    servers, table = NameServers("silent", "n2"), TopicTable(topics(2))
    servers.gates["n2"].set()
    made = registering(servers, table)
    starting = asyncio.create_task(made.start())
    async with asyncio.timeout(1):
        while not servers.heard["n2"]:
            await asyncio.sleep(0)
    table.put(TopicConfig("news"), 1)
    announced = asyncio.Event()
    made.when_announced(announced.set)
    async with asyncio.timeout(0.5):
        await announced.wait()
    assert servers.heard["n2"] == [{"t0", "t1"}, {"news"}]
    assert servers.heard["silent"] == []
    starting.cancel()
    await made.stop()


async def test_single_topics_leave_the_routes_of_the_others_alone(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    options = NamesrvOptions(
        listen_port=0, kv_config_path=str(tmp_path / "kv"), delete_topic_with_broker_registration=True
    )
    server = Namesrv(options)
    await server.start()
    where = "{}:{}".format(*server.address)
    broker = await start_broker(namesrvAddr=where, enableSingleTopicRegister="true")
    producer, names = Peer(broker.address), Peer(where)
    for topic in ("first", "second"):
        await producer.send(topic)
    found = [await names.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}) for topic in TOPICS]
    assert [answer.code for answer in found] == [0, 0, 0]
    (queues,) = TopicRouteData.decode(found[0].body).queue_datas
    assert (queues.broker_name, queues.write_queue_nums, queues.perm) == ("broker-a", 4, 6)
    await producer.close()
    await names.close()
    await broker.stop()
    await server.stop()


class Telling(NameServers):
    """Name servers that know a master, each its own."""

    masters: dict[str, str | None]
    versions: list[DataVersion]

    async def request(self, address: str, command: Command, timeout_ms: float) -> Command:
        body = RegisterBrokerBody.decode(bytes(command.body))
        self.versions.append(body.topic_config_serialize_wrapper.data_version)
        self.ids.append(command.fields["brokerId"])
        master = self.masters[address]
        fields = {} if master is None else {"masterAddr": master, "haServerAddr": f"ha-of-{master}"}
        return Command(0, fields=fields)

    def __init__(self, **masters: str | None) -> None:
        super().__init__(*masters)
        self.masters = masters
        self.versions = []
        self.ids: list[str] = []


async def test_a_slave_learns_its_master_from_any_name_server() -> None:
    servers, role = Telling(n1="10.0.0.1:10911", n2=None), Role(RoleKind.SLAVE, 2)
    made = registering(servers, TopicTable(topics(2)), role)
    await made.register_all()
    assert (role.master_address, role.is_master_alive) == ("10.0.0.1:10911", True)
    assert role.master_ha_address == "ha-of-10.0.0.1:10911"
    assert servers.ids == ["2", "2"]
    servers.masters["n1"] = None
    await made.register_all()
    assert (role.master_address, role.is_master_alive) == ("10.0.0.1:10911", False)


async def test_a_slave_without_a_master_asks_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was started before its master: half a minute until the next registration would be long."""
    monkeypatch.setattr(registration, "RETRY_S", 0.01)
    servers, role = Telling(n1=None), Role(RoleKind.SLAVE, 2)
    made = registering(servers, TopicTable(topics(2)), role)
    await made.start()
    servers.masters["n1"] = "10.0.0.1:10911"
    async with asyncio.timeout(5):
        while role.master_address is None:
            await asyncio.sleep(0.01)
    told = len(servers.ids)
    await asyncio.sleep(0.05)
    assert len(servers.ids) == told
    servers.masters.clear()
    await stop_tasks(made._task)


async def test_the_epoch_is_the_state_version_that_name_servers_compare() -> None:
    servers, role = Telling(n1=None), Role(RoleKind.SLAVE, 1)
    role.become(RoleKind.MASTER, 0, 7, None)
    await registering(servers, TopicTable(topics(1), VERSION), role).register_all()
    assert servers.versions == [DataVersion(7, VERSION.timestamp, VERSION.counter)]
    assert servers.ids == ["0"]

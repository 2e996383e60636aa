"""Tells every name server who this broker is and which topics it has, over long connections.

All name servers in parallel: at start, every 30 s, and at once after a topic changed (then only what
changed). One that failed gets everything at the next try; one that hangs holds up no other. A table too large
for one frame goes in parts, each with a version of its own, so that no part is taken for one that is already
known. Encoding happens in a thread.

A name server with deleteTopicWithBrokerRegistration takes what a registration leaves out for deleted. With
enableSingleTopicRegister changed topics are therefore told one by one (217); such a name server and a table
in parts do not go together, as with RocketMQ's enableSplitRegistration.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from msgspec import structs

from engine.broker.failover.role import Role, RoleKind
from engine.broker.settings.options import BrokerIdentity, LiveOptions
from engine.broker.topics.topic_table import TopicTable
from engine.daemon.background_tasks import start_task, stop_tasks
from engine.errors import EngineError
from engine.net.connection import Connection
from engine.net.requester import Requester
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.registration import RegisterBrokerBody, body_crc32
from engine.protocol.bodies.routes import QueueData, TopicRouteData
from engine.protocol.bodies.topics import (
    PERM_READ_WRITE,
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
)
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.namesrv import (
    QueryDataVersionRequest,
    QueryDataVersionResponse,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    RegisterTopicRequest,
    UnregisterBrokerRequest,
)

log = logging.getLogger(__name__)

TOPICS_PER_PART = 20_000
REQUEST_TIMEOUT_MS = 3_000
RETRY_S = 2.0
ANNOUNCE_TIMEOUT_S = 1.0
"""How long the answer to a new topic waits for name servers: a dead one must not hold up producers."""


@dataclass(eq=False, repr=False)
class Registration:
    identity: BrokerIdentity
    name_servers: Iterable[str]
    topics: TopicTable
    live: LiveOptions
    requester: Requester
    role: Role
    _masters: dict[str, str | None] = field(default_factory=dict, init=False)
    """Name server to the master that it knows of."""
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _announcing: asyncio.Task[None] | None = field(default=None, init=False)
    _again: asyncio.Task[None] | None = field(default=None, init=False)
    _encoded: tuple[tuple[DataVersion, int, bool], list[Command]] | None = field(default=None, init=False)
    """The last registration of all topics, and what it was made of."""

    def __post_init__(self) -> None:
        self._known: dict[str, bool] = dict.fromkeys(self.name_servers, False)
        """Name server to whether it has heard everything once."""
        self._turns = {address: asyncio.Lock() for address in self._known}
        """What one name server is told stays in order; a silent one keeps only its own lock."""

    async def start(self) -> None:
        """One round (a name server that is down does not stop it), then on and on."""
        self.topics.take_changed()
        await self.register_all()
        self._task = start_task(self._register_forever(), "register")

    async def stop(self) -> None:
        await stop_tasks(self._task, self._announcing)
        await asyncio.gather(*map(self._unregister, self._known))

    def lost(self, address: str, connection: Connection) -> None:
        """A name server forgets this broker with the connection; a slave knows that its master is gone."""
        if address in self._known:
            self._known[address] = False
            self._masters.pop(address, None)
        if address == self.role.master_address:
            self.role.is_master_alive = False

    def connection(self) -> Connection | None:
        """To a name server that is there."""
        found = map(self.requester.connected, self._known)
        return next((connection for connection in found if connection is not None), None)

    async def _register_forever(self) -> None:
        while True:
            waited_s = 0.0
            while waited_s < self.live.register_name_server_period / 1000:
                await asyncio.sleep(RETRY_S)
                waited_s += RETRY_S
                if again := self._to_try_again():
                    await self._register_at(again)
            await self.register_all()

    def _to_try_again(self) -> list[str]:
        """Those that failed; all while this is a slave that no name server could name a master to: the answer
        to a registration is where it hears of one."""
        is_lost = self.role.kind is RoleKind.SLAVE and self.role.master_address is None
        return [address for address, known in self._known.items() if is_lost or not known]

    def register_soon(self) -> None:
        self._again = start_task(self.register_all(), "register again")

    async def register_all(self) -> None:
        await self._register_at(list(self._known))

    async def _register_at(self, addresses: list[str]) -> None:
        """Everything, to these name servers."""
        await asyncio.gather(*map(self._register_fully, addresses))
        # What changed while the answers were awaited was not in it, and perhaps nobody was known then.
        if self.topics.has_changed() and any(self._known.values()):
            self._start_announcing()

    async def _register_fully(self, address: str) -> None:
        async with self._turns[address]:
            await self._register(address, await self._all_commands())

    def when_announced(self, done: Callable[[], None]) -> None:
        """Call `done` once the name servers know of all topics, or after a second at the latest."""
        if not any(self._known.values()):
            done()
            return
        loop = asyncio.get_running_loop()
        announcing = self._start_announcing()
        waiting = [done]
        timer = loop.call_later(ANNOUNCE_TIMEOUT_S, _call_once, waiting)

        def announced(task: asyncio.Task[None]) -> None:
            timer.cancel()
            _call_once(waiting)

        announcing.add_done_callback(announced)

    def _start_announcing(self) -> asyncio.Task[None]:
        if self._announcing is None or self._announcing.done():
            self._announcing = start_task(self._announce(), "announce topics")
        return self._announcing

    async def _announce(self) -> None:
        """What changed, to those who know the rest; one that lost its memory meanwhile gets everything."""
        while self.topics.has_changed():
            known = [address for address, is_known in self._known.items() if is_known]
            changed = self.topics.take_changed()
            # A name server believes such a word of anybody: only a master may say it.
            if self.live.enable_single_topic_register and self.role.is_master:
                commands = [self._topic_command(topic) for topic in changed.values()]
            else:
                commands = await self._commands(changed, self._version())
            await asyncio.gather(*(self._register_change(address, commands) for address in known))

    async def _register_change(self, address: str, commands: list[Command]) -> None:
        async with self._turns[address]:
            await self._register(address, commands)
        if not self._known[address]:
            await self._register_fully(address)

    # -- one name server ------------------------------------------------------------------------------------

    async def _register(self, address: str, commands: list[Command]) -> None:
        try:
            if not self.live.force_register and self._known[address] and not await self._is_stale(address):
                return
            for command in commands:
                # A copy: the requester numbers it, and others are sent the same.
                answer = await self._request(address, replace(command))
                if command.code == RequestCode.REGISTER_BROKER:
                    self._hear(address, RegisterBrokerResponse.decode(answer.fields))
        except EngineError as error:
            if self._known[address]:
                log.warning("registering at %s failed: %s", address, error.text)
            self._known[address] = False
        else:
            if not self._known[address]:
                log.info("registered at %s", address)
            self._known[address] = True

    def _hear(self, address: str, answer: RegisterBrokerResponse) -> None:
        """A slave is told who its master is; gone is the master that no name server knows any more."""
        self._masters[address] = answer.master_addr or None
        if answer.master_addr:
            self.role.update_master(answer.master_addr, answer.ha_server_addr)
        elif not any(self._masters.values()):
            self.role.update_master(None, None)

    def _version(self) -> DataVersion:
        """With the epoch, so that name servers know an old master when they hear one."""
        return structs.replace(self.topics.version, state_version=self.role.epoch)

    async def _is_stale(self, address: str) -> bool:
        who = self.identity
        header = QueryDataVersionRequest(who.name, who.address, who.cluster, self.role.broker_id)
        body = self._version().encode()
        answer = await self._request(
            address, Command(RequestCode.QUERY_DATA_VERSION, fields=header.encode(), body=body)
        )
        return QueryDataVersionResponse.decode(answer.fields).changed

    async def _unregister(self, address: str) -> None:
        who = self.identity
        header = UnregisterBrokerRequest(who.name, who.address, who.cluster, self.role.broker_id)
        if self.requester.connected(address) is None:
            return
        try:
            await self.requester.request(
                address, Command(RequestCode.UNREGISTER_BROKER, fields=header.encode()), 1_000
            )
        except EngineError as error:
            log.warning("unregistering at %s failed: %s", address, error.text)

    async def _request(self, address: str, command: Command) -> Command:
        answer = await self.requester.request(address, command, REQUEST_TIMEOUT_MS)
        if answer.code != 0:
            raise EngineError(f"answered {answer.code}: {answer.remark}", code=answer.code)
        return answer

    # -- what is sent ---------------------------------------------------------------------------------------

    def _register_command(self, body: bytes) -> Command:
        who = self.identity
        header = RegisterBrokerRequest(
            broker_name=who.name,
            broker_addr=who.address,
            cluster_name=who.cluster,
            ha_server_addr=who.ha_address,
            broker_id=self.role.broker_id,
            compressed=self.live.compressed_register,
            body_crc32=body_crc32(body),
        )
        return Command(RequestCode.REGISTER_BROKER, fields=header.encode(), body=body)

    def _topic_command(self, topic: TopicConfig) -> Command:
        """One topic by itself: it says nothing about the others, as a registration would."""
        queues = QueueData(
            self.identity.name,
            topic.read_queue_nums,
            topic.write_queue_nums,
            topic.perm & self.live.broker_permission,
            topic.topic_sys_flag,
        )
        header = RegisterTopicRequest(topic=topic.topic_name)
        body = TopicRouteData(queue_datas=(queues,)).encode()
        return Command(RequestCode.REGISTER_TOPIC_IN_NAMESRV, fields=header.encode(), body=body)

    async def _all_commands(self) -> list[Command]:
        """Every topic. Encoding 100,000 takes half a second, so it is done once for each version."""
        wanted = self._version(), self.live.broker_permission, self.live.compressed_register
        if self._encoded is None or self._encoded[0] != wanted:
            self._encoded = None
            self._encoded = wanted, await self._commands(self.topics.configs(), wanted[0])
        return [self._register_command(bytes(command.body)) for command in self._encoded[1]]

    async def _commands(self, topics: dict[str, TopicConfig], version: DataVersion) -> list[Command]:
        permission, compress = self.live.broker_permission, self.live.compressed_register
        loop = asyncio.get_running_loop()
        bodies = await loop.run_in_executor(None, encode_parts, topics, version, permission, compress)
        return [self._register_command(body) for body in bodies]


def encode_parts(
    topics: dict[str, TopicConfig], version: DataVersion, permission: int, compress: bool
) -> list[bytes]:
    """The registration bodies of a table; a broker that is closed in part closes all of its topics."""
    if permission != PERM_READ_WRITE:
        topics = {
            name: structs.replace(topic, perm=topic.perm & permission) for name, topic in topics.items()
        }
    names = list(topics)
    bodies: list[bytes] = []
    for number, start in enumerate(range(0, max(1, len(names)), TOPICS_PER_PART)):
        part = {name: topics[name] for name in names[start : start + TOPICS_PER_PART]}
        part_version = structs.replace(version, counter=version.counter + number)
        wrapper = TopicConfigAndMappingSerializeWrapper(part, part_version)
        bodies.append(RegisterBrokerBody(wrapper).encode(compress))
    return bodies


def _call_once(waiting: list[Callable[[], None]]) -> None:
    while waiting:
        waiting.pop()()

"""Registers this broker and its topics with every name server, over long connections.

All name servers in parallel: at start, every 30 s, and at once after a topic changed (then only the changed
topics). One that failed gets everything at the next try; one that hangs does not delay the others. A table
too large for one frame is sent in parts, each with its own version, so that no part is taken for one that is
already known. Encoding happens in a thread.

A name server with deleteTopicWithBrokerRegistration deletes the topics that a registration leaves out. With
enableSingleTopicRegister changed topics are therefore registered one by one (217); such a name server cannot
be combined with a table in parts, as with RocketMQ's enableSplitRegistration.
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
from engine.daemon.running import start_task, stop_tasks
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
"""How long the answer to a new topic waits for name servers: a dead one must not delay producers."""


@dataclass(eq=False, repr=False)
class Registration:
    identity: BrokerIdentity
    name_servers: Iterable[str]
    topics: TopicTable
    live: LiveOptions
    requester: Requester
    role: Role
    _masters: dict[str, str | None] = field(default_factory=dict, init=False)
    """Name server: the master that it knows."""
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _announcing: asyncio.Task[None] | None = field(default=None, init=False)
    _again: asyncio.Task[None] | None = field(default=None, init=False)
    _encoded: tuple[tuple[DataVersion, int, bool], list[Command]] | None = field(default=None, init=False)
    """The last registration of all topics, and what it was made of."""

    def __post_init__(self) -> None:
        self._known: dict[str, bool] = dict.fromkeys(self.name_servers, False)
        """Name server: whether it knows all topics."""
        self._turns = {address: asyncio.Lock() for address in self._known}
        """Requests to one name server stay in order; one that does not answer holds only its own lock."""

    async def start(self) -> None:
        """One round (a name server that is down does not stop it), then a round every 30 s."""
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
                if again := self._to_retry():
                    await self._register_at(again)
            await self.register_all()

    def _to_retry(self) -> list[str]:
        """The name servers that failed; all of them while this is a slave without a known master, because the
        answer to a registration names the master."""
        is_lost = self.role.kind is RoleKind.SLAVE and self.role.master_address is None
        return [address for address, known in self._known.items() if is_lost or not known]

    def register_soon(self) -> None:
        self._again = start_task(self.register_all(), "register again")

    async def register_all(self) -> None:
        await self._register_at(list(self._known))

    async def _register_at(self, addresses: list[str]) -> None:
        """Register all topics at these name servers."""
        await asyncio.gather(*map(self._register_fully, addresses))
        # Topics that changed while the answers were awaited were not part of the registration.
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
        """Changed topics, to name servers that know the rest; one that has restarted gets everything."""
        while self.topics.has_changed():
            known = [address for address, is_known in self._known.items() if is_known]
            changed = self.topics.take_changed()
            # A name server takes this request from any broker, so only a master may send it.
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
                # A copy: the requester numbers it, and the same command goes to other name servers.
                answer = await self._request(address, replace(command))
                if command.code == RequestCode.REGISTER_BROKER:
                    self._note_master(address, RegisterBrokerResponse.decode(answer.fields))
        except EngineError as error:
            if self._known[address]:
                log.warning("registering at %s failed: %s", address, error.text)
            self._known[address] = False
        else:
            if not self._known[address]:
                log.info("registered at %s", address)
            self._known[address] = True

    def _note_master(self, address: str, answer: RegisterBrokerResponse) -> None:
        """A slave learns its master here; the master is gone when no name server knows it any more."""
        self._masters[address] = answer.master_addr or None
        if answer.master_addr:
            self.role.update_master(answer.master_addr, answer.ha_server_addr)
        elif not any(self._masters.values()):
            self.role.update_master(None, None)

    def _version(self) -> DataVersion:
        """With the epoch, so that name servers recognise an old master."""
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
        """One topic alone: the name server keeps the others as they are."""
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

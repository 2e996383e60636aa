"""The part of a client that producers, consumers and admins share: connections, routes, heartbeats.

Each of them creates and closes its own instance, unless it is given one:

    async with ClientInstance("127.0.0.1:9876") as instance:
        producer = Producer("orders", instance=instance)
        consumer = PushConsumer("billing", listener, instance=instance)

An instance is one member of each consumer group that registers here (queues are shared out by client id), so
a group registers once. Heartbeats go to every known broker every 30 s, and at once when a group joins, a
broker appears or a connection was lost (the broker forgets a client with its connection).
Loop thread only.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from engine.client.instance.answers import check_answer, outcomes_of
from engine.client.instance.periodic import Periodic
from engine.client.instance.routes import NameServers, Routes
from engine.client.instance.server_requests import ServerRequests
from engine.client.options import ClientOptions, Tls, name_server_addresses
from engine.errors import BadInput, EngineError, NotFound
from engine.net.connection import Connection
from engine.net.requester import Requester, parse_address
from engine.net.tls import TlsOptions
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import HeartbeatData, ProducerData
from engine.protocol.bodies.routes import MASTER_ID
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Buffer, Command
from engine.protocol.headers.groups import UnregisterClientRequest
from engine.protocol.signing import Credentials
from engine.protocol.wire import Body, Header

if TYPE_CHECKING:
    from engine.client.consuming.group_consumer import GroupConsumer

log = logging.getLogger(__name__)

B = TypeVar("B", bound=Body)

RouteListener = Callable[[str], None]
"""Called with the topic whose route changed."""


class ClientInstance:
    """`call` and `call_name_server` send requests; `routes` and `master_address` find brokers."""

    def __init__(self, namesrv: str | None = None, options: ClientOptions | None = None) -> None:
        self.options = options or ClientOptions()
        addresses = name_server_addresses(namesrv, os.environ)
        self.ip = local_ip(addresses[0])
        self.client_id = f"{self.ip}@{self.options.instance_name or f'{os.getpid()}#{time.time_ns()}'}"
        self.consumers: dict[str, GroupConsumer] = {}
        self._producer_groups: dict[str, int] = {}
        self.server_requests = ServerRequests(self.consumers)
        self.requester = Requester(
            self.server_requests,
            connect_timeout_s=self.options.connect_timeout_s,
            on_closed=self._on_closed,
            tls=TlsOptions() if self.options.tls is True else self.options.tls or None,
            credentials=self.options.credentials,
            resolve=self.options.resolve,
        )
        self.name_servers = NameServers(addresses, self.requester, self.options.request_timeout_ms)
        self.routes = Routes(self.name_servers.route, self._on_route_changed)
        self._polling = Periodic("route poll", self.options.poll_name_server_s, self._poll_routes)
        # Many connections can be lost at once: at most one heartbeat per second.
        self._beating = Periodic("heartbeat", self.options.heartbeat_s, self.heartbeat, min_interval_s=1.0)
        self._route_listeners: list[RouteListener] = []
        self._is_running = False

    # -- life -----------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def start(self) -> None:
        self._is_running = True
        self._polling.start()
        self._beating.start()

    async def close(self) -> None:
        self._is_running = False
        await self._polling.stop()
        await self._beating.stop()
        await self.server_requests.close()
        await self.requester.close()

    # -- asking ---------------------------------------------------------------------------------------------

    async def call(
        self,
        address: str,
        code: RequestCode,
        header: Header | None = None,
        body: Buffer = b"",
        *,
        timeout_ms: float | None = None,
    ) -> Command:
        """Send a request; raises PeerError unless the answer's code is 0."""
        command = Command(code, fields=header.encode() if header else {}, body=body)
        limit_ms = timeout_ms or self.options.request_timeout_ms
        return check_answer(await self.requester.request(address, command, limit_ms))

    async def ask(
        self,
        answer: type[B],
        address: str,
        code: RequestCode,
        header: Header | None = None,
        body: Buffer = b"",
        *,
        timeout_ms: float | None = None,
    ) -> B:
        """The body of the answer to a `call`."""
        return answer.decode((await self.call(address, code, header, body, timeout_ms=timeout_ms)).body)

    async def call_name_server(
        self, code: RequestCode, header: Header | None = None, body: Buffer = b""
    ) -> Command:
        command = Command(code, fields=header.encode() if header else {}, body=body)
        return check_answer(await self.name_servers.request(command))

    def members(self, broker_name: str) -> Mapping[int, str]:
        """The brokers of that name: id to address; empty when none is known."""
        return self.routes.brokers().get(broker_name, {})

    async def find_members(self, queue: MessageQueue, *, with_master: bool = False) -> Mapping[int, str]:
        """The brokers that have the queue: id to address. Asks for the route when none of them is known
        (`with_master`: when their master is not known)."""
        members = self.members(queue.broker_name)
        if not members or (with_master and MASTER_ID not in members):
            await self.routes.refresh(queue.topic)
            members = self.members(queue.broker_name)
        if not members:
            raise no_broker(queue.broker_name)
        return members

    def broker_address(self, broker_name: str) -> str:
        """The master's address, else that of the member with the lowest id."""
        members = self.members(broker_name)
        if not members:
            raise no_broker(broker_name)
        return members[min(members)]

    def master_address(self, broker_name: str) -> str:
        address = self.members(broker_name).get(MASTER_ID)
        if address is None:
            raise NotFound(f"broker {broker_name} has no master now", code=ResponseCode.BROKER_NOT_EXIST)
        return address

    # -- groups ---------------------------------------------------------------------------------------------

    def join_producer_group(self, group: str) -> None:
        self._producer_groups[group] = self._producer_groups.get(group, 0) + 1
        self._beating.wake()

    async def leave_producer_group(self, group: str) -> None:
        self._producer_groups[group] -= 1
        if not self._producer_groups[group]:
            del self._producer_groups[group]
            await self._unregister(UnregisterClientRequest(self.client_id, producer_group=group))

    def join_consumer_group(self, member: GroupConsumer) -> None:
        if member.group in self.consumers:
            raise BadInput(f"group {member.group} already has a consumer in this instance")
        self.consumers[member.group] = member

    async def leave_consumer_group(self, member: GroupConsumer) -> None:
        if self.consumers.get(member.group) is member:
            del self.consumers[member.group]
            await self._unregister(UnregisterClientRequest(self.client_id, consumer_group=member.group))

    def listen_to_routes(self, listener: RouteListener) -> None:
        self._route_listeners.append(listener)

    def stop_listening_to_routes(self, listener: RouteListener) -> None:
        self._route_listeners.remove(listener)

    # -- heartbeats -----------------------------------------------------------------------------------------

    async def heartbeat(self) -> None:
        """Send our groups to every broker. One that cannot be reached gets the next heartbeat."""
        if not self._producer_groups and not self.consumers:
            return
        beat = HeartbeatData(
            client_id=self.client_id,
            producer_data_set=tuple(ProducerData(group) for group in sorted(self._producer_groups)),
            consumer_data_set=tuple(member.consumer_data() for member in self.consumers.values()),
        ).encode()
        addresses = self._heartbeat_addresses()
        calls = [self.call(address, RequestCode.HEART_BEAT, body=beat) for address in addresses]
        for address, failure in zip(addresses, await outcomes_of(calls), strict=True):
            if isinstance(failure, EngineError):
                log.info("heartbeat to %s: %s", address, failure.text)

    def _heartbeat_addresses(self) -> list[str]:
        """Slaves get heartbeats too when there are consumers, which may read from them."""
        return sorted(
            address
            for members in self.routes.brokers().values()
            for broker_id, address in members.items()
            if self.consumers or broker_id == MASTER_ID
        )

    async def _unregister(self, header: UnregisterClientRequest) -> None:
        connected = [address for address in self._heartbeat_addresses() if self.requester.connected(address)]
        calls = [self.call(address, RequestCode.UNREGISTER_CLIENT, header) for address in connected]
        for address, failure in zip(connected, await outcomes_of(calls), strict=True):
            if isinstance(failure, EngineError):
                log.info("leaving %s: %s", address, failure.text)

    # -- inside ---------------------------------------------------------------------------------------------

    async def _poll_routes(self) -> None:
        subscribed = (member.subscriptions for member in self.consumers.values())
        await self.routes.refresh_all({topic for topics in subscribed for topic in topics})

    def _on_route_changed(self, topic: str) -> None:
        if self._is_running:
            self._beating.wake()
        for listener in list(self._route_listeners):
            listener(topic)
        for member in list(self.consumers.values()):
            member.on_route_changed(topic)

    def _on_closed(self, address: str, connection: Connection) -> None:
        if self._is_running:
            self._beating.wake()


def no_broker(broker_name: str) -> NotFound:
    return NotFound(f"no address is known for broker {broker_name}", code=ResponseCode.BROKER_NOT_EXIST)


class Client:
    """Base of producers, consumers and admins: uses the given instance, or creates one and closes it.

    The other arguments are for the created instance. A given instance keeps its own, so TLS and credentials
    are refused together with `instance`.
    """

    def __init__(
        self,
        options: ClientOptions | None = None,
        *,
        instance: ClientInstance | None = None,
        namesrv: str | None = None,
        tls: Tls = None,
        credentials: Credentials | None = None,
    ) -> None:
        if instance is not None and (tls or credentials is not None):
            raise BadInput("set tls and credentials in the ClientOptions of the given instance")
        self._owns_instance = instance is None
        created = replace(options or ClientOptions(), tls=tls, credentials=credentials)
        self.instance = instance or ClientInstance(namesrv, created)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        if self._owns_instance:
            self.instance.start()

    async def close(self) -> None:
        if self._owns_instance:
            await self.instance.close()


def local_ip(peer_address: str) -> str:
    """Our own address as that peer sees it; no packet is sent."""
    host, port = parse_address(peer_address)
    try:
        family, kind, proto, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, proto) as probe:
            probe.connect(where)
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1"

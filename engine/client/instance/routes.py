"""Routes: which brokers have a topic. Requests to the name servers, a cache of their answers, and the queues
that a route names.

Name servers do not talk to each other and may disagree for a while; the first answer counts,
and a refusal (code other than 0) is an answer. A known route is kept when no name server answers, or when one
that was just restarted does not know the topic yet: requests then go to the last known address. Concurrent
callers that want the same topic share one request. Loop thread only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from engine.client.instance.answers import all_of, check_answer
from engine.errors import NotFound, PeerTimeout, PeerUnreachable
from engine.net.requester import Requester
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.routes import MASTER_ID, QueueData, TopicRouteData
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.namesrv import GetRouteInfoRequest

Fetch = Callable[[str], Awaitable[TopicRouteData | None]]


class NameServers:
    """`request` asks one, beginning with the one that answered last; `addresses` are all of them."""

    def __init__(self, addresses: Sequence[str], requester: Requester, timeout_ms: int) -> None:
        self.addresses = tuple(addresses)
        self._requester = requester
        self._timeout_ms = timeout_ms
        self._current = 0

    async def request(self, command: Command) -> Command:
        failures: list[str] = []
        for _ in self.addresses:
            address = self.addresses[self._current]
            try:
                return await self._requester.request(address, command, self._timeout_ms)
            except (PeerUnreachable, PeerTimeout) as error:
                failures.append(error.text)
                self._current = (self._current + 1) % len(self.addresses)
        raise PeerUnreachable("no name server answers: " + "; ".join(failures))

    async def route(self, topic: str) -> TopicRouteData | None:
        """105. None when no broker has registered the topic."""
        header = GetRouteInfoRequest(topic, accept_standard_json_only=True)
        answer = await self.request(Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, fields=header.encode()))
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            return None
        return TopicRouteData.decode(check_answer(answer).body)


def master_addresses(route: TopicRouteData) -> dict[str, str]:
    """Broker name → address of its master, of the brokers that have one."""
    members = {broker.broker_name: broker.broker_addrs for broker in route.broker_datas}
    return {name: addresses[MASTER_ID] for name, addresses in members.items() if MASTER_ID in addresses}


def publish_queues(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    """The queues that may be written: of an ordered topic the configured ones, else those of writable
    brokers that have a master."""
    if route.order_topic_conf:
        return _ordered_queues(topic, route.order_topic_conf)
    masters = master_addresses(route)
    return [
        MessageQueue(topic, data.broker_name, queue_id)
        for data in _sorted(route)
        if data.is_writable and data.broker_name in masters
        for queue_id in range(data.write_queue_nums)
    ]


def subscribe_queues(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    """The queues that may be read, sorted."""
    return [
        MessageQueue(topic, data.broker_name, queue_id)
        for data in _sorted(route)
        if data.is_readable
        for queue_id in range(data.read_queue_nums)
    ]


def _sorted(route: TopicRouteData) -> list[QueueData]:
    return sorted(route.queue_datas, key=lambda data: data.broker_name)


def _ordered_queues(topic: str, order_topic_conf: str) -> list[MessageQueue]:
    queues: list[MessageQueue] = []
    for part in order_topic_conf.split(";"):
        broker_name, _, count = part.partition(":")
        if count.isdigit():
            queues += [MessageQueue(topic, broker_name, queue_id) for queue_id in range(int(count))]
    return queues


class Routes:
    """`get` (cached or asked), `refresh` (asked), `refresh_all`. `on_change(topic)` is called for each route
    that changed.
    """

    def __init__(self, fetch: Fetch, on_change: Callable[[str], None]) -> None:
        self._fetch = fetch
        self._on_change = on_change
        self._routes: dict[str, TopicRouteData] = {}
        self._brokers: dict[str, dict[int, str]] = {}
        self._asking: dict[str, asyncio.Task[TopicRouteData | None]] = {}

    def known(self, topic: str) -> TopicRouteData | None:
        return self._routes.get(topic)

    def brokers(self) -> Mapping[str, Mapping[int, str]]:
        """Broker name → broker id → address, from the newest route that names it."""
        return self._brokers

    async def get(self, topic: str) -> TopicRouteData | None:
        return self._routes.get(topic) or await self.refresh(topic)

    async def must_get(self, topic: str) -> TopicRouteData:
        route = await self.get(topic)
        if route is None:
            raise NotFound(f"no broker has the topic {topic}", code=ResponseCode.TOPIC_NOT_EXIST)
        return route

    async def refresh(self, topic: str) -> TopicRouteData | None:
        task = self._asking.get(topic)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._ask(topic))
            self._asking[topic] = task
            task.add_done_callback(lambda _: self._asking.pop(topic, None))
        return await asyncio.shield(task)

    async def _ask(self, topic: str) -> TopicRouteData | None:
        route = await self._fetch(topic)
        known = self._routes.get(topic)
        if route is None or route == known:
            return known
        self._routes[topic] = route
        for broker in route.broker_datas:
            self._brokers[broker.broker_name] = dict(broker.broker_addrs)
        self._on_change(topic)
        return route

    async def refresh_all(self, topics: set[str]) -> None:
        """Ask for all known topics and these; raises the first failure once all have ended."""
        await all_of(map(self.refresh, sorted(topics | self._routes.keys())))
        named = {broker.broker_name for route in self._routes.values() for broker in route.broker_datas}
        self._brokers = {name: members for name, members in self._brokers.items() if name in named}

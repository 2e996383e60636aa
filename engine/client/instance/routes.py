"""Where topics live: a cache of the name servers' answers, and what a client reads off a route.

A route that was known stays known when no name server answers or one that was just restarted knows nothing
yet: brokers are asked at the last known address rather than not at all. Callers that want the same topic at
once share one question. Loop thread only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from engine.errors import NotFound
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.routes import MASTER_ID, QueueData, TopicRouteData
from engine.protocol.codes import ResponseCode

Fetch = Callable[[str], Awaitable[TopicRouteData | None]]


def publish_queues(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    """The queues that may be written: of an ordered topic the configured ones, else those of writable
    brokers that have a master."""
    if route.order_topic_conf:
        return _ordered_queues(topic, route.order_topic_conf)
    with_master = {broker.broker_name for broker in route.broker_datas if MASTER_ID in broker.broker_addrs}
    return [
        MessageQueue(topic, data.broker_name, queue_id)
        for data in _sorted(route)
        if data.is_writable and data.broker_name in with_master
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
    """`get` (cached or asked), `refresh` (asked), `refresh_all`. `on_change(topic)` tells of each
    difference.
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
        """Broker name → broker id → address, as the newest route that names it says."""
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
        """Ask for every topic that is known or wanted; a failure is raised after all were asked."""
        wanted = sorted(topics | self._routes.keys())
        outcomes = await asyncio.gather(*map(self.refresh, wanted), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        named = {broker.broker_name for route in self._routes.values() for broker in route.broker_datas}
        self._brokers = {name: members for name, members in self._brokers.items() if name in named}

"""The send plans of all topics that a producer sends to, made from routes and dropped when these change.

A topic that no broker knows yet gets a provisional plan: its messages go to brokers that create topics by
themselves (those that serve the default topic), and the real route is asked for after the first answer.
Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import random

from engine.client.instance.routes import Routes, publish_queues
from engine.client.options import ProducerOptions
from engine.client.sending.send_plans import SendPlan, plan_for
from engine.errors import EngineError, NotFound
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.routes import TopicRouteData
from engine.protocol.codes import ResponseCode
from engine.protocol.names import check_topic
from engine.protocol.signing import Credentials

log = logging.getLogger(__name__)


class TopicPlans:
    """`known` is the plan at hand, `make` asks for it. `on_route_changed` must hear of every change."""

    def __init__(
        self, group: str, routes: Routes, options: ProducerOptions, credentials: Credentials | None = None
    ) -> None:
        self._group = group
        self._credentials = credentials
        self._routes = routes
        self._default_topic = options.default_topic
        self._default_queue_nums = options.default_topic_queue_nums
        self._plans: dict[str, SendPlan] = {}
        self._refreshing: dict[str, asyncio.Task[None]] = {}

    def known(self, topic: str) -> SendPlan | None:
        return self._plans.get(topic)

    async def make(self, topic: str) -> SendPlan:
        check_topic(topic)
        route = await self._routes.get(topic)
        if route is not None:
            plan = self._plan(topic, publish_queues(topic, route), route, is_provisional=False)
        else:
            plan = await self._provisional(topic)
        self._plans[topic] = plan
        return plan

    async def _provisional(self, topic: str) -> SendPlan:
        route = await self._routes.get(self._default_topic)
        if route is None:
            raise NotFound(
                f"no broker has the topic {topic}, and none creates topics by itself",
                code=ResponseCode.TOPIC_NOT_EXIST,
            )
        usual = [queue for queue in publish_queues(topic, route) if queue.queue_id < self._default_queue_nums]
        return self._plan(topic, usual, route, is_provisional=True)

    def _plan(
        self, topic: str, queues: list[MessageQueue], route: TopicRouteData, *, is_provisional: bool
    ) -> SendPlan:
        return plan_for(
            topic,
            queues,
            route,
            group=self._group,
            default_topic=self._default_topic,
            default_topic_queue_nums=self._default_queue_nums,
            first=random.randrange(1 << 16),
            is_provisional=is_provisional,
            credentials=self._credentials,
        )

    def on_route_changed(self, topic: str) -> None:
        self._plans.pop(topic, None)
        if topic == self._default_topic:
            self._plans = {name: plan for name, plan in self._plans.items() if not plan.is_provisional}

    def refresh_soon(self, topic: str) -> None:
        """Ask for the route again, once however many sends want it."""
        if topic not in self._refreshing:
            task = asyncio.get_running_loop().create_task(self._refresh(topic))
            self._refreshing[topic] = task
            task.add_done_callback(lambda _: self._refreshing.pop(topic, None))

    async def _refresh(self, topic: str) -> None:
        try:
            await self._routes.refresh(topic)
        except EngineError as error:
            log.info("route of %s: %s", topic, error.text)

    def close(self) -> None:
        for task in list(self._refreshing.values()):
            task.cancel()

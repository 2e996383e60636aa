"""Which queues are a consumer's share.

Every member decides alone, from the same lists and by the same rule; or a broker decides for all
(`server_side_balance`). `decide` is pure. `Assignments` asks for what it needs: the topic's queues (route)
and the group's members (any broker of the topic), or a broker's decision. What cannot be found out this time
stays as it is: a consumer keeps its queues while a name server or a broker is away. Loop thread only.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Collection, Iterable, Mapping, Sequence

from engine.client.instance.instance import ClientInstance
from engine.client.instance.routes import subscribe_queues
from engine.errors import EngineError
from engine.protocol.allocation import Allocate
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import MessageModel
from engine.protocol.bodies.groups import (
    GetConsumerListByGroupResponseBody,
    MessageRequestMode,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
)
from engine.protocol.bodies.routes import TopicRouteData
from engine.protocol.codes import RequestCode
from engine.protocol.headers.groups import GetConsumerListByGroupRequest

log = logging.getLogger(__name__)


def decide(
    held: Collection[MessageQueue], assigned: Mapping[str, Sequence[MessageQueue] | None]
) -> tuple[list[MessageQueue], list[MessageQueue]]:
    """The queues to drop (first) and those to take. `assigned` has an entry per subscribed topic; None means
    that it could not be found out."""
    wanted = {queue for queues in assigned.values() if queues is not None for queue in queues}
    drop = [
        queue
        for queue in held
        if queue not in wanted and (queue.topic not in assigned or assigned[queue.topic] is not None)
    ]
    return sorted(drop), sorted(wanted.difference(held))


class Assignments:
    """`current(topics)`: the queues that are ours now, by topic."""

    def __init__(
        self,
        instance: ClientInstance,
        group: str,
        model: MessageModel,
        allocate: Allocate,
        server_strategy: str | None = None,
    ) -> None:
        self._instance = instance
        self._group = group
        self._model = model
        self._allocate = allocate
        self._server_strategy = server_strategy
        self.popped: set[MessageQueue] = set()
        """The queues that a broker wants popped, not pulled."""

    async def current(self, topics: Iterable[str]) -> dict[str, list[MessageQueue] | None]:
        return {topic: await self._of(topic) for topic in sorted(topics)}

    async def _of(self, topic: str) -> list[MessageQueue] | None:
        try:
            route = await self._instance.routes.get(topic)
            if route is None:
                return None
            queues = subscribe_queues(topic, route)
            if self._model is MessageModel.BROADCASTING:
                return queues
            if self._server_strategy is not None:
                return await self._ask(topic, route, self._server_strategy)
            members = await self._members(route)
            if self._instance.client_id not in members:
                # A broker that was restarted, or lost our connection, does not know us any more.
                await self._instance.heartbeat()
                members = await self._members(route)
        except EngineError as error:
            log.info("queues of %s for group %s stay as they are: %s", topic, self._group, error.text)
            return None
        return self._allocate(self._instance.client_id, queues, sorted(members))

    async def _ask(self, topic: str, route: TopicRouteData, strategy: str) -> list[MessageQueue]:
        """400: the broker's decision."""
        who = self._instance.client_id
        body = QueryAssignmentRequestBody(topic, self._group, who, strategy).encode()
        address = self._instance.broker_address(random.choice(route.broker_datas).broker_name)
        answer = await self._instance.call(address, RequestCode.QUERY_ASSIGNMENT, body=body)
        assigned = QueryAssignmentResponseBody.decode(answer.body).message_queue_assignments
        self.popped = {queue for queue in self.popped if queue.topic != topic}
        queues = [one.message_queue for one in assigned if one.message_queue is not None]
        pops = [one.message_queue for one in assigned if one.mode is MessageRequestMode.POP]
        self.popped.update(queue for queue in pops if queue is not None)
        return queues

    async def _members(self, route: TopicRouteData) -> tuple[str, ...]:
        """38. Every broker of the topic knows all members, because heartbeats go to all brokers."""
        address = self._instance.broker_address(random.choice(route.broker_datas).broker_name)
        header = GetConsumerListByGroupRequest(self._group)
        answer = await self._instance.call(address, RequestCode.GET_CONSUMER_LIST_BY_GROUP, header)
        return GetConsumerListByGroupResponseBody.decode(answer.body).consumer_id_list

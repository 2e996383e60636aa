"""Rebalance: which queues are a consumer's share, and the consumer that takes and drops them.

Every member decides alone, from the same lists and by the same rule; or a broker decides for all
(`server_side_balance`). `decide` is pure. `Assignments` asks for what it needs: the topic's queues (route)
and the group's members (any broker of the topic), or a broker's decision. An assignment that cannot be
determined stays as it is: a consumer keeps its queues while a name server or a broker is away.

Queues are shared out every 20 s, when a broker reports that the members changed (40), and when a route
changes. Subclasses of `BalancedConsumer` implement what it means to `take` and to `drop` a queue. Loop thread
only.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Unpack

from engine.client.consuming.group_consumer import GroupConsumer
from engine.client.consuming.offsets import (
    HALF_AN_HOUR_MS,
    LocalOffsets,
    OffsetStore,
    QueueOffsets,
    RemoteOffsets,
    StartOffsets,
    local_offsets_path,
)
from engine.client.consuming.pull_requests import Pulls
from engine.client.consuming.subscriptions import is_sql, subscription
from engine.client.instance.answers import outcomes_of
from engine.client.instance.instance import ClientInstance
from engine.client.instance.periodic import Periodic
from engine.client.instance.routes import subscribe_queues
from engine.client.options import ClientArguments, ConsumerOptions, LitePullOptions
from engine.errors import BadInput, EngineError
from engine.protocol.allocation import Allocate
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import CheckClientRequestBody, ConsumeType, MessageModel, SubscriptionData
from engine.protocol.bodies.groups import (
    GetConsumerListByGroupResponseBody,
    MessageRequestMode,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
)
from engine.protocol.bodies.routes import TopicRouteData
from engine.protocol.codes import RequestCode
from engine.protocol.headers.groups import GetConsumerListByGroupRequest
from engine.protocol.names import retry_topic

log = logging.getLogger(__name__)


def decide(
    held: Collection[MessageQueue], assigned: Mapping[str, Sequence[MessageQueue] | None]
) -> tuple[list[MessageQueue], list[MessageQueue]]:
    """The queues to drop (first) and those to take. `assigned` has an entry per subscribed topic; None means
    that it could not be determined."""
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
        """The queues that are popped, not pulled, by a broker's decision."""

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
                # A broker that was restarted, or lost our connection, has forgotten this client.
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


MIN_REBALANCE_INTERVAL_S = 1.0
"""Brokers answer a burst of joins with a notice each; one round per second covers them together."""
UNSETTLED_RETRY_S = 2.0
"""The next round when a topic has no route yet, or its brokers did not answer."""


class BalancedConsumer(GroupConsumer):
    """`start` joins the group; `_leave` drops every queue and leaves it."""

    def __init__(
        self,
        group: str,
        options: ConsumerOptions | LitePullOptions,
        consume_type: ConsumeType,
        *,
        server_strategy: str | None = None,
        **arguments: Unpack[ClientArguments],
    ) -> None:
        super().__init__(group, consume_type, options.from_where, options.model, **arguments)
        self._started_ms = int(time.time() * 1000)
        self._queue_offsets = QueueOffsets(self.instance)
        self._offsets: OffsetStore = RemoteOffsets(group, self._queue_offsets)
        if self._is_broadcast:
            path = local_offsets_path(options.offsets_folder, self.instance.client_id, group)
            self._offsets = LocalOffsets(path)
        begin_ms = options.consume_from_timestamp_ms
        if begin_ms is None:
            begin_ms = self._started_ms - HALF_AN_HOUR_MS
        self._start_offsets = StartOffsets(self._offsets, self._queue_offsets, options.from_where, begin_ms)
        self._pulls = Pulls(self.instance, group, options.pull)
        self._assignments = Assignments(
            self.instance, group, options.model, options.allocate, server_strategy
        )
        self._rebalancing = Periodic(
            "rebalance", options.rebalance_s, self._rebalance, MIN_REBALANCE_INTERVAL_S
        )
        self._has_joined = False

    # -- what a consumer does with its queues ---------------------------------------------------------------

    def held(self) -> Collection[MessageQueue]:
        raise NotImplementedError

    def take(self, queue: MessageQueue) -> None:
        raise NotImplementedError

    async def drop(self, queue: MessageQueue) -> None:
        raise NotImplementedError

    def assignment(self) -> list[MessageQueue]:
        """The queues that this consumer reads now."""
        return sorted(self.held())

    def offsets_of(self, topic: str) -> dict[MessageQueue, int]:
        return {queue: offset for queue, offset in self._offsets.all().items() if queue.topic == topic}

    def _subscription_of(self, topic: str) -> SubscriptionData:
        found = self.subscriptions.get(topic)
        return found if found is not None else subscription(topic, "*", 0)

    # -- life -----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Returns once the brokers have this consumer's heartbeat; queues follow with the rebalance."""
        await super().start()
        try:
            await self._join()
        except EngineError:
            await self.close()
            raise

    async def _join(self) -> None:
        if self._has_joined:
            raise BadInput(f"the consumer of group {self.group} is started already")
        if self._consume_type is ConsumeType.CONSUME_PASSIVELY and not self._is_broadcast:
            self.subscribe(retry_topic(self.group))
        await self.instance.routes.refresh_all(set(self.subscriptions))
        await self._check_expressions()
        self.instance.join_consumer_group(self)
        self._has_joined = True
        await self.instance.heartbeat()
        self._rebalancing.start()
        self._rebalancing.wake()

    async def _check_expressions(self) -> None:
        """46: a wrong SQL92 expression fails the start (PeerError 23, with the place in the text)."""
        for data in self.subscriptions.values():
            route = await self.instance.routes.get(data.topic) if is_sql(data) else None
            if route is None or not route.broker_datas:
                continue
            body = CheckClientRequestBody(self.instance.client_id, self.group, None, data).encode()
            address = self.instance.broker_address(route.broker_datas[0].broker_name)
            await self.instance.call(address, RequestCode.CHECK_CLIENT_CONFIG, body=body)

    async def _leave(self) -> None:
        if not self._has_joined:
            return
        self._has_joined = False
        await self._rebalancing.stop()
        await asyncio.gather(*map(self.drop, list(self.held())))
        await self.instance.leave_consumer_group(self)

    # -- sharing out ----------------------------------------------------------------------------------------

    def on_members_changed(self) -> None:
        self._rebalancing.wake()

    async def _rebalance(self) -> None:
        if self._consume_type is ConsumeType.CONSUME_ACTIVELY and not self.subscriptions:
            return
        popped = set(self._assignments.popped)
        assigned = await self._assignments.current(self.subscriptions)
        for queue in (popped ^ self._assignments.popped) & set(self.held()):
            # From pulled to popped, or back: dropped here, taken again below.
            await self.drop(queue)
        drop, add = decide(self.held(), assigned)
        if drop or add:
            log.info("group %s drops %s and takes %s", self.group, drop, add)
        for outcome in await outcomes_of(map(self.drop, drop)):
            if isinstance(outcome, EngineError):
                log.warning("group %s: %s", self.group, outcome.text)
        for queue in add:
            self.take(queue)
        if None in assigned.values():
            asyncio.get_running_loop().call_later(UNSETTLED_RETRY_S, self._rebalancing.wake)

"""A consumer's place in its group: what it subscribes to, who hears of it, which queues it is to hold.

Subscriptions are announced by heartbeat; the queues are shared out again every 20 s, when a broker says that
the members changed (40), and when a route changes. What is done with a queue is the holder's business: it is
told to take and to drop. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Mapping
from typing import Protocol

from engine.client.consuming.allocation import Allocate
from engine.client.consuming.rebalance import Assignments, decide
from engine.client.consuming.subscriptions import is_sql, subscription
from engine.client.instance.instance import ClientInstance
from engine.client.instance.periodic import Periodic
from engine.errors import BadInput, EngineError
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import (
    TAG_EXPRESSION,
    CheckClientRequestBody,
    ConsumeFromWhere,
    ConsumeMessageDirectlyResult,
    ConsumerData,
    ConsumerRunningInfo,
    ConsumeType,
    MessageModel,
    SubscriptionData,
)
from engine.protocol.codes import RequestCode
from engine.protocol.names import check_group, check_topic, retry_topic
from engine.protocol.records import Record

log = logging.getLogger(__name__)

# Brokers answer a burst of joins with a notice each; a second between rounds takes them together.
MIN_REBALANCE_INTERVAL_S = 1.0
# A topic that has no route yet, or brokers that could not be asked: sooner than on the clock.
UNSETTLED_RETRY_S = 2.0


class QueueHolder(Protocol):
    """What works on the queues that a membership brings."""

    def held(self) -> Collection[MessageQueue]: ...

    def take(self, queue: MessageQueue) -> None: ...

    async def drop(self, queue: MessageQueue) -> None: ...

    async def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None: ...

    def offsets_of(self, topic: str) -> dict[MessageQueue, int]: ...

    def running_info(self) -> ConsumerRunningInfo: ...

    async def consume_directly(self, record: Record, broker_name: str) -> ConsumeMessageDirectlyResult: ...


class Membership:
    """`subscribe` and `unsubscribe` at any time; `start` joins, `close` drops every queue and leaves."""

    def __init__(
        self,
        instance: ClientInstance,
        group: str,
        holder: QueueHolder,
        *,
        model: MessageModel,
        from_where: ConsumeFromWhere,
        consume_type: ConsumeType,
        allocate: Allocate,
        rebalance_s: float,
        server_strategy: str | None = None,
    ) -> None:
        check_group(group)
        self._group = group
        self._instance = instance
        self._holder = holder
        self._model = model
        self._from_where = from_where
        self._consume_type = consume_type
        self._assignments = Assignments(instance, group, model, allocate, server_strategy)
        self._rebalancing = Periodic("rebalance", rebalance_s, self._rebalance, MIN_REBALANCE_INTERVAL_S)
        self._is_started = False
        self.subscriptions: dict[str, SubscriptionData] = {}

    # -- subscriptions --------------------------------------------------------------------------------------

    def subscribe(self, topic: str, expression: str = "*", kind: str = TAG_EXPRESSION) -> None:
        check_topic(topic)
        self.subscriptions[topic] = subscription(topic, expression, int(time.time() * 1000), kind)
        if self._is_started:
            self._rebalancing.wake()

    def unsubscribe(self, topic: str) -> None:
        if self.subscriptions.pop(topic, None) is not None and self._is_started:
            self._rebalancing.wake()

    def is_popped(self, queue: MessageQueue) -> bool:
        """Whether a broker wants this queue popped, not pulled."""
        return queue in self._assignments.popped

    def subscription_of(self, topic: str) -> SubscriptionData:
        found = self.subscriptions.get(topic)
        return found if found is not None else subscription(topic, "*", 0)

    # -- life -----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Returns once the brokers know of us; queues follow when they are shared out."""
        if self._is_started:
            raise BadInput(f"the consumer of group {self._group} is started already")
        if self._model is MessageModel.CLUSTERING and self._consume_type is ConsumeType.CONSUME_PASSIVELY:
            self.subscribe(retry_topic(self._group))
        await self._instance.routes.refresh_all(set(self.subscriptions))
        await self._check_expressions()
        self._instance.join_consumer_group(self)
        self._is_started = True
        await self._instance.heartbeat()
        self._rebalancing.start()
        self._rebalancing.wake()

    async def _check_expressions(self) -> None:
        """46: a wrong SQL92 expression is heard of now (PeerError 23, with the place), not in a log later."""
        for data in self.subscriptions.values():
            route = await self._instance.routes.get(data.topic) if is_sql(data) else None
            if route is None or not route.broker_datas:
                continue
            body = CheckClientRequestBody(self._instance.client_id, self._group, None, data).encode()
            address = self._instance.broker_address(route.broker_datas[0].broker_name)
            await self._instance.call(address, RequestCode.CHECK_CLIENT_CONFIG, body=body)

    async def close(self) -> None:
        if not self._is_started:
            return
        self._is_started = False
        await self._rebalancing.stop()
        await asyncio.gather(*map(self._holder.drop, list(self._holder.held())))
        await self._instance.leave_consumer_group(self)

    async def _rebalance(self) -> None:
        if self._consume_type is ConsumeType.CONSUME_ACTIVELY and not self.subscriptions:
            return
        popped = set(self._assignments.popped)
        assigned = await self._assignments.current(self.subscriptions)
        for queue in (popped ^ self._assignments.popped) & set(self._holder.held()):
            # Pulled so far and to be popped now, or the other way round: it is taken anew.
            await self._holder.drop(queue)
        changes = decide(self._holder.held(), assigned)
        if changes.drop or changes.add:
            log.info("group %s drops %s and takes %s", self._group, changes.drop, changes.add)
        for outcome in await asyncio.gather(*map(self._holder.drop, changes.drop), return_exceptions=True):
            if isinstance(outcome, EngineError):
                log.warning("group %s: %s", self._group, outcome.text)
            elif isinstance(outcome, BaseException):
                raise outcome
        for queue in changes.add:
            self._holder.take(queue)
        if None in assigned.values():
            asyncio.get_running_loop().call_later(UNSETTLED_RETRY_S, self._rebalancing.wake)

    # -- what instance and brokers ask ----------------------------------------------------------------------

    @property
    def group(self) -> str:
        return self._group

    def consumer_data(self) -> ConsumerData:
        return ConsumerData(
            group_name=self._group,
            consume_type=self._consume_type,
            message_model=self._model,
            consume_from_where=self._from_where,
            subscription_data_set=tuple(self.subscriptions.values()),
        )

    def topics(self) -> set[str]:
        return set(self.subscriptions)

    def on_members_changed(self) -> None:
        self._rebalancing.wake()

    def on_route_changed(self, topic: str) -> None:
        if topic in self.subscriptions:
            self._rebalancing.wake()

    async def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        await self._holder.reset_offsets(topic, offsets)

    def offsets_of(self, topic: str) -> dict[MessageQueue, int]:
        return self._holder.offsets_of(topic)

    def running_info(self) -> ConsumerRunningInfo:
        return self._holder.running_info()

    async def consume_directly(self, record: Record, broker_name: str) -> ConsumeMessageDirectlyResult:
        return await self._holder.consume_directly(record, broker_name)

"""A popping consumer's place in its group: brokers hear of it, but no queues are shared out to it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from engine.client.consuming.subscriptions import subscription
from engine.errors import BadInput
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import (
    ConsumeFromWhere,
    ConsumeMessageDirectlyResult,
    ConsumerData,
    ConsumerRunningInfo,
    ConsumeType,
    MessageModel,
    SubscriptionData,
)
from engine.protocol.names import check_topic
from engine.protocol.records import Record


class PopMember:
    def __init__(self, group: str, from_where: ConsumeFromWhere) -> None:
        self.group = group
        self._from_where = from_where
        self.subscriptions: dict[str, SubscriptionData] = {}

    def subscribe(self, topic: str, expression: str, kind: str) -> None:
        check_topic(topic)
        self.subscriptions[topic] = subscription(topic, expression, int(time.time() * 1000), kind)

    def consumer_data(self) -> ConsumerData:
        return ConsumerData(
            group_name=self.group,
            consume_type=ConsumeType.CONSUME_POP,
            message_model=MessageModel.CLUSTERING,
            consume_from_where=self._from_where,
            subscription_data_set=tuple(self.subscriptions.values()),
        )

    def topics(self) -> set[str]:
        return set(self.subscriptions)

    def on_members_changed(self) -> None:
        """Every member pops every queue: it makes no difference."""

    def on_route_changed(self, topic: str) -> None:
        """The next receive looks at the route."""

    async def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        """The broker keeps the offsets, and has reset them itself."""

    def offsets_of(self, topic: str) -> dict[MessageQueue, int]:
        return {}

    def running_info(self) -> ConsumerRunningInfo:
        return ConsumerRunningInfo(subscription_set=tuple(self.subscriptions.values()))

    async def consume_directly(self, record: Record, broker_name: str) -> ConsumeMessageDirectlyResult:
        raise BadInput("a PopConsumer has no listener that could consume a message")

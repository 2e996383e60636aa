"""A member of a consumer group: its subscriptions, its heartbeat data, and its answers to requests of
brokers.

Base of all consumers. `BalancedConsumer` adds the queues that are this member's share; a `PopConsumer` has
none. The answers here (`engine.client.instance.server_requests` calls for them) are those of a consumer
without queues and without a listener. Loop thread only.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Unpack

from engine.client.consuming.subscriptions import subscription
from engine.client.instance.instance import Client
from engine.client.options import ClientArguments, ClientOptions
from engine.errors import BadInput
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import (
    TAG_EXPRESSION,
    ConsumeFromWhere,
    ConsumeMessageDirectlyResult,
    ConsumerData,
    ConsumerRunningInfo,
    ConsumeType,
    MessageModel,
    SubscriptionData,
)
from engine.protocol.names import check_group, check_topic
from engine.protocol.records import Record


class GroupConsumer(Client):
    def __init__(
        self,
        group: str,
        consume_type: ConsumeType,
        from_where: ConsumeFromWhere,
        model: MessageModel = MessageModel.CLUSTERING,
        **arguments: Unpack[ClientArguments],
    ) -> None:
        check_group(group)
        self._is_broadcast = model is MessageModel.BROADCASTING
        # A broadcasting client needs the same id after a restart: its offsets are filed under it.
        name = "DEFAULT" if self._is_broadcast else None
        super().__init__(ClientOptions(instance_name=name), **arguments)
        self.group = group
        self.subscriptions: dict[str, SubscriptionData] = {}
        self._consume_type = consume_type
        self._from_where = from_where
        self._model = model

    def subscribe(self, topic: str, expression: str = "*", kind: str = TAG_EXPRESSION) -> None:
        """Consume a topic: all of it, messages by tag (`a || b`), or by an SQL92 expression (`kind="SQL92"`).
        Allowed before and after the start."""
        check_topic(topic)
        self.subscriptions[topic] = subscription(topic, expression, int(time.time() * 1000), kind)
        self.on_members_changed()

    def unsubscribe(self, topic: str) -> None:
        self.subscriptions.pop(topic, None)
        self.on_members_changed()

    # -- for the instance and for requests of brokers -------------------------------------------------------

    def consumer_data(self) -> ConsumerData:
        return ConsumerData(
            group_name=self.group,
            consume_type=self._consume_type,
            message_model=self._model,
            consume_from_where=self._from_where,
            subscription_data_set=tuple(self.subscriptions.values()),
        )

    def on_members_changed(self) -> None:
        """The queues must be shared out again, if this consumer holds queues."""

    def on_route_changed(self, topic: str) -> None:
        if topic in self.subscriptions:
            self.on_members_changed()

    async def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        """Go on at these offsets."""

    def offsets_of(self, topic: str) -> dict[MessageQueue, int]:
        return {}

    def running_info(self) -> ConsumerRunningInfo:
        return ConsumerRunningInfo(subscription_set=tuple(self.subscriptions.values()))

    async def consume_directly(self, record: Record, broker_name: str) -> ConsumeMessageDirectlyResult:
        raise BadInput(f"a {type(self).__name__} has no listener that could consume a message")

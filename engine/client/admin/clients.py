"""Who is connected, and what connected consumers say of themselves."""

from __future__ import annotations

from engine.client.instance.instance import ClientInstance
from engine.protocol.bodies.clients import (
    ConsumerConnection,
    ConsumerRunningInfo,
    ProducerConnection,
    ProducerInfo,
    ProducerTableInfo,
)
from engine.protocol.bodies.groups import GetConsumerListByGroupResponseBody
from engine.protocol.codes import RequestCode
from engine.protocol.headers.groups import (
    GetConsumerConnectionListRequest,
    GetConsumerListByGroupRequest,
    GetConsumerRunningInfoRequest,
    GetProducerConnectionListRequest,
)

RELAY_TIMEOUT_MS = 15_000


class ClientAdmin:
    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance

    async def consumers(self, broker: str, group: str) -> ConsumerConnection:
        """203: the group's connections, mode and subscriptions; code 206 when nobody is online."""
        header = GetConsumerConnectionListRequest(group)
        answer = await self._instance.call(broker, RequestCode.GET_CONSUMER_CONNECTION_LIST, header)
        return ConsumerConnection.decode(answer.body)

    async def consumer_ids(self, broker: str, group: str) -> tuple[str, ...]:
        """38: the members' client ids."""
        header = GetConsumerListByGroupRequest(group)
        answer = await self._instance.call(broker, RequestCode.GET_CONSUMER_LIST_BY_GROUP, header)
        return GetConsumerListByGroupResponseBody.decode(answer.body).consumer_id_list

    async def producers(self, broker: str, group: str) -> ProducerConnection:
        """204."""
        header = GetProducerConnectionListRequest(group)
        answer = await self._instance.call(broker, RequestCode.GET_PRODUCER_CONNECTION_LIST, header)
        return ProducerConnection.decode(answer.body)

    async def all_producers(self, broker: str) -> dict[str, tuple[ProducerInfo, ...]]:
        """328: every producer by group."""
        answer = await self._instance.call(broker, RequestCode.GET_ALL_PRODUCER_INFO)
        return dict(ProducerTableInfo.decode(answer.body).data)

    async def running_info(
        self, broker: str, group: str, client_id: str, *, jstack: bool = False
    ) -> ConsumerRunningInfo:
        """307: relayed to the consumer; code 207 when it does not answer."""
        header = GetConsumerRunningInfoRequest(group, client_id, jstack)
        answer = await self._instance.call(
            broker, RequestCode.GET_CONSUMER_RUNNING_INFO, header, timeout_ms=RELAY_TIMEOUT_MS
        )
        return ConsumerRunningInfo.decode(answer.body)

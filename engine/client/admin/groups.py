"""Consumer groups: configuration, progress, subscriptions; and the clients that are connected."""

from __future__ import annotations

from collections.abc import Iterable

from engine.client.admin.name_servers import ClusterAdmin
from engine.client.instance.instance import ClientInstance
from engine.protocol.bodies.basics import MessageQueue, TopicList
from engine.protocol.bodies.clients import (
    ConsumerConnection,
    ConsumerRunningInfo,
    ProducerConnection,
    ProducerInfo,
    ProducerTableInfo,
    SubscriptionData,
)
from engine.protocol.bodies.groups import (
    GetConsumerListByGroupResponseBody,
    GroupForbidden,
    MessageRequestMode,
    MessageRequestModeSerializeWrapper,
    QuerySubscriptionResponseBody,
    SetMessageRequestModeRequestBody,
    SubscriptionGroupConfig,
    SubscriptionGroupList,
    SubscriptionGroupWrapper,
)
from engine.protocol.bodies.routes import MASTER_ID
from engine.protocol.bodies.stats import (
    ConsumeStats,
    ConsumeStatsList,
    OffsetWrapper,
    QueryConsumeTimeSpanBody,
    QueueTimeSpan,
)
from engine.protocol.codes import RequestCode
from engine.protocol.headers.groups import (
    DeleteSubscriptionGroupRequest,
    GetConsumerConnectionListRequest,
    GetConsumerListByGroupRequest,
    GetConsumerRunningInfoRequest,
    GetProducerConnectionListRequest,
    GetSubscriptionGroupConfigRequest,
    QuerySubscriptionByConsumerRequest,
    QueryTopicsByConsumerRequest,
    UpdateGroupForbiddenRequest,
)
from engine.protocol.headers.offsets import (
    GetBrokerConsumeStatsRequest,
    GetConsumeStatsRequest,
    QueryConsumeTimeSpanRequest,
)
from engine.protocol.names import check_group, retry_topic


class GroupAdmin:
    def __init__(self, instance: ClientInstance, cluster: ClusterAdmin) -> None:
        self._instance = instance
        self._cluster = cluster

    # -- configuration --------------------------------------------------------------------------------------

    async def create(self, broker: str, config: SubscriptionGroupConfig) -> None:
        """200: create the group or change it."""
        check_group(config.group_name)
        code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
        await self._instance.call(broker, code, body=config.encode())

    async def create_many(self, broker: str, configs: Iterable[SubscriptionGroupConfig]) -> None:
        """225."""
        code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST
        await self._instance.call(broker, code, body=SubscriptionGroupList(tuple(configs)).encode())

    async def configs(self, broker: str) -> dict[str, SubscriptionGroupConfig]:
        """201: every group of a broker."""
        answer = await self._instance.call(broker, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
        return dict(SubscriptionGroupWrapper.decode(answer.body).subscription_group_table)

    async def config(self, broker: str, group: str) -> SubscriptionGroupConfig:
        """352."""
        header = GetSubscriptionGroupConfigRequest(group)
        answer = await self._instance.call(broker, RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, header)
        return SubscriptionGroupConfig.decode(answer.body)

    async def delete(self, broker: str, group: str, *, clean_offset: bool = False) -> None:
        """207."""
        header = DeleteSubscriptionGroupRequest(group, clean_offset)
        await self._instance.call(broker, RequestCode.DELETE_SUBSCRIPTIONGROUP, header)

    async def set_readable(
        self, broker: str, group: str, topic: str, readable: bool | None = None
    ) -> GroupForbidden:
        """353: forbid or allow a group to read a topic; without `readable` only ask."""
        header = UpdateGroupForbiddenRequest(group, topic, readable)
        answer = await self._instance.call(broker, RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, header)
        return GroupForbidden.decode(answer.body)

    async def set_request_mode(
        self, broker: str, group: str, topic: str, mode: MessageRequestMode, pop_share_queue_num: int = 0
    ) -> None:
        """401: whether the group's clients pull or pop."""
        body = SetMessageRequestModeRequestBody(topic, group, mode, pop_share_queue_num).encode()
        await self._instance.call(broker, RequestCode.SET_MESSAGE_REQUEST_MODE, body=body)

    async def request_modes(self, broker: str) -> dict[str, dict[str, SetMessageRequestModeRequestBody]]:
        """402: topic → group → mode, of those that were set."""
        answer = await self._instance.call(broker, RequestCode.GET_ALL_MESSAGE_REQUEST_MODE)
        table = MessageRequestModeSerializeWrapper.decode(answer.body).message_request_mode_map
        return {topic: dict(groups) for topic, groups in table.items()}

    # -- progress -------------------------------------------------------------------------------------------

    async def consume_stats_on_broker(
        self, broker: str, group: str, topic: str | None = None
    ) -> ConsumeStats:
        """208: the group's and the broker's offset of each queue."""
        header = GetConsumeStatsRequest(group, topic)
        answer = await self._instance.call(broker, RequestCode.GET_CONSUME_STATS, header)
        return ConsumeStats.decode(answer.body)

    async def consume_stats(self, group: str, topic: str | None = None) -> ConsumeStats:
        """208 of every master that serves the group (its retry topic says which; else all), put together."""
        table: dict[MessageQueue, OffsetWrapper] = {}
        consume_tps = 0.0
        for address in await self._masters_of(group):
            part = await self.consume_stats_on_broker(address, group, topic)
            table |= part.offset_table
            consume_tps += part.consume_tps
        return ConsumeStats(table, consume_tps)

    async def consume_stats_of_broker(self, broker: str, *, is_order: bool = False) -> ConsumeStatsList:
        """317: every group of a broker."""
        header = GetBrokerConsumeStatsRequest(is_order)
        answer = await self._instance.call(broker, RequestCode.GET_BROKER_CONSUME_STATS, header)
        return ConsumeStatsList.decode(answer.body)

    async def time_spans(self, broker: str, group: str, topic: str) -> tuple[QueueTimeSpan, ...]:
        """303: store times of the oldest, the newest and the last consumed message of each queue."""
        header = QueryConsumeTimeSpanRequest(topic, group)
        answer = await self._instance.call(broker, RequestCode.QUERY_CONSUME_TIME_SPAN, header)
        return QueryConsumeTimeSpanBody.decode(answer.body).consume_time_span_set

    # -- subscriptions --------------------------------------------------------------------------------------

    async def topics(self, broker: str, group: str) -> set[str]:
        """343: the topics that the group has offsets on."""
        header = QueryTopicsByConsumerRequest(group)
        answer = await self._instance.call(broker, RequestCode.QUERY_TOPICS_BY_CONSUMER, header)
        return set(TopicList.decode(answer.body).topic_list)

    async def subscription(self, broker: str, group: str, topic: str) -> SubscriptionData | None:
        """345: what the online group wants of a topic; None when it does not subscribe to it."""
        header = QuerySubscriptionByConsumerRequest(group, topic)
        answer = await self._instance.call(broker, RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, header)
        return QuerySubscriptionResponseBody.decode(answer.body).subscription_data

    async def _masters_of(self, group: str) -> list[str]:
        route = await self._instance.name_servers.route(retry_topic(group))
        if route is None:
            return await self._cluster.masters()
        found = [broker.broker_addrs.get(MASTER_ID) for broker in route.broker_datas]
        return [address for address in found if address is not None]


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

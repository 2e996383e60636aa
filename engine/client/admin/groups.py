"""Consumer groups: configuration, progress, subscriptions; and the clients that are connected."""

from __future__ import annotations

from collections.abc import Iterable

from engine.client.admin.name_servers import ClusterAdmin
from engine.client.admin.part import AdminPart
from engine.client.instance.routes import master_addresses
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


class GroupAdmin(AdminPart):
    # -- configuration --------------------------------------------------------------------------------------

    async def create(self, broker: str, config: SubscriptionGroupConfig) -> None:
        """200: create the group or change it."""
        check_group(config.group_name)
        code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
        await self._call(broker, code, body=config.encode())

    async def create_many(self, broker: str, configs: Iterable[SubscriptionGroupConfig]) -> None:
        """225."""
        code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST
        await self._call(broker, code, body=SubscriptionGroupList(tuple(configs)).encode())

    async def configs(self, broker: str) -> dict[str, SubscriptionGroupConfig]:
        """201: every group of a broker."""
        found = await self._ask(
            SubscriptionGroupWrapper, broker, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG
        )
        return dict(found.subscription_group_table)

    async def config(self, broker: str, group: str) -> SubscriptionGroupConfig:
        """352."""
        header = GetSubscriptionGroupConfigRequest(group)
        code = RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG
        return await self._ask(SubscriptionGroupConfig, broker, code, header)

    async def delete(self, broker: str, group: str, *, clean_offset: bool = False) -> None:
        """207."""
        header = DeleteSubscriptionGroupRequest(group, clean_offset)
        await self._call(broker, RequestCode.DELETE_SUBSCRIPTIONGROUP, header)

    async def set_readable(
        self, broker: str, group: str, topic: str, readable: bool | None = None
    ) -> GroupForbidden:
        """353: forbid or allow a group to read a topic; without `readable` only ask."""
        header = UpdateGroupForbiddenRequest(group, topic, readable)
        return await self._ask(GroupForbidden, broker, RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, header)

    async def set_request_mode(
        self, broker: str, group: str, topic: str, mode: MessageRequestMode, pop_share_queue_num: int = 0
    ) -> None:
        """401: whether the group's clients pull or pop."""
        body = SetMessageRequestModeRequestBody(topic, group, mode, pop_share_queue_num).encode()
        await self._call(broker, RequestCode.SET_MESSAGE_REQUEST_MODE, body=body)

    async def request_modes(self, broker: str) -> dict[str, dict[str, SetMessageRequestModeRequestBody]]:
        """402: topic → group → mode, of those that were set."""
        answer = await self._call(broker, RequestCode.GET_ALL_MESSAGE_REQUEST_MODE)
        table = MessageRequestModeSerializeWrapper.decode(answer.body).message_request_mode_map
        return {topic: dict(groups) for topic, groups in table.items()}

    # -- progress -------------------------------------------------------------------------------------------

    async def consume_stats_on_broker(
        self, broker: str, group: str, topic: str | None = None
    ) -> ConsumeStats:
        """208: the group's and the broker's offset of each queue."""
        header = GetConsumeStatsRequest(group, topic)
        return await self._ask(ConsumeStats, broker, RequestCode.GET_CONSUME_STATS, header)

    async def consume_stats(self, group: str, topic: str | None = None) -> ConsumeStats:
        """208 of every master that serves the group (those of its retry topic, else all), merged."""
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
        return await self._ask(ConsumeStatsList, broker, RequestCode.GET_BROKER_CONSUME_STATS, header)

    async def time_spans(self, broker: str, group: str, topic: str) -> tuple[QueueTimeSpan, ...]:
        """303: store times of the oldest, the newest and the last consumed message of each queue."""
        header = QueryConsumeTimeSpanRequest(topic, group)
        found = await self._ask(QueryConsumeTimeSpanBody, broker, RequestCode.QUERY_CONSUME_TIME_SPAN, header)
        return found.consume_time_span_set

    # -- subscriptions --------------------------------------------------------------------------------------

    async def topics(self, broker: str, group: str) -> set[str]:
        """343: the topics that the group has offsets on."""
        header = QueryTopicsByConsumerRequest(group)
        found = await self._ask(TopicList, broker, RequestCode.QUERY_TOPICS_BY_CONSUMER, header)
        return set(found.topic_list)

    async def subscription(self, broker: str, group: str, topic: str) -> SubscriptionData | None:
        """345: the online group's subscription to a topic; None when it does not subscribe to it."""
        header = QuerySubscriptionByConsumerRequest(group, topic)
        code = RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER
        return (await self._ask(QuerySubscriptionResponseBody, broker, code, header)).subscription_data

    async def _masters_of(self, group: str) -> list[str]:
        route = await self._instance.name_servers.route(retry_topic(group))
        if route is None:
            return await ClusterAdmin(self._instance).masters()
        return list(master_addresses(route).values())


RELAY_TIMEOUT_MS = 15_000


class ClientAdmin(AdminPart):
    async def consumers(self, broker: str, group: str) -> ConsumerConnection:
        """203: the group's connections, mode and subscriptions; code 206 when no member is online."""
        header = GetConsumerConnectionListRequest(group)
        return await self._ask(ConsumerConnection, broker, RequestCode.GET_CONSUMER_CONNECTION_LIST, header)

    async def consumer_ids(self, broker: str, group: str) -> tuple[str, ...]:
        """38: the members' client ids."""
        header = GetConsumerListByGroupRequest(group)
        code = RequestCode.GET_CONSUMER_LIST_BY_GROUP
        return (await self._ask(GetConsumerListByGroupResponseBody, broker, code, header)).consumer_id_list

    async def producers(self, broker: str, group: str) -> ProducerConnection:
        """204."""
        header = GetProducerConnectionListRequest(group)
        return await self._ask(ProducerConnection, broker, RequestCode.GET_PRODUCER_CONNECTION_LIST, header)

    async def all_producers(self, broker: str) -> dict[str, tuple[ProducerInfo, ...]]:
        """328: every producer by group."""
        return dict((await self._ask(ProducerTableInfo, broker, RequestCode.GET_ALL_PRODUCER_INFO)).data)

    async def running_info(
        self, broker: str, group: str, client_id: str, *, jstack: bool = False
    ) -> ConsumerRunningInfo:
        """307: relayed to the consumer; code 207 when it does not answer."""
        header = GetConsumerRunningInfoRequest(group, client_id, jstack)
        code = RequestCode.GET_CONSUMER_RUNNING_INFO
        return await self._ask(ConsumerRunningInfo, broker, code, header, timeout_ms=RELAY_TIMEOUT_MS)

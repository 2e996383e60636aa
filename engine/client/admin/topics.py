"""Topics: listing, creating, changing, deleting, and how full they are."""

from __future__ import annotations

from collections.abc import Iterable

from engine.client.admin.name_servers import ClusterAdmin
from engine.client.admin.part import AdminPart
from engine.client.instance.routes import master_addresses
from engine.errors import NotFound
from engine.protocol.bodies.basics import GroupList, TopicList
from engine.protocol.bodies.routes import TopicRouteData
from engine.protocol.bodies.stats import TopicStatsTable
from engine.protocol.bodies.topics import (
    CreateTopicListRequestBody,
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
)
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.headers.namesrv import DeleteTopicFromNamesrvRequest, GetTopicsByClusterRequest
from engine.protocol.headers.topics import (
    CreateTopicRequest,
    DeleteTopicRequest,
    GetTopicConfigRequest,
    GetTopicStatsInfoRequest,
    QueryTopicConsumeByWhoRequest,
    format_attribute_changes,
)
from engine.protocol.names import DEFAULT_TOPIC, check_topic


class TopicAdmin(AdminPart):
    # -- at the name servers --------------------------------------------------------------------------------

    async def names(self, cluster: str | None = None) -> list[str]:
        """206, or 224 for one cluster: all topics that brokers have registered."""
        if cluster is None:
            answer = await self._instance.call_name_server(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        else:
            header = GetTopicsByClusterRequest(cluster)
            answer = await self._instance.call_name_server(RequestCode.GET_TOPICS_BY_CLUSTER, header)
        return sorted(TopicList.decode(answer.body).topic_list)

    async def system_topics(self, broker: str | None = None) -> set[str]:
        """304 (names of clusters and brokers), or 305 (a broker's own system topics)."""
        if broker is None:
            answer = await self._instance.call_name_server(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS)
        else:
            answer = await self._call(broker, RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
        return set(TopicList.decode(answer.body).topic_list)

    async def route(self, topic: str) -> TopicRouteData:
        """105: which brokers have it, with how many queues."""
        route = await self._instance.name_servers.route(topic)
        if route is None:
            raise NotFound(f"no broker has the topic {topic}", code=ResponseCode.TOPIC_NOT_EXIST)
        return route

    async def delete_in_name_servers(self, topic: str, cluster: str | None = None) -> None:
        """216, to every name server: they do not replicate."""
        header = DeleteTopicFromNamesrvRequest(topic, cluster)
        for address in self._instance.name_servers.addresses:
            await self._call(address, RequestCode.DELETE_TOPIC_IN_NAMESRV, header)

    # -- at one broker --------------------------------------------------------------------------------------

    async def create(
        self, broker: str, config: TopicConfig, attribute_changes: dict[str, str | None] | None = None
    ) -> None:
        """17: create the topic or change it. `attribute_changes` maps a name to its value, or to None."""
        check_topic(config.topic_name)
        header = CreateTopicRequest(
            topic=config.topic_name,
            read_queue_nums=config.read_queue_nums,
            write_queue_nums=config.write_queue_nums,
            perm=config.perm,
            default_topic=DEFAULT_TOPIC,
            topic_filter_type=config.topic_filter_type.name,
            topic_sys_flag=config.topic_sys_flag,
            order=config.order,
            attributes=format_attribute_changes(attribute_changes or {}) or None,
        )
        await self._call(broker, RequestCode.UPDATE_AND_CREATE_TOPIC, header)

    async def create_many(self, broker: str, configs: Iterable[TopicConfig]) -> None:
        """18."""
        body = CreateTopicListRequestBody(tuple(configs)).encode()
        await self._call(broker, RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body=body)

    async def delete_on_broker(self, broker: str, topic: str) -> None:
        """215: the topic with its queues and offsets."""
        await self._call(broker, RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequest(topic))

    async def config(self, broker: str, topic: str) -> TopicConfig:
        """351."""
        header = GetTopicConfigRequest(topic)
        return await self._ask(TopicConfig, broker, RequestCode.GET_TOPIC_CONFIG, header)

    async def configs(self, broker: str) -> dict[str, TopicConfig]:
        """21: every topic of a broker."""
        found = await self._ask(
            TopicConfigAndMappingSerializeWrapper, broker, RequestCode.GET_ALL_TOPIC_CONFIG
        )
        return dict(found.topic_config_table)

    async def stats_on_broker(self, broker: str, topic: str) -> TopicStatsTable:
        """202: lowest and next offset of each queue, and when it was last written."""
        header = GetTopicStatsInfoRequest(topic)
        return await self._ask(TopicStatsTable, broker, RequestCode.GET_TOPIC_STATS_INFO, header)

    async def groups_on_broker(self, broker: str, topic: str) -> set[str]:
        """300: the groups that consume the topic, online or by their offsets."""
        header = QueryTopicConsumeByWhoRequest(topic)
        found = await self._ask(GroupList, broker, RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, header)
        return set(found.group_list)

    # -- at several brokers ---------------------------------------------------------------------------------

    async def stats(self, topic: str) -> TopicStatsTable:
        """202 of every master that has the topic, merged."""
        parts = [await self.stats_on_broker(address, topic) for address in await self.masters_of(topic)]
        table = {queue: offsets for part in parts for queue, offsets in part.offset_table.items()}
        return TopicStatsTable(table, sum(part.topic_put_tps for part in parts))

    async def groups(self, topic: str) -> set[str]:
        """300 of every master that has the topic."""
        found: set[str] = set()
        for address in await self.masters_of(topic):
            found |= await self.groups_on_broker(address, topic)
        return found

    async def delete(self, topic: str, cluster: str | None = None) -> None:
        """The topic is gone from every broker of the cluster (or of all), then from the name servers."""
        for address in await ClusterAdmin(self._instance).masters(cluster):
            await self.delete_on_broker(address, topic)
        await self.delete_in_name_servers(topic, cluster)

    async def masters_of(self, topic: str) -> list[str]:
        """The masters that have the topic."""
        return list(master_addresses(await self.route(topic)).values())

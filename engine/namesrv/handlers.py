"""One function per request code of the name server. Decides with the tables; waits for nothing.

Names that come over the wire are only ever keys of tables. Registration ties the broker to its connection, so
that a closed connection forgets it at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from engine.errors import BadInput, BadRequest, NotFound, NotPermitted
from engine.namesrv.kv import ORDER_TOPIC_CONFIG, KVConfig
from engine.namesrv.options import CHANGEABLE, NamesrvOptions, apply_properties, as_properties
from engine.namesrv.routes import RouteTable
from engine.net.connection import Connection
from engine.net.outcomes import Persist, PlainHandler, PlainOutcome, Reply
from engine.protocol.bodies.basics import DataVersion, KVTable, TopicList
from engine.protocol.bodies.config_text import decode_config, format_config
from engine.protocol.bodies.registration import BODY_SINCE, RegisterBrokerBody, body_crc32
from engine.protocol.bodies.routes import (
    BrokerMemberGroup,
    GetBrokerMemberGroupResponseBody,
    TopicRouteData,
)
from engine.protocol.bodies.topics import TopicConfigAndMappingSerializeWrapper
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers import namesrv as headers
from engine.protocol.names import check_topic

log = logging.getLogger(__name__)

KV_FILE = "kvConfig.json"
_STANDARD_JSON_FROM = 401
_UNIT = 0x1
_UNIT_SUB = 0x2


class NamesrvHandlers:
    def __init__(
        self,
        routes: RouteTable,
        kv: KVConfig,
        options: NamesrvOptions,
        now_ms: Callable[[], int],
        on_options: Callable[[NamesrvOptions], None],
    ) -> None:
        self._routes = routes
        self._kv = kv
        self._options = options
        self._now_ms = now_ms
        self._on_options = on_options
        self._started_ms = now_ms()

    def routes(self) -> dict[int, PlainHandler]:
        return {
            RequestCode.PUT_KV_CONFIG: self.put_kv,
            RequestCode.GET_KV_CONFIG: self.get_kv,
            RequestCode.DELETE_KV_CONFIG: self.delete_kv,
            RequestCode.GET_KVLIST_BY_NAMESPACE: self.kv_list,
            RequestCode.REGISTER_BROKER: self.register_broker,
            RequestCode.UNREGISTER_BROKER: self.unregister_broker,
            RequestCode.BROKER_HEARTBEAT: self.broker_heartbeat,
            RequestCode.QUERY_DATA_VERSION: self.query_data_version,
            RequestCode.GET_BROKER_MEMBER_GROUP: self.member_group,
            RequestCode.GET_ROUTEINFO_BY_TOPIC: self.route_info,
            RequestCode.GET_BROKER_CLUSTER_INFO: self.cluster_info,
            RequestCode.WIPE_WRITE_PERM_OF_BROKER: self.wipe_write_permission,
            RequestCode.ADD_WRITE_PERM_OF_BROKER: self.add_write_permission,
            RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: self.all_topics,
            RequestCode.GET_TOPICS_BY_CLUSTER: self.topics_by_cluster,
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: self.system_topics,
            RequestCode.GET_UNIT_TOPIC_LIST: lambda request, client: self._flagged(_UNIT),
            RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: lambda request, client: self._flagged(_UNIT_SUB),
            RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: lambda request, client: self._flagged(
                _UNIT_SUB, _UNIT
            ),
            RequestCode.DELETE_TOPIC_IN_NAMESRV: self.delete_topic,
            RequestCode.REGISTER_TOPIC_IN_NAMESRV: self.register_topic,
            RequestCode.UPDATE_NAMESRV_CONFIG: self.update_config,
            RequestCode.GET_NAMESRV_CONFIG: self.get_config,
        }

    # -- key-value configuration ----------------------------------------------------------------------------

    def put_kv(self, request: Command, client: Connection) -> PlainOutcome:
        header = headers.PutKVConfigRequest.decode(request.fields)
        self._kv.put(header.namespace, header.key, header.value)
        return Persist(KV_FILE, Reply())

    def get_kv(self, request: Command, client: Connection) -> PlainOutcome:
        header = headers.GetKVConfigRequest.decode(request.fields)
        value = self._kv.get(header.namespace, header.key)
        if value is None:
            text = f"No config item, Namespace: {header.namespace} Key: {header.key}"
            raise NotFound(text, code=ResponseCode.QUERY_NOT_FOUND)
        return Reply(fields={"value": value})

    def delete_kv(self, request: Command, client: Connection) -> PlainOutcome:
        header = headers.DeleteKVConfigRequest.decode(request.fields)
        self._kv.delete(header.namespace, header.key)
        return Persist(KV_FILE, Reply())

    def kv_list(self, request: Command, client: Connection) -> PlainOutcome:
        header = headers.GetKVListByNamespaceRequest.decode(request.fields)
        values = self._kv.namespace(header.namespace)
        if values is None:
            text = f"No config item, Namespace: {header.namespace}"
            raise NotFound(text, code=ResponseCode.QUERY_NOT_FOUND)
        return Reply(body=KVTable(table=values).encode())

    # -- brokers --------------------------------------------------------------------------------------------

    def register_broker(self, request: Command, client: Connection) -> PlainOutcome:
        header = headers.RegisterBrokerRequest.decode(request.fields)
        if header.body_crc32 and body_crc32(bytes(request.body)) != header.body_crc32:
            raise BadRequest("crc32 not match")
        body = _registration_of(request)
        result = self._routes.register(header, body, client, self._now_ms())
        if result is None:
            raise BadRequest("register the broker in full before it registers a single topic")
        if result.is_refused:
            log.warning("%s is an old master of %s: refused", header.broker_addr, header.broker_name)
        if result.is_new_channel:
            who = (header.broker_name, header.broker_id, header.broker_addr, header.cluster_name)
            log.info("broker %s %d at %s joined %s", *who)
            client.on_close(self.forget)
        reply = headers.RegisterBrokerResponse(
            ha_server_addr=result.ha_server_addr, master_addr=result.master_addr
        )
        ordered = self._kv.namespace(ORDER_TOPIC_CONFIG)
        table = KVTable(table=ordered).encode() if ordered is not None else b""
        return Reply(fields=reply.encode(), body=table)

    def forget(self, client: Connection) -> None:
        """The connection of some brokers closed."""
        for cluster, address, live in self._routes.served_by(client):
            log.warning("broker %s %d at %s is gone: connection closed", live.group, live.broker_id, address)
            self._routes.unregister(cluster, address, live.group, live.broker_id)

    def unregister_broker(self, request: Command, client: Connection) -> PlainOutcome:
        header = headers.UnregisterBrokerRequest.decode(request.fields)
        who = (header.cluster_name, header.broker_addr, header.broker_name, header.broker_id)
        if self._routes.unregister(*who):
            log.info("broker %s %d at %s left %s", *who[2:], *who[1::-1])
        return Reply()

    def broker_heartbeat(self, request: Command, client: Connection) -> PlainOutcome:
        header = headers.BrokerHeartbeatRequest.decode(request.fields)
        self._routes.touch(header.cluster_name, header.broker_addr, self._now_ms())
        return Reply()

    def query_data_version(self, request: Command, client: Connection) -> PlainOutcome:
        header = headers.QueryDataVersionRequest.decode(request.fields)
        theirs = DataVersion.decode(request.body)
        ours = self._routes.data_version(header.cluster_name, header.broker_addr)
        if ours == theirs:
            self._routes.touch(header.cluster_name, header.broker_addr, self._now_ms())
        reply = headers.QueryDataVersionResponse(changed=ours != theirs)
        return Reply(fields=reply.encode(), body=ours.encode() if ours is not None else b"")

    def member_group(self, request: Command, client: Connection) -> PlainOutcome:
        header = headers.GetBrokerMemberGroupRequest.decode(request.fields)
        group = self._routes.group(header.broker_name)
        is_found = group is not None and group.cluster == header.cluster_name
        member_group = BrokerMemberGroup(
            broker_name=header.broker_name,
            cluster=header.cluster_name,
            broker_addrs=dict(group.addresses) if group is not None and is_found else {},
        )
        return Reply(body=GetBrokerMemberGroupResponseBody(member_group).encode())

    # -- routes and lists -----------------------------------------------------------------------------------

    def route_info(self, request: Command, client: Connection) -> PlainOutcome:
        header = headers.GetRouteInfoRequest.decode(request.fields)
        options = self._options
        if (
            options.need_wait_for_service
            and self._now_ms() < self._started_ms + options.wait_seconds_for_service * 1000
        ):
            return Reply(ResponseCode.SYSTEM_ERROR, "name server not ready")
        order = self._kv.get(ORDER_TOPIC_CONFIG, header.topic) if options.order_message_enable else None
        route = self._routes.route(header.topic, order)
        if route is None:
            raise NotFound(
                f"No topic route info in name server for the topic: {header.topic}",
                code=ResponseCode.TOPIC_NOT_EXIST,
            )
        standard = request.version >= _STANDARD_JSON_FROM or bool(header.accept_standard_json_only)
        return Reply(body=route.encode(standard=standard))

    def cluster_info(self, request: Command, client: Connection) -> PlainOutcome:
        return Reply(body=self._routes.cluster_info().encode())

    def all_topics(self, request: Command, client: Connection) -> PlainOutcome:
        if not self._options.enable_all_topic_list:
            return Reply(ResponseCode.SYSTEM_ERROR, "disable")
        return _topic_list(self._routes.topics())

    def topics_by_cluster(self, request: Command, client: Connection) -> PlainOutcome:
        if not self._options.enable_topic_list:
            return Reply(ResponseCode.SYSTEM_ERROR, "disable")
        header = headers.GetTopicsByClusterRequest.decode(request.fields)
        return _topic_list(self._routes.topics_of_cluster(header.cluster))

    def system_topics(self, request: Command, client: Connection) -> PlainOutcome:
        names, address = self._routes.system_names()
        return Reply(body=TopicList(topic_list=tuple(names), broker_addr=address).encode())

    def _flagged(self, wanted: int, unwanted: int = 0) -> PlainOutcome:
        if not self._options.enable_topic_list:
            return Reply(ResponseCode.SYSTEM_ERROR, "disable")
        return _topic_list(self._routes.topics_with_flag(wanted, unwanted))

    # -- operators ------------------------------------------------------------------------------------------

    def wipe_write_permission(self, request: Command, client: Connection) -> PlainOutcome:
        header = headers.WipeWritePermOfBrokerRequest.decode(request.fields)
        count = self._routes.set_write_permission(header.broker_name, allowed=False)
        return Reply(fields=headers.WipeWritePermOfBrokerResponse(wipe_topic_count=count).encode())

    def add_write_permission(self, request: Command, client: Connection) -> PlainOutcome:
        header = headers.AddWritePermOfBrokerRequest.decode(request.fields)
        count = self._routes.set_write_permission(header.broker_name, allowed=True)
        return Reply(fields=headers.AddWritePermOfBrokerResponse(add_topic_count=count).encode())

    def delete_topic(self, request: Command, client: Connection) -> PlainOutcome:
        header = headers.DeleteTopicFromNamesrvRequest.decode(request.fields)
        self._routes.delete_topic(header.topic, header.cluster_name)
        return Reply()

    def register_topic(self, request: Command, client: Connection) -> PlainOutcome:
        header = headers.RegisterTopicRequest.decode(request.fields)
        check_topic(header.topic)
        self._routes.add_topic(header.topic, TopicRouteData.decode(request.body).queue_datas)
        return Reply()

    def update_config(self, request: Command, client: Connection) -> PlainOutcome:
        properties = decode_config(bytes(request.body))
        refused = sorted(set(properties) - CHANGEABLE)
        if refused:
            raise NotPermitted(f"cannot be changed at run time: {', '.join(refused)[:200]}")
        try:
            self._options, _ = apply_properties(self._options, properties)
        except BadInput as error:
            raise BadRequest(error.text) from None
        self._on_options(self._options)
        return Reply()

    def get_config(self, request: Command, client: Connection) -> PlainOutcome:
        return Reply(body=format_config(as_properties(self._options)).encode())


def _registration_of(request: Command) -> RegisterBrokerBody:
    if not request.body:
        return RegisterBrokerBody()
    if request.version < BODY_SINCE:
        return RegisterBrokerBody(TopicConfigAndMappingSerializeWrapper.decode(request.body))
    return RegisterBrokerBody.decode(request.body, version=request.version)


def _topic_list(topics: list[str]) -> Reply:
    return Reply(body=TopicList(topic_list=tuple(topics)).encode())

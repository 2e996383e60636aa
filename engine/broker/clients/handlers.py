"""Heartbeats and members: 34 heartbeat, 35 unregister, 38 list a group, 46 check a subscription."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.clients.client_tables import ClientInfo, ConsumerTable, ProducerTable
from engine.broker.clients.membership_io import Membership
from engine.broker.groups.group_table import GroupAdmission
from engine.broker.pulling.filters import is_tag_type, normal_subscription, subscription_filter
from engine.broker.topics.auto_creation import AutoCreationRefused
from engine.broker.topics.topic_table import TOPICS_FILE, TopicTable, retry_topic_config
from engine.errors import BadRequest, NotFound
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply
from engine.protocol.bodies.clients import CheckClientRequestBody, ConsumerData, HeartbeatData
from engine.protocol.bodies.groups import GetConsumerListByGroupResponseBody
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Buffer, Command
from engine.protocol.headers.groups import (
    GetConsumerListByGroupRequest,
    HeartbeatResponse,
    UnregisterClientRequest,
)
from engine.protocol.names import check_group, is_valid_topic, retry_topic

MAX_GROUPS_PER_HEARTBEAT = 1_000
MAX_SUBSCRIPTIONS_PER_GROUP = 10_000
MAX_SUBSCRIPTIONS_PER_HEARTBEAT = 20_000
MAX_HEARTBEAT_BYTES = 4 * 1024 * 1024
MAX_CLIENT_ID_LENGTH = 1_024
MAX_PRODUCER_GROUP_LENGTH = 255


@dataclass(eq=False, repr=False)
class ClientHandlers:
    consumers: ConsumerTable[Connection]
    producers: ProducerTable[Connection]
    groups: GroupAdmission
    topics: TopicTable
    membership: Membership
    allows_sql: bool
    now_ms: Callable[[], int]
    announce: Callable[[str], None]

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.HEART_BEAT: self.heartbeat,
            RequestCode.UNREGISTER_CLIENT: self.unregister,
            RequestCode.GET_CONSUMER_LIST_BY_GROUP: self.list_consumers,
            RequestCode.CHECK_CLIENT_CONFIG: self.check_client,
        }

    def heartbeat(self, request: Command, client: Connection) -> Outcome:
        _check_size(request.body)
        data = HeartbeatData.decode(request.body)
        _check_heartbeat(data)
        now_ms = self.now_ms()
        info = ClientInfo(data.client_id, request.language, request.version, now_ms)
        self.membership.watch(client)
        changed = False
        refused: AutoCreationRefused | None = None
        for consumer in data.consumer_data_set:
            try:
                changed |= self._register_consumer(consumer, data.without_sub, client, info)
            except AutoCreationRefused as error:
                refused = error
        for producer in data.producer_data_set:
            self.producers.register(producer.group_name, client, info)
        if refused is not None:
            # The client's other groups are registered: they must not expire because of this one.
            raise refused
        return Reply(fields=HeartbeatResponse(True, changed).encode())

    def _register_consumer(
        self, consumer: ConsumerData, without_sub: bool, client: Connection, info: ClientInfo
    ) -> bool:
        group = consumer.group_name
        config = self.groups.find(group, info.last_update_ms, client.remote[0])
        if config is None:
            return False
        if without_sub:
            return self.consumers.touch(group, client, info)
        retry = retry_topic(group)
        if retry not in self.topics:
            created = retry_topic_config(retry, config.retry_queue_nums, consumer.unit_mode)
            self.topics.create_unsaved(created, info.last_update_ms)
            self.announce(TOPICS_FILE)
        # An invalid topic name must not cost the client its other subscriptions.
        subscriptions = [
            normal_subscription(data) for data in consumer.subscription_data_set if is_valid_topic(data.topic)
        ]
        if self.consumers.register(consumer, subscriptions, client, info):
            self.membership.notify(group)
            return True
        return False

    def unregister(self, request: Command, client: Connection) -> Outcome:
        """Only the requesting connection is unregistered, whatever clientID the request names."""
        header = UnregisterClientRequest.decode(request.fields)
        if header.producer_group:
            self.producers.unregister(header.producer_group, client)
        if header.consumer_group and self.consumers.unregister(header.consumer_group, client):
            self.membership.notify(header.consumer_group)
        return Reply()

    def list_consumers(self, request: Command, client: Connection) -> Outcome:
        name = GetConsumerListByGroupRequest.decode(request.fields).consumer_group
        group = self.consumers.group(name)
        if group is None:
            raise NotFound(f"no consumer for this group, {name:.200}", code=ResponseCode.SYSTEM_ERROR)
        return Reply(body=GetConsumerListByGroupResponseBody(tuple(group.client_ids())).encode())

    def check_client(self, request: Command, client: Connection) -> Outcome:
        if not request.body:
            return Reply()
        data = CheckClientRequestBody.decode(request.body).subscription_data
        if data is not None and not is_tag_type(data.expression_type):
            subscription_filter(data.sub_string, data.expression_type, allows_sql=self.allows_sql)
        return Reply()


def _check_size(body: Buffer) -> None:
    """Before it is decoded, which takes seconds for a hundred thousand subscriptions."""
    if len(body) > MAX_HEARTBEAT_BYTES:
        raise _bad(f"a heartbeat of {len(body)} bytes, at most {MAX_HEARTBEAT_BYTES} are read")
    if bytes(body).count(b'"topic"') > MAX_SUBSCRIPTIONS_PER_HEARTBEAT:
        raise _bad(f"more than {MAX_SUBSCRIPTIONS_PER_HEARTBEAT} subscriptions in one heartbeat")


def _check_heartbeat(data: HeartbeatData) -> None:
    """All names and sizes, before anything is registered."""
    if not data.client_id or len(data.client_id) > MAX_CLIENT_ID_LENGTH:
        raise _bad("clientID is missing or too long")
    if len(data.consumer_data_set) + len(data.producer_data_set) > MAX_GROUPS_PER_HEARTBEAT:
        raise _bad(f"more than {MAX_GROUPS_PER_HEARTBEAT} groups in one heartbeat")
    for producer in data.producer_data_set:
        # Only a table key, and traces use names that are not valid for consumers.
        if not 0 < len(producer.group_name) <= MAX_PRODUCER_GROUP_LENGTH:
            raise _bad("the name of a producer group is missing or too long")
    for consumer in data.consumer_data_set:
        check_group(consumer.group_name)
        if len(consumer.subscription_data_set) > MAX_SUBSCRIPTIONS_PER_GROUP:
            raise _bad(f"more than {MAX_SUBSCRIPTIONS_PER_GROUP} subscriptions of one group")


def _bad(text: str) -> BadRequest:
    return BadRequest(text, code=ResponseCode.INVALID_PARAMETER)

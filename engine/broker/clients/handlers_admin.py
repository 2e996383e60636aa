"""Client administration: 203, 204 and 328 list clients; 223, 307 and 309 query them.

The broker relays a query over the client's own connection (`Relay`). Only the fields that the protocol names
are passed on, never an administrator's credentials. If a client does not answer in time (the C++ and Node
clients never answer some of these), the answer is a time-out.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from engine.access.gate import RecordCheck, unchecked
from engine.access.resources import Action
from engine.broker.clients.client_tables import ClientInfo, ConsumerGroup, ConsumerTable, ProducerTable
from engine.broker.groups.group_table import SubscriptionGroupTable
from engine.broker.topics.topic_table import TopicTable
from engine.broker.transactions.half_messages import commit_log_offset_of, topic_of
from engine.errors import BadRequest, NotFound, Refused
from engine.net.connection import Connection
from engine.net.outcomes import ColdRead, Handler, Outcome, Relay, Reply
from engine.protocol.bodies import clients as bodies
from engine.protocol.bodies.offsets import GetConsumerStatusBody
from engine.protocol.codes import LanguageCode, RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.groups import (
    ConsumeMessageDirectlyRequest,
    GetConsumerConnectionListRequest,
    GetConsumerRunningInfoRequest,
    GetProducerConnectionListRequest,
)
from engine.protocol.headers.offsets import GetConsumerStatusRequest
from engine.protocol.records import decode_record
from engine.store.log.message_log import MessageLog

_RELAY_MS = 10_000
_STATUS_MS = 5_000
_ANSWERS_SINCE = 28
"""Clients before version 3.0.7 do not know these requests."""


@dataclass(eq=False, repr=False)
class ClientAdminHandlers:
    broker_name: str
    consumers: ConsumerTable[Connection]
    producers: ProducerTable[Connection]
    topics: TopicTable
    groups: SubscriptionGroupTable
    log: MessageLog
    check_record: RecordCheck = unchecked

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.GET_CONSUMER_CONNECTION_LIST: self.consumer_connections,
            RequestCode.GET_PRODUCER_CONNECTION_LIST: self.producer_connections,
            RequestCode.GET_ALL_PRODUCER_INFO: self.all_producers,
            RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: self.consumer_status,
            RequestCode.GET_CONSUMER_RUNNING_INFO: self.running_info,
            RequestCode.CONSUME_MESSAGE_DIRECTLY: self.consume_directly,
        }

    # -- lists ----------------------------------------------------------------------------------------------

    def consumer_connections(self, request: Command, client: Connection) -> Outcome:
        name = GetConsumerConnectionListRequest.decode(request.fields).consumer_group
        group = self.consumers.group(name)
        if group is None:
            raise NotFound(
                f"the consumer group[{name:.200}] not online", code=ResponseCode.CONSUMER_NOT_ONLINE
            )
        body = bodies.ConsumerConnection(
            connection_set=tuple(_connection(channel, info) for channel, info in group.clients.items()),
            subscription_table=dict(group.subscriptions),
            consume_type=group.consume_type,
            message_model=group.message_model,
            consume_from_where=group.consume_from_where,
        )
        return Reply(body=body.encode())

    def producer_connections(self, request: Command, client: Connection) -> Outcome:
        name = GetProducerConnectionListRequest.decode(request.fields).producer_group
        clients = self.producers.clients(name)
        if not clients:
            raise NotFound(f"the producer group[{name:.200}] not exist")
        connections = tuple(_connection(channel, info) for channel, info in clients.items())
        return Reply(body=bodies.ProducerConnection(connections).encode())

    def all_producers(self, request: Command, client: Connection) -> Outcome:
        table = {
            group: tuple(_producer(channel, info) for channel, info in self.producers.clients(group).items())
            for group in self.producers.names()
        }
        return Reply(body=bodies.ProducerTableInfo(table).encode())

    # -- questions to clients -------------------------------------------------------------------------------

    def consumer_status(self, request: Command, client: Connection) -> Outcome:
        """The offsets of each member on a topic; members are queried one after the other."""
        header = GetConsumerStatusRequest.decode(request.fields)
        group = self.consumers.group(header.group)
        members = [] if group is None else _askable(group, header.client_addr)
        if not members:
            raise NotFound(f"no consumer of {header.group:.200} that could be asked is online")
        return self._ask_status(header, members, GetConsumerStatusBody())

    def _ask_status(
        self,
        header: GetConsumerStatusRequest,
        members: list[tuple[Connection, str]],
        known: GetConsumerStatusBody,
    ) -> Outcome:
        if not members:
            return Reply(body=known.encode())
        (channel, client_id), rest = members[0], members[1:]
        asked = GetConsumerStatusRequest(header.topic, header.group)
        question = Command(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, fields=asked.encode())

        def finish(answer: Command | None) -> Outcome:
            if answer is None or answer.code != ResponseCode.SUCCESS:
                return self._ask_status(header, rest, known)
            offsets = GetConsumerStatusBody.decode(answer.body).message_queue_table
            return self._ask_status(
                header, rest, replace(known, consumer_table={**known.consumer_table, client_id: offsets})
            )

        return Relay(channel, question, _STATUS_MS, finish)

    def running_info(self, request: Command, client: Connection) -> Outcome:
        header = GetConsumerRunningInfoRequest.decode(request.fields)
        member = self._member(header.consumer_group, header.client_id)
        question = Command(RequestCode.GET_CONSUMER_RUNNING_INFO, fields=header.encode())
        return _relayed(member, question, header.client_id)

    def consume_directly(self, request: Command, client: Connection) -> Outcome:
        """A stored message is pushed to one member, whose listener runs on it."""
        header = ConsumeMessageDirectlyRequest.decode(request.fields)
        if not header.client_id or not header.msg_id:
            raise BadRequest("clientId and msgId are needed")
        member = self._member(header.consumer_group, header.client_id)
        read = self.log.plan_record(commit_log_offset_of(header.msg_id))

        def finish(data: bytes) -> Outcome:
            if not data:
                raise NotFound(f"this broker holds no message {header.msg_id}")
            found = decode_record(data)
            self.check_record(request, client, topic_of(found), Action.SUB, header.consumer_group)
            return self._consume(header, member, found.topic, data)

        return ColdRead(lambda: read() or b"", finish)

    def _consume(
        self, header: ConsumeMessageDirectlyRequest, member: Connection, topic_name: str, record: bytes
    ) -> Outcome:
        topic = self.topics.get(topic_name)
        group = self.groups.get(header.consumer_group)
        asked = replace(
            header,
            broker_name=self.broker_name,
            topic_sys_flag=0 if topic is None else topic.topic_sys_flag,
            group_sys_flag=0 if group is None else group.group_sys_flag,
        )
        question = Command(RequestCode.CONSUME_MESSAGE_DIRECTLY, fields=asked.encode(), body=record)
        return _relayed(member, question, header.client_id or "")

    def _member(self, group: str, client_id: str) -> Connection:
        online = self.consumers.group(group)
        channel = None if online is None else online.channel_of(client_id)
        if online is None or channel is None:
            raise NotFound(f"the consumer <{group:.200}> <{client_id:.200}> not online")
        if online.clients[channel].version < _ANSWERS_SINCE:
            raise Refused(f"the consumer <{group:.200}> <{client_id:.200}> is too old to be asked")
        return channel


def _askable(group: ConsumerGroup[Connection], client_id: str | None) -> list[tuple[Connection, str]]:
    return [
        (channel, info.client_id)
        for channel, info in group.clients.items()
        if info.version >= _ANSWERS_SINCE and client_id in (None, info.client_id)
    ]


def _relayed(member: Connection, question: Command, client_id: str) -> Relay:
    def finish(answer: Command | None) -> Outcome:
        if answer is None:
            text = f"the consumer {client_id:.200} did not answer within {_RELAY_MS} ms"
            return Reply(ResponseCode.CONSUME_MSG_TIMEOUT, text)
        return Reply(answer.code, answer.remark, dict(answer.fields), bytes(answer.body))

    return Relay(member, question, _RELAY_MS, finish)


def _language(number: int) -> LanguageCode:
    return LanguageCode(number) if number in LanguageCode.__members__.values() else LanguageCode.OTHER


def _connection(channel: Connection, info: ClientInfo) -> bodies.Connection:
    return bodies.Connection(info.client_id, channel.peer_name, _language(info.language), info.version)


def _producer(channel: Connection, info: ClientInfo) -> bodies.ProducerInfo:
    return bodies.ProducerInfo(
        info.client_id, channel.remote[0], _language(info.language), info.version, info.last_update_ms
    )

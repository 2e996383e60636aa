"""What brokers ask of a client over the client's own connection: rebalance, reset, tell, consume.

    40  NOTIFY_CONSUMER_IDS_CHANGED      the group's members changed: share the queues out again
    220 RESET_CONSUMER_CLIENT_OFFSET     go on at these offsets
    221 GET_CONSUMER_STATUS_FROM_CLIENT  say how far you are
    307 GET_CONSUMER_RUNNING_INFO        say all about yourself
    309 CONSUME_MESSAGE_DIRECTLY         run the listener on this one message
    39  CHECK_TRANSACTION_STATE          say what became of this transaction
    326 PUSH_REPLY_MESSAGE_TO_CLIENT     here is the reply to a request

Whatever concerns a group that is not here, or another code, is refused, never left without an answer.
Loop thread only; a request that has to wait (309, 39) runs as a task of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Protocol

from msgspec.structs import replace

from engine.client.instance.periodic import end_task
from engine.client.instance.thread_stacks import thread_stacks
from engine.client.sending.replies import Replies
from engine.errors import EngineError, NotFound
from engine.net.connection import Connection
from engine.net.outcomes import Reply
from engine.net.serving import encode_reply
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import ConsumeMessageDirectlyResult, ConsumerData, ConsumerRunningInfo
from engine.protocol.bodies.offsets import GetConsumerStatusBody, ResetOffsetBody
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.groups import (
    ConsumeMessageDirectlyRequest,
    GetConsumerRunningInfoRequest,
    NotifyConsumerIdsChangedRequest,
)
from engine.protocol.headers.offsets import GetConsumerStatusRequest, ResetOffsetRequest
from engine.protocol.properties import Property
from engine.protocol.records import Record, decode_record

log = logging.getLogger(__name__)


class GroupMember(Protocol):
    """What an instance and the brokers must be able to ask of a consumer."""

    @property
    def group(self) -> str: ...

    def consumer_data(self) -> ConsumerData: ...

    def topics(self) -> set[str]: ...

    def on_members_changed(self) -> None: ...

    def on_route_changed(self, topic: str) -> None: ...

    async def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None: ...

    def offsets_of(self, topic: str) -> dict[MessageQueue, int]: ...

    def running_info(self) -> ConsumerRunningInfo: ...

    async def consume_directly(self, record: Record, broker_name: str) -> ConsumeMessageDirectlyResult: ...


class TransactionChecker(Protocol):
    async def answer_check(self, request: Command, connection: Connection) -> None: ...


class ServerRequests:
    """Called with every request that arrives on a connection we opened."""

    def __init__(self, consumers: Mapping[str, GroupMember]) -> None:
        self._consumers = consumers
        self.transactions: dict[str, TransactionChecker] = {}
        """By producer group."""
        self.replies = Replies()
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self, request: Command, connection: Connection) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(request, connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        await asyncio.gather(*map(end_task, list(self._tasks)))

    async def _serve(self, request: Command, connection: Connection) -> None:
        try:
            reply = await self._answer(request, connection)
        except EngineError as error:
            log.info("request %d of %s: %s", request.code, connection.peer_name, error.text)
            reply = Reply(error.code, error.text)
        if not request.is_oneway:
            connection.send(encode_reply(request, reply))

    async def _answer(self, request: Command, connection: Connection | None = None) -> Reply:
        if request.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
            self._member(
                NotifyConsumerIdsChangedRequest.decode(request.fields).consumer_group
            ).on_members_changed()
            return Reply()
        if request.code == RequestCode.RESET_CONSUMER_CLIENT_OFFSET:
            reset = ResetOffsetRequest.decode(request.fields)
            offsets = ResetOffsetBody.decode(request.body).offset_table
            await self._member(reset.group).reset_offsets(reset.topic, offsets)
            return Reply()
        if request.code == RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT:
            status = GetConsumerStatusRequest.decode(request.fields)
            offsets = self._member(status.group).offsets_of(status.topic)
            return Reply(body=GetConsumerStatusBody(message_queue_table=offsets).encode())
        if request.code == RequestCode.GET_CONSUMER_RUNNING_INFO:
            asked = GetConsumerRunningInfoRequest.decode(request.fields)
            info = self._member(asked.consumer_group).running_info()
            return Reply(
                body=(replace(info, jstack=thread_stacks()) if asked.jstack_enable else info).encode()
            )
        if request.code == RequestCode.CONSUME_MESSAGE_DIRECTLY:
            return await self._consume_directly(request)
        if request.code == RequestCode.CHECK_TRANSACTION_STATE:
            return await self._check_transaction(request, connection)
        if request.code == RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT:
            self.replies.arrived(request)
            return Reply()
        return Reply(
            ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
            f"request type {request.code} not supported by this client",
        )

    async def _consume_directly(self, request: Command) -> Reply:
        header = ConsumeMessageDirectlyRequest.decode(request.fields)
        member = self._member(header.consumer_group)
        result = await member.consume_directly(decode_record(request.body), header.broker_name or "")
        return Reply(body=result.encode())

    async def _check_transaction(self, request: Command, connection: Connection | None) -> Reply:
        group = decode_record(request.body).properties.get(Property.PGROUP, "")
        checker = self.transactions.get(group)
        if checker is None or connection is None:
            raise NotFound(f"the group {group} has no transaction producer in this client")
        await checker.answer_check(request, connection)
        return Reply()

    def _member(self, group: str) -> GroupMember:
        member = self._consumers.get(group)
        if member is None:
            raise NotFound(f"the group {group} has no consumer in this client")
        return member

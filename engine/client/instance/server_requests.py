"""Requests that brokers send to a client over the client's own connection.

    40  NOTIFY_CONSUMER_IDS_CHANGED      the group's members changed: share the queues out again
    220 RESET_CONSUMER_CLIENT_OFFSET     go on at these offsets
    221 GET_CONSUMER_STATUS_FROM_CLIENT  the consumer's offsets
    307 GET_CONSUMER_RUNNING_INFO        the consumer's queues, rates, settings and thread stacks
    309 CONSUME_MESSAGE_DIRECTLY         run the listener on this one message
    39  CHECK_TRANSACTION_STATE          the outcome of this transaction
    326 PUSH_REPLY_MESSAGE_TO_CLIENT     the reply to a request

Requests for a group without a member in this client, and other codes, are refused. Each request runs as its
own task.
Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from engine.client.instance.periodic import end_task
from engine.client.sending.replies import Replies
from engine.errors import EngineError, NotFound
from engine.net.connection import Connection
from engine.net.outcomes import Reply
from engine.protocol.bodies.offsets import GetConsumerStatusBody, ResetOffsetBody
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command, encode_reply
from engine.protocol.headers.groups import (
    ConsumeMessageDirectlyRequest,
    GetConsumerRunningInfoRequest,
    NotifyConsumerIdsChangedRequest,
)
from engine.protocol.headers.offsets import GetConsumerStatusRequest, ResetOffsetRequest
from engine.protocol.properties import Property
from engine.protocol.records import decode_record

if TYPE_CHECKING:
    from engine.client.consuming.group_consumer import GroupConsumer
    from engine.client.sending.transaction_producer import TransactionProducer

log = logging.getLogger(__name__)

MAX_TASKS = 1_000
MAX_CALLS = 100
"""Limits of `thread_stacks`: the answer of a client that hangs must still fit into one frame."""


class ServerRequests:
    """Called with every request that arrives on a connection we opened."""

    def __init__(self, consumers: Mapping[str, GroupConsumer]) -> None:
        self._consumers = consumers
        self.transactions: dict[str, TransactionProducer] = {}
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
            raise NotFound(f"group {group} has no transaction producer in this client")
        await checker.answer_check(request, connection)
        return Reply()

    def _member(self, group: str) -> GroupConsumer:
        member = self._consumers.get(group)
        if member is None:
            raise NotFound(f"group {group} has no consumer in this client")
        return member


def thread_stacks() -> str:
    """The stacks of all threads and tasks of this process, as text for an operator (`consumerStatus -s`).

    In the shape that RocketMQ's clients send: a line with the thread's name, id and state, then its calls,
    innermost first, each behind the name. The tasks of the calling loop follow the threads, because listeners
    that are coroutines have no own thread.
    """
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = [
        _stack(names.get(ident, "unknown"), f"TID: {ident} STATE: RUNNABLE", traceback.walk_stack(frame))
        for ident, frame in sys._current_frames().items()
    ]
    for task in sorted(asyncio.all_tasks(), key=asyncio.Task.get_name)[:MAX_TASKS]:
        calls = ((frame, frame.f_lineno) for frame in reversed(task.get_stack(limit=MAX_CALLS)))
        parts.append(_stack(task.get_name(), "TASK STATE: WAITING", calls))
    return "\n".join(parts)


def _stack(name: str, state: str, calls: Iterable[tuple[object, int]]) -> str:
    summary = traceback.StackSummary.extract(calls, limit=MAX_CALLS, lookup_lines=False)  # type: ignore[arg-type]
    lines = [f"{name:<40}{call.name}({call.filename}:{call.lineno})\n" for call in summary]
    return f"{name:<40}{state}\n" + "".join(lines)

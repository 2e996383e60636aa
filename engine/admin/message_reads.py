"""Messages read from queues, oldest first: printMsg, printMsgByQueue, consumeMessage. Nothing is committed.

Each pull gives one table, so that a long topic is printed while it is read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from engine.admin.arguments import INT32_MAX, count, id_number, queue_offset, time_options, truth
from engine.admin.commands import Arguments, Option, command, topic_option
from engine.admin.messages import message_list
from engine.admin.results import Result
from engine.client import Admin, MessageQueue, ReceivedMessage
from engine.errors import BadInput, NotFound
from engine.protocol.codes import ResponseCode

_EXPRESSION = Option("s", "subExpression", "tags, such as 'a || b' (*)", "EXPRESSION", default="*")
_BODY = Option("d", "printBody", "show bodies (true)", "BOOL", truth, True)


@command(
    "printMsg",
    "Messages of a topic, oldest first in each queue",
    topic_option(),
    _EXPRESSION,
    *time_options(),
    _BODY,
)
async def print_msg(admin: Admin, arguments: Arguments) -> AsyncIterator[Result]:
    queues = await admin.messages.queues(arguments.topic)
    async for result in _tables(admin, queues, arguments, arguments.subExpression, arguments.printBody):
        yield result


@command(
    "printMsgByQueue",
    "Messages of one queue",
    topic_option(),
    Option("a", "brokerName", "name of the broker group", "BROKER_NAME", required=True),
    Option("i", "queueId", "queue", "QID", id_number, required=True),
    _EXPRESSION,
    *time_options(),
    _BODY,
)
async def print_msg_by_queue(admin: Admin, arguments: Arguments) -> AsyncIterator[Result]:
    queues = [await _readable_queue(admin, arguments)]
    async for result in _tables(admin, queues, arguments, arguments.subExpression, arguments.printBody):
        yield result


@command(
    "consumeMessage",
    "Read messages of a topic without committing anything",
    topic_option(),
    Option("b", "brokerName", "with -i: name of the broker group", "BROKER_NAME"),
    Option("i", "queueId", "with -b: queue", "QID", id_number),
    Option("o", "offset", "with -b and -i: from this offset on", "OFFSET", queue_offset),
    Option("c", "MessageNumber", "at most this many per queue (128)", "N", count, 128),
    *time_options("s", "e"),
    Option("g", "consumerGroup", "not used: accepted for compatibility with mqadmin", "GROUP"),
    example="consumeMessage -t hello",
    together=("brokerName", "queueId"),
)
async def consume_message(admin: Admin, arguments: Arguments) -> AsyncIterator[Result]:
    if arguments.brokerName is not None:
        queues = [await _readable_queue(admin, arguments)]
    elif arguments.offset is not None:
        raise BadInput("--offset needs --brokerName and --queueId")
    else:
        queues = await admin.messages.queues(arguments.topic)
    most, first = arguments.MessageNumber, arguments.offset
    async for result in _tables(admin, queues, arguments, most=most, first_offset=first):
        yield result


async def _readable_queue(admin: Admin, arguments: Arguments) -> MessageQueue:
    topic, broker_name, queue_id = arguments.topic, arguments.brokerName, arguments.queueId
    queue = MessageQueue(topic, broker_name, queue_id)
    if queue not in await admin.messages.queues(topic):
        text = f"{topic} has no readable queue {queue_id} on {broker_name}"
        raise NotFound(text, code=ResponseCode.QUERY_NOT_FOUND)
    return queue


async def _tables(
    admin: Admin,
    queues: list[MessageQueue],
    arguments: Arguments,
    expression: str = "*",
    with_body: bool = True,
    *,
    most: int = INT32_MAX,
    first_offset: int | None = None,
) -> AsyncIterator[Result]:
    """At most `most` messages of each queue; an empty table when there is none at all."""
    is_empty = True
    for queue in queues:
        left = most
        async for found in _pulls(admin, queue, arguments, expression, first_offset):
            yield message_list(found[:left], with_body=with_body)
            is_empty = False
            left -= len(found)
            if left <= 0:
                break
    if is_empty:
        yield message_list([])


async def _pulls(
    admin: Admin, queue: MessageQueue, arguments: Arguments, expression: str, first_offset: int | None
) -> AsyncIterator[list[ReceivedMessage]]:
    """The messages of a queue between the two times, up to the end that it has now."""
    offset, end = await admin.offsets.min_offset(queue), await admin.offsets.max_offset(queue)
    if first_offset is not None:
        offset = max(offset, first_offset)
    elif arguments.beginTimestamp > 0:
        offset = max(offset, await admin.offsets.offset_at(queue, arguments.beginTimestamp))
    while offset < end:
        result = await admin.messages.read(queue, offset, tags=expression)
        older = [message for message in result.messages if message.store_timestamp <= arguments.endTimestamp]
        if found := [message for message in older if message.queue_offset < end]:
            yield found
        if len(older) < len(result.messages) or result.next_offset <= offset:
            return
        offset = result.next_offset

"""Messages: find one, list a stretch, send one, watch a topic."""

from __future__ import annotations

from collections.abc import AsyncIterator

from engine.admin.commands import (
    Arguments,
    Facts,
    Option,
    Result,
    Table,
    command,
    topic_option,
    truth,
    whole_number,
)
from engine.admin.message_rows import LIST_COLUMNS, list_row, whole
from engine.admin.times import timestamp
from engine.admin.topics import readable_queues
from engine.client.admin import Admin
from engine.client.consuming.pull_requests import Pulls, PullStatus
from engine.client.consuming.subscriptions import subscription
from engine.client.messages import Message, ReceivedMessage
from engine.client.options import PullOptions
from engine.client.sending.producer import Producer
from engine.errors import BadInput, NotFound
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.codes import ResponseCode
from engine.protocol.names import TOOLS_GROUP

_FOREVER_MS = (1 << 63) - 1
_BEGIN = Option("b", "beginTimestamp", "not older than this", "TIME", timestamp, 0)
_END = Option("e", "endTimestamp", "not newer than this", "TIME", timestamp, _FOREVER_MS)
_EXPRESSION = Option("s", "subExpression", "tags, e.g. 'a || b' (*)", "EXPRESSION", default="*")
_BODY = Option("d", "printBody", "show bodies (true)", "BOOL", truth, True)


@command(
    "queryMsgById",
    "A message by its offset id",
    Option("i", "msgId", "offset message id", "ID", required=True),
    topic_option(required=False),
    example="queryMsgById -i 7F00000100002A9F0000000000000000 -t orders",
)
async def query_msg_by_id(admin: Admin, arguments: Arguments) -> Result:
    return whole(await admin.messages.by_offset_id(arguments.msgId, arguments.topic))


@command(
    "queryMsgByUniqueKey",
    "A message by the id that its producer gave",
    topic_option(),
    Option("i", "msgId", "message id", "ID", required=True),
    Option("a", "showAll", "every copy, not only the first"),
    example="queryMsgByUniqueKey -t orders -i 7F0000010000AA…",
)
async def query_msg_by_unique_key(admin: Admin, arguments: Arguments) -> Result:
    found = await admin.messages.by_unique_key(arguments.topic, arguments.msgId)
    if not found:
        raise _none(f"no message {arguments.msgId} in {arguments.topic}")
    return _list(found) if arguments.showAll else whole(found[0])


@command(
    "queryMsgByKey",
    "Messages with a key",
    topic_option(),
    Option("k", "msgKey", "business key", "KEY", required=True),
    _BEGIN,
    _END,
    Option("m", "maxNum", "at most (64)", "N", whole_number, 64),
    example="queryMsgByKey -t orders -k order-17",
)
async def query_msg_by_key(admin: Admin, arguments: Arguments) -> Result:
    return _list(
        await admin.messages.by_key(
            arguments.topic,
            arguments.msgKey,
            arguments.maxNum,
            arguments.beginTimestamp,
            arguments.endTimestamp,
        )
    )


@command(
    "queryMsgByOffset",
    "The message at one place of a queue",
    topic_option(),
    Option("b", "brokerName", "name of the broker group", "NAME", required=True),
    Option("i", "queueId", "queue", "QID", whole_number, required=True),
    Option("o", "offset", "queue offset", "OFFSET", whole_number, required=True),
    example="queryMsgByOffset -t orders -b broker-a -i 0 -o 0",
)
async def query_msg_by_offset(admin: Admin, arguments: Arguments) -> Result:
    queue = MessageQueue(arguments.topic, arguments.brokerName, arguments.queueId)
    return whole(await admin.messages.at(queue, arguments.offset))


@command(
    "queryCq",
    "Units of a consume queue as they are stored",
    topic_option(),
    Option("q", "queue", "queue", "QID", whole_number, required=True),
    Option("i", "index", "first unit", "N", whole_number, required=True),
    Option("c", "count", "how many (10)", "N", whole_number, 10),
    Option("b", "broker", "the broker, HOST:PORT", "ADDRESS"),
    Option("g", "consumer", "evaluate this group's filter", "GROUP"),
    example="queryCq -t orders -q 0 -i 0",
)
async def query_cq(admin: Admin, arguments: Arguments) -> Result:
    broker = arguments.broker or (await admin.topics.masters_of(arguments.topic))[0]
    found = await admin.messages.consume_queue(
        broker, arguments.topic, arguments.queue, arguments.index, arguments.count, arguments.consumer
    )
    rows: list[tuple[object, ...]] = [
        (arguments.index + number, unit.physic_offset, unit.physic_size, unit.tags_code)
        for number, unit in enumerate(found.queue_data)
    ]
    note = f"queue has {found.min_queue_index} to {found.max_queue_index}"
    return Table(("Index", "CommitLog Offset", "Size", "Tags Code"), rows, (note,))


@command(
    "sendMessage",
    "Send one message",
    topic_option(),
    Option("p", "body", "the body, UTF-8", "TEXT", required=True),
    Option("k", "key", "keys, separated by spaces", "KEYS"),
    Option("c", "tags", "tag", "TAG"),
    Option("b", "broker", "with -i: name of the broker group", "NAME"),
    Option("i", "qid", "with -b: queue", "QID", whole_number),
    example='sendMessage -t hello -p "hi"',
)
async def send_message(admin: Admin, arguments: Arguments) -> Result:
    if (arguments.broker is None) != (arguments.qid is None):
        raise BadInput("--broker and --qid go together")
    queue = None
    if arguments.broker is not None:
        queue = MessageQueue(arguments.topic, arguments.broker, arguments.qid)
    message = Message(arguments.topic, arguments.body.encode(), arguments.tags, (arguments.key or "").split())
    async with Producer(TOOLS_GROUP, instance=admin.instance) as producer:
        sent = await producer.send(message, queue=queue)
    row = (sent.queue.broker_name, sent.queue.queue_id, sent.status.name, sent.msg_id, sent.queue_offset)
    return Table(("Broker Name", "QID", "Send Result", "Message ID", "Offset"), [row])


@command(
    "printMsg",
    "Messages of a topic, oldest first per queue",
    topic_option(),
    _EXPRESSION,
    _BEGIN,
    _END,
    _BODY,
    example="printMsg -t orders",
)
async def print_msg(admin: Admin, arguments: Arguments) -> AsyncIterator[Result]:
    route = await admin.topics.route(arguments.topic)
    for queue in readable_queues(arguments.topic, route):
        async for result in _stretch(admin, queue, arguments):
            yield result


@command(
    "printMsgByQueue",
    "Messages of one queue",
    topic_option(),
    Option("a", "brokerName", "name of the broker group", "NAME", required=True),
    Option("i", "queueId", "queue", "QID", whole_number, required=True),
    _EXPRESSION,
    _BEGIN,
    _END,
    _BODY,
    example="printMsgByQueue -t orders -a broker-a -i 0",
)
async def print_msg_by_queue(admin: Admin, arguments: Arguments) -> AsyncIterator[Result]:
    queue = MessageQueue(arguments.topic, arguments.brokerName, arguments.queueId)
    async for result in _stretch(admin, queue, arguments):
        yield result


async def _stretch(admin: Admin, queue: MessageQueue, arguments: Arguments) -> AsyncIterator[Result]:
    """The queue's messages within the times, a table per pull."""
    low, high = await admin.offsets.min_offset(queue), await admin.offsets.max_offset(queue)
    if arguments.beginTimestamp > 0:
        low = max(low, await admin.offsets.offset_at(queue, arguments.beginTimestamp))
    async for found in _pull_all(admin, queue, low, high, arguments.subExpression):
        wanted = [message for message in found if message.store_timestamp <= arguments.endTimestamp]
        if wanted:
            yield _list(wanted, with_body=arguments.printBody)
        if len(wanted) < len(found):
            return


async def _pull_all(
    admin: Admin, queue: MessageQueue, low: int, high: int, expression: str
) -> AsyncIterator[list[ReceivedMessage]]:
    pulls = Pulls(admin.instance, TOOLS_GROUP, PullOptions())
    await admin.instance.routes.must_get(queue.topic)
    wanted = subscription(queue.topic, expression, 0)
    offset = low
    while offset < high:
        result = await pulls.pull(queue, offset, wanted, suspend_ms=0)
        if result.status is PullStatus.FOUND:
            found = [message for message in result.messages if message.queue_offset < high]
            if found:
                yield found
        elif result.next_offset <= offset:
            return
        offset = result.next_offset


@command(
    "consumeMessage",
    "Read messages of a topic without committing anything",
    topic_option(),
    Option("b", "brokerName", "with -i: name of the broker group", "NAME"),
    Option("i", "queueId", "with -b: queue", "QID", whole_number),
    Option("o", "offset", "with -b and -i: from this offset", "OFFSET", whole_number),
    Option("c", "MessageNumber", "at most this many per queue (128)", "N", whole_number, 128),
    Option("s", "beginTimestamp", "not older than this", "TIME", timestamp, 0),
    Option("e", "endTimestamp", "not newer than this", "TIME", timestamp, _FOREVER_MS),
    Option("g", "consumerGroup", "accepted for mqadmin's sake; nothing is committed", "GROUP"),
    example="consumeMessage -t hello",
)
async def consume_message(admin: Admin, arguments: Arguments) -> AsyncIterator[Result]:
    route = await admin.topics.route(arguments.topic)
    queues = readable_queues(arguments.topic, route)
    if arguments.brokerName is not None or arguments.queueId is not None:
        wanted = MessageQueue(arguments.topic, arguments.brokerName or "", arguments.queueId or 0)
        queues = [queue for queue in queues if queue == wanted]
        if not queues:
            raise BadInput(f"{arguments.topic} has no queue {arguments.queueId} on {arguments.brokerName}")
    elif arguments.offset is not None:
        raise BadInput("--offset needs --brokerName and --queueId")
    for queue in queues:
        shown = 0
        async for result in _window(admin, queue, arguments):
            left = arguments.MessageNumber - shown
            if left <= 0:
                break
            shown += len(result.rows)
            yield Table(result.columns, result.rows[:left], result.notes)


async def _window(admin: Admin, queue: MessageQueue, arguments: Arguments) -> AsyncIterator[Table]:
    low, high = await admin.offsets.min_offset(queue), await admin.offsets.max_offset(queue)
    if arguments.offset is not None:
        low = max(low, arguments.offset)
    elif arguments.beginTimestamp > 0:
        low = max(low, await admin.offsets.offset_at(queue, arguments.beginTimestamp))
    async for found in _pull_all(admin, queue, low, high, "*"):
        yield _list([message for message in found if message.store_timestamp <= arguments.endTimestamp])


def _list(found: list[ReceivedMessage], *, with_body: bool = True) -> Table:
    return Table(LIST_COLUMNS, [list_row(message, with_body=with_body) for message in found])


def _none(text: str) -> NotFound:
    return NotFound(text, code=ResponseCode.QUERY_NOT_FOUND)


@command(
    "checkMsgSendRT",
    "Send some messages and time them",
    topic_option(),
    Option("a", "amount", "how many (100)", "N", whole_number, 100),
    Option("s", "size", "body bytes (128)", "N", whole_number, 128),
    example="checkMsgSendRT -t orders -a 100 -s 128",
)
async def check_msg_send_rt(admin: Admin, arguments: Arguments) -> Result:
    import time

    times_ms: list[float] = []
    async with Producer(TOOLS_GROUP, instance=admin.instance) as producer:
        for _ in range(max(1, arguments.amount)):
            begun = time.perf_counter()
            await producer.send(Message(arguments.topic, b"h" * arguments.size))
            times_ms.append((time.perf_counter() - begun) * 1000)
    ordered = sorted(times_ms)
    data = {
        "sent": len(ordered),
        "average_ms": round(sum(ordered) / len(ordered), 3),
        "median_ms": round(ordered[len(ordered) // 2], 3),
        "worst_ms": round(ordered[-1], 3),
    }
    return Facts(data)

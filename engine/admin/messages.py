"""Messages: find one by id, key or place, and send one; and messages as results: a list, or one in full."""

from __future__ import annotations

import time
from collections.abc import Iterable

from engine.admin.arguments import count, id_number, number, queue_offset, shown_time, time_options
from engine.admin.commands import Arguments, Option, address_option, command, topic_option
from engine.admin.results import Facts, Result, Table
from engine.client import Admin, Message, MessageQueue, Producer, ReceivedMessage
from engine.client.instance.routes import publish_queues
from engine.errors import CorruptRecord, NotFound
from engine.protocol.codes import ResponseCode
from engine.protocol.names import TOOLS_GROUP

_COLUMNS = ("Message ID", "Broker Name", "QID", "Offset", "Tags", "Keys", "Stored", "Body")
_PREVIEW_CHARACTERS = 60


def message_list(messages: Iterable[ReceivedMessage], *, with_body: bool = True) -> Table:
    rows = [
        (
            message.msg_id,
            message.queue.broker_name,
            message.queue.queue_id,
            message.queue_offset,
            message.tags,
            " ".join(message.keys) or None,
            shown_time(message.store_timestamp),
            _preview(_body_text(message)) if with_body else None,
        )
        for message in messages
    ]
    return Table(_COLUMNS, rows)


def _preview(text: str) -> str:
    if len(text) <= _PREVIEW_CHARACTERS:
        return text
    return f"{text[:_PREVIEW_CHARACTERS]}… ({len(text)} characters)"


def _body_text(message: ReceivedMessage) -> str:
    """UTF-8 if it is, else hexadecimal; for a body that cannot be decompressed, the error."""
    try:
        body = message.body
    except CorruptRecord as error:
        return f"<{error.text}>"
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.hex()


def message_details(message: ReceivedMessage) -> Facts:
    record = message.record
    return Facts(
        {
            "OffsetID": message.offset_msg_id,
            "Message ID": message.msg_id,
            "Topic": record.topic,
            "Tags": message.tags,
            "Keys": " ".join(message.keys) or None,
            "Broker Name": message.queue.broker_name,
            "Queue ID": message.queue.queue_id,
            "Queue Offset": message.queue_offset,
            "CommitLog Offset": message.commit_log_offset,
            "Reconsume Times": record.reconsume_times,
            "Born Timestamp": shown_time(message.born_timestamp),
            "Store Timestamp": shown_time(message.store_timestamp),
            "Born Host": _host(record.born_host),
            "Store Host": _host(record.store_host),
            "System Flag": record.sys_flag,
            "Properties": record.properties,
            "Body": _body_text(message),
        }
    )


def _host(host: tuple[str, int]) -> str:
    return f"{host[0]}:{host[1]}"


_MAX_BODY_BYTES = 4 * 1024 * 1024


@command(
    "queryMsgById",
    "A message by its offset id",
    Option("i", "msgId", "offset message id", "MESSAGE_ID", required=True),
    topic_option(required=False),
)
async def query_msg_by_id(admin: Admin, arguments: Arguments) -> Result:
    return message_details(await admin.messages.by_offset_id(arguments.msgId, arguments.topic))


@command(
    "queryMsgByUniqueKey",
    "A message by the id that its producer gave it",
    topic_option(),
    Option("i", "msgId", "message id", "MESSAGE_ID", required=True),
    Option("a", "showAll", "list every copy, not only the first"),
)
async def query_msg_by_unique_key(admin: Admin, arguments: Arguments) -> Result:
    found = await admin.messages.by_unique_key(arguments.topic, arguments.msgId)
    if not found:
        text = f"no message {arguments.msgId} in {arguments.topic}"
        raise NotFound(text, code=ResponseCode.QUERY_NOT_FOUND)
    return message_list(found) if arguments.showAll else message_details(found[0])


@command(
    "queryMsgByKey",
    "Messages with a key",
    topic_option(),
    Option("k", "msgKey", "business key", "KEY", required=True),
    *time_options(),
    Option("m", "maxNum", "at most (64)", "N", count, 64),
)
async def query_msg_by_key(admin: Admin, arguments: Arguments) -> Result:
    times = (arguments.beginTimestamp, arguments.endTimestamp)
    return message_list(
        await admin.messages.by_key(arguments.topic, arguments.msgKey, arguments.maxNum, *times)
    )


@command(
    "queryMsgByOffset",
    "The message at one offset of a queue",
    topic_option(),
    Option("b", "brokerName", "name of the broker group", "BROKER_NAME", required=True),
    Option("i", "queueId", "queue", "QID", id_number, required=True),
    Option("o", "offset", "queue offset", "OFFSET", queue_offset, required=True),
)
async def query_msg_by_offset(admin: Admin, arguments: Arguments) -> Result:
    queue = MessageQueue(arguments.topic, arguments.brokerName, arguments.queueId)
    return message_details(await admin.messages.at(queue, arguments.offset))


@command(
    "queryCq",
    "Units of a consume queue as they are stored",
    topic_option(),
    Option("q", "queue", "queue", "QID", id_number, required=True),
    Option("i", "index", "first unit", "N", queue_offset, required=True),
    Option("c", "count", "how many (10)", "N", count, 10),
    address_option("b", "broker", required=False),
    Option("g", "consumer", "apply the filter of this group", "GROUP"),
    example="queryCq -t orders -q 0 -i 0",
)
async def query_cq(admin: Admin, arguments: Arguments) -> Result:
    broker = arguments.broker or (await admin.topics.masters_of(arguments.topic))[0]
    found = await admin.messages.consume_queue(
        broker, arguments.topic, arguments.queue, arguments.index, arguments.count, arguments.consumer
    )
    rows = [
        (index, unit.physic_offset, unit.physic_size, unit.tags_code)
        for index, unit in enumerate(found.queue_data, arguments.index)
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
    Option("b", "broker", "with -i: name of the broker group", "BROKER_NAME"),
    Option("i", "qid", "with -b: queue", "QID", id_number),
    example='sendMessage -t hello -p "hi"',
    together=("broker", "qid"),
)
async def send_message(admin: Admin, arguments: Arguments) -> Result:
    topic, queue = arguments.topic, None
    if arguments.broker is not None:
        queue = MessageQueue(topic, arguments.broker, arguments.qid)
        if queue not in publish_queues(topic, await admin.topics.route(topic)):
            text = f"{topic} has no writable queue {arguments.qid} on {arguments.broker}"
            raise NotFound(text, code=ResponseCode.QUERY_NOT_FOUND)
    message = Message(topic, arguments.body.encode(), arguments.tags, (arguments.key or "").split())
    async with Producer(TOOLS_GROUP, instance=admin.instance) as producer:
        sent = await producer.send(message, queue=queue)
    row = (sent.queue.broker_name, sent.queue.queue_id, sent.status.name, sent.msg_id, sent.queue_offset)
    return Table(("Broker Name", "QID", "Send Result", "Message ID", "Offset"), [row])


@command(
    "checkMsgSendRT",
    "Send some messages and measure how long each takes",
    topic_option(),
    Option("a", "amount", "how many (100)", "N", count, 100),
    Option("s", "size", "body bytes (128)", "N", number(1, _MAX_BODY_BYTES), 128),
)
async def check_msg_send_rt(admin: Admin, arguments: Arguments) -> Result:
    times_ms: list[float] = []
    async with Producer(TOOLS_GROUP, instance=admin.instance) as producer:
        for _ in range(arguments.amount):
            began = time.perf_counter()
            await producer.send(Message(arguments.topic, b"h" * arguments.size))
            times_ms.append((time.perf_counter() - began) * 1000)
    times_ms.sort()
    data = {
        "sent": len(times_ms),
        "average_ms": round(sum(times_ms) / len(times_ms), 3),
        "median_ms": round(times_ms[len(times_ms) // 2], 3),
        "worst_ms": round(times_ms[-1], 3),
    }
    return Facts(data)

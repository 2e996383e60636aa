"""Request and reply: a message that waits for an answering message, and the answering.

A request is an ordinary message with our client id and a correlation id. Its consumer sends the reply to a
broker, which pushes it over our own connection (326). `Replies` matches the two. A reply that comes too late,
or twice, is dropped. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid

from engine.client.messages import Message, ReceivedMessage
from engine.errors import BadInput, PeerTimeout
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.commands import Command
from engine.protocol.hashes import body_crc
from engine.protocol.headers.send import ReplyMessageRequest
from engine.protocol.hosts import Host
from engine.protocol.names import reply_topic
from engine.protocol.properties import Property, decode_properties
from engine.protocol.record_layout import MAGIC_V1
from engine.protocol.records import Record

log = logging.getLogger(__name__)

REPLY_TYPE = "reply"


class Replies:
    """The requests of one client that wait."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[ReceivedMessage]] = {}

    def expect(
        self, client_id: str, timeout_ms: int
    ) -> tuple[dict[str, str], asyncio.Future[ReceivedMessage]]:
        """The marks of a new request, and its reply to come."""
        correlation_id = str(uuid.uuid4())
        future: asyncio.Future[ReceivedMessage] = asyncio.get_running_loop().create_future()
        self._waiting[correlation_id] = future
        future.add_done_callback(lambda _: self._waiting.pop(correlation_id, None))
        marks = {
            Property.CORRELATION_ID: correlation_id,
            Property.REPLY_TO_CLIENT: client_id,
            Property.TTL: str(timeout_ms),
        }
        return marks, future

    def arrived(self, request: Command) -> None:
        message = pushed_reply(request, int(time.time() * 1000))
        correlation_id = message.properties.get(Property.CORRELATION_ID, "")
        future = self._waiting.get(correlation_id)
        if future is None or future.done():
            log.info("dropped the reply %s: no request waits for it", correlation_id)
        else:
            future.set_result(message)


async def wait_for_reply(
    future: asyncio.Future[ReceivedMessage], timeout_s: float, topic: str
) -> ReceivedMessage:
    try:
        async with asyncio.timeout(timeout_s):
            return await future
    except TimeoutError:
        raise PeerTimeout(f"a request was sent to {topic}, but no reply came in time") from None


def pushed_reply(request: Command, now_ms: int) -> ReceivedMessage:
    header = ReplyMessageRequest.decode(request.fields)
    properties = decode_properties(header.properties or "")
    properties[Property.ARRIVE_TIME] = str(now_ms)
    body = bytes(request.body)
    record = Record(
        size=0,
        magic=MAGIC_V1,
        body_crc=body_crc(body),
        queue_id=header.queue_id,
        flag=header.flag,
        queue_offset=0,
        commit_log_offset=0,
        sys_flag=header.sys_flag,
        born_timestamp=header.born_timestamp,
        born_host=_host(header.born_host),
        store_timestamp=header.store_timestamp,
        store_host=_host(header.store_host),
        reconsume_times=header.reconsume_times or 0,
        prepared_transaction_offset=0,
        body=body,
        topic=header.topic,
        properties=properties,
    )
    return ReceivedMessage(record, MessageQueue(header.topic, "", header.queue_id))


def reply_message(request: ReceivedMessage, body: bytes, **fields: object) -> tuple[Message, dict[str, str]]:
    """The reply to a consumed request, and its marks."""
    given = request.properties
    cluster, waiting = given.get(Property.CLUSTER), given.get(Property.REPLY_TO_CLIENT)
    correlation_id = given.get(Property.CORRELATION_ID)
    if not (cluster and waiting and correlation_id):
        raise BadInput(f"{request} is not a request: it has no sender to reply to")
    marks = {
        Property.MSG_TYPE: REPLY_TYPE,
        Property.CORRELATION_ID: correlation_id,
        Property.REPLY_TO_CLIENT: waiting,
        Property.TTL: given.get(Property.TTL, ""),
    }
    return Message(reply_topic(cluster), body, **fields), marks  # type: ignore[arg-type]


def _host(text: str) -> Host:
    """`host:port`, also Java's `/host:port`."""
    host, _, port = text.rpartition(":")
    return host.rpartition("/")[2] or "127.0.0.1", int(port) if port.isdecimal() else 0

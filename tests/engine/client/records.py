"""Received messages for unit tests, without a broker."""

from __future__ import annotations

from engine.client.messages import ReceivedMessage
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.records import Record

QUEUE = MessageQueue("topic", "broker-a", 0)


def received(
    queue_offset: int,
    body: bytes = b"x",
    *,
    queue: MessageQueue = QUEUE,
    sys_flag: int = 0,
    **properties: str,
) -> ReceivedMessage:
    record = Record(
        size=100,
        magic=0,
        body_crc=0,
        queue_id=queue.queue_id,
        flag=0,
        queue_offset=queue_offset,
        commit_log_offset=1000 + queue_offset,
        sys_flag=sys_flag,
        born_timestamp=1,
        born_host=("127.0.0.1", 9),
        store_timestamp=2,
        store_host=("127.0.0.1", 10911),
        reconsume_times=0,
        prepared_transaction_offset=0,
        body=body,
        topic=queue.topic,
        properties=dict(properties),
    )
    return ReceivedMessage(record, queue)

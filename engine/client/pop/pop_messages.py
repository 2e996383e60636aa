"""Popped messages: each with the receipt handle that acknowledges it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from engine.client.messages import ReceivedMessage
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.pop import BatchAck, BatchAckMessageRequestBody, encode_bit_set
from engine.protocol.headers.pop import PopMessageResponse
from engine.protocol.pop_handles import (
    NORMAL,
    PopHandle,
    parse_handle,
    parse_order_counts,
    parse_start_offsets,
    real_topic,
)
from engine.protocol.properties import Property
from engine.protocol.records import Record, decode_records


class PoppedMessage(ReceivedMessage):
    """A message that is ours until its invisible time has passed. `handle` names the pop that returned it; it
    changes with the invisible time."""

    __slots__ = ("group", "handle")

    def __init__(self, record: Record, queue: MessageQueue, group: str, handle: PopHandle) -> None:
        super().__init__(record, queue)
        self.group = group
        self.handle = handle

    @property
    def stored_topic(self) -> str:
        """Where it is stored: in the topic itself, or in the group's retry topic when it is redelivered."""
        return real_topic(self.handle.retry_flag, self.record.topic, self.group)

    @property
    def visible_at_ms(self) -> int:
        """When it is redelivered unless it is acknowledged, by the broker's clock."""
        return self.handle.pop_time_ms + self.handle.invisible_ms

    def renewed(self, pop_time_ms: int, invisible_ms: int, revive_queue_id: int) -> None:
        start = self.handle.start_offset if self.handle.is_ordered else self.handle.queue_offset
        self.handle = replace(
            self.handle,
            start_offset=start,
            pop_time_ms=pop_time_ms,
            invisible_ms=invisible_ms,
            revive_queue_id=revive_queue_id,
        )


def popped_messages(fields: dict[str, str], body: bytes, broker_name: str, group: str) -> list[PoppedMessage]:
    header = PopMessageResponse.decode(fields)
    starts = parse_start_offsets(header.start_offset_info or "")
    counts = parse_order_counts(header.order_count_info)
    messages: list[PoppedMessage] = []
    for record in decode_records(body):
        handle = _handle_of(record, header, starts, broker_name)
        queue = MessageQueue(record.topic, broker_name, record.queue_id)
        message = PoppedMessage(record, queue, group, handle)
        if handle.is_ordered:
            by_queue = counts.get((NORMAL, str(record.queue_id)), 0)
            by_message = counts.get((NORMAL, f"qo{record.queue_id}%{record.queue_offset}"), by_queue)
            message.reconsume_times = by_message
        messages.append(message)
    return messages


def _handle_of(
    record: Record, header: PopMessageResponse, starts: dict[tuple[str, int], int], broker_name: str
) -> PopHandle:
    """Redelivered messages carry their handle; that of the others is in the answer's header."""
    given = record.properties.get(Property.POP_CK)
    if given is not None:
        return parse_handle(given)
    return PopHandle(
        starts.get((NORMAL, record.queue_id), record.queue_offset),
        header.pop_time,
        header.invisible_time,
        header.revive_qid,
        NORMAL,
        broker_name,
        record.queue_id,
        record.queue_offset,
    )


def batch_acks(messages: Iterable[PoppedMessage]) -> dict[str, BatchAckMessageRequestBody]:
    """Broker name: the one request that acknowledges all of its messages."""
    pops: dict[tuple[str, str, PopHandle], list[int]] = {}
    for message in messages:
        pop = replace(message.handle, queue_offset=0)
        key = message.handle.broker_name, message.record.topic, pop
        pops.setdefault(key, []).append(message.handle.queue_offset)
        group = message.group
    acks: dict[str, list[BatchAck]] = {}
    for (broker_name, topic, pop), offsets in pops.items():
        start = min(offsets) if pop.is_ordered else pop.start_offset
        ack = BatchAck(
            group,
            topic,
            pop.retry_flag,
            start,
            pop.queue_id,
            pop.revive_queue_id,
            pop.pop_time_ms,
            pop.invisible_ms,
            encode_bit_set(start, offsets),
        )
        acks.setdefault(broker_name, []).append(ack)
    return {name: BatchAckMessageRequestBody(name, tuple(found)) for name, found in acks.items()}

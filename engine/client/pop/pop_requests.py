"""Requests of consumers that pop (pop, acknowledge, change the invisible time), and popped messages, each
with the receipt handle that acknowledges it. Loop thread only.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from engine.client.consuming.subscriptions import accepts
from engine.client.instance.answers import all_of, peer_error
from engine.client.instance.instance import ClientInstance
from engine.client.messages import ReceivedMessage
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import ConsumeFromWhere, SubscriptionData
from engine.protocol.bodies.pop import BatchAck, BatchAckMessageRequestBody, encode_bit_set
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.pop import (
    AckMessageRequest,
    ChangeInvisibleTimeRequest,
    ChangeInvisibleTimeResponse,
    PopMessageRequest,
    PopMessageResponse,
)
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


ALL_QUEUES = -1
MOST = 32
"""Messages that a broker returns per pop."""
_FROM_MIN, _FROM_MAX = 0, 1
_NOTHING = (ResponseCode.POLLING_TIMEOUT, ResponseCode.POLLING_FULL, ResponseCode.PULL_NOT_FOUND)
_ANSWER_MARGIN_MS = 5_000


class Pops:
    def __init__(self, instance: ClientInstance, group: str, from_where: ConsumeFromWhere) -> None:
        self._instance = instance
        self._group = group
        is_last = from_where is ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
        self._init_mode = _FROM_MAX if is_last else _FROM_MIN

    async def pop(
        self,
        queue: MessageQueue,
        wanted: SubscriptionData,
        count: int,
        *,
        invisible_ms: int,
        poll_ms: int,
        order: bool = False,
    ) -> list[PoppedMessage]:
        """Messages of this queue (id -1: of all of the broker's), or none when none came in time."""
        header = PopMessageRequest(
            self._group,
            queue.topic,
            queue.queue_id,
            count,
            invisible_ms,
            poll_ms,
            int(time.time() * 1000),
            self._init_mode,
            wanted.expression_type,
            wanted.sub_string,
            order or None,
        )
        command = Command(RequestCode.POP_MESSAGE, fields=header.encode())
        address = self._instance.master_address(queue.broker_name)
        answer = await self._instance.requester.request(address, command, poll_ms + _ANSWER_MARGIN_MS)
        if answer.code in _NOTHING:
            return []
        if answer.code != ResponseCode.SUCCESS:
            raise peer_error(answer)
        messages = popped_messages(answer.fields, bytes(answer.body), queue.broker_name, self._group)
        unwanted = [message for message in messages if not accepts(wanted, message.tags)]
        if unwanted:
            # Other tags with the same hash: acknowledged, so that no member gets them again.
            await self.ack(*unwanted)
        return [message for message in messages if message not in unwanted]

    async def ack(self, *messages: PoppedMessage) -> None:
        if len(messages) == 1:
            await self._ack_one(messages[0])
            return
        await all_of(
            self._instance.call(
                self._instance.master_address(name), RequestCode.BATCH_ACK_MESSAGE, body=body.encode()
            )
            for name, body in batch_acks(messages).items()
        )

    async def _ack_one(self, message: PoppedMessage) -> None:
        handle = message.handle
        header = AckMessageRequest(
            self._group, message.stored_topic, handle.queue_id, handle.encode(), handle.queue_offset
        )
        address = self._instance.master_address(handle.broker_name)
        await self._instance.call(address, RequestCode.ACK_MESSAGE, header)

    async def change_invisible(self, message: PoppedMessage, invisible_ms: int) -> None:
        handle = message.handle
        header = ChangeInvisibleTimeRequest(
            self._group,
            message.stored_topic,
            handle.queue_id,
            handle.encode(),
            handle.queue_offset,
            invisible_ms,
        )
        address = self._instance.master_address(handle.broker_name)
        answer = await self._instance.call(address, RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header)
        changed = ChangeInvisibleTimeResponse.decode(answer.fields)
        message.renewed(changed.pop_time, changed.invisible_time, changed.revive_qid)

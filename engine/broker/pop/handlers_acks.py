"""Acknowledging popped messages: ACK_MESSAGE (200051), BATCH_ACK_MESSAGE (200151) and
CHANGE_MESSAGE_INVISIBLETIME (200053).

A receipt handle names the pop by queue, start offset and time; together with the group and topic of the
request it finds an open checkpoint, or nothing. A handle of another group, topic or broker therefore changes
nothing. An acknowledgement that comes too late is answered with success, as RocketMQ does: the message is on
its way back already. Answers leave once the log has the change (under SYNC_FLUSH: once it is on disk).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.offsets.offset_table import ConsumerOffsets
from engine.broker.pop.handlers_peek import PopLookHandlers
from engine.broker.pop.pop_requests import check_invisible, waiting_key
from engine.broker.pop.revive_log import ReviveLog
from engine.broker.sending.admission import check_stored
from engine.broker.stats.traffic import Traffic
from engine.broker.topics.topic_rules import no_such_topic
from engine.errors import Refused
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply, WaitFlush
from engine.protocol.bodies.pop import BatchAck, BatchAckMessageRequestBody
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.pop import (
    AckMessageRequest,
    ChangeInvisibleTimeRequest,
    ChangeInvisibleTimeResponse,
)
from engine.protocol.pop_handles import ORDER_REVIVE_QUEUE, PopHandle, parse_handle, real_topic
from engine.store.results import PutResult


@dataclass(eq=False, repr=False)
class PopAckHandlers(PopLookHandlers):
    broker_name: str
    offsets: ConsumerOffsets
    revive_log: ReviveLog
    traffic: Traffic
    is_sync_flush: bool
    wake: Callable[[object], None]

    def routes(self) -> dict[int, Handler]:
        return super().routes() | {
            RequestCode.ACK_MESSAGE: self.ack,
            RequestCode.BATCH_ACK_MESSAGE: self.batch_ack,
            RequestCode.CHANGE_MESSAGE_INVISIBLETIME: self.change_invisible,
        }

    # -- acknowledging --------------------------------------------------------------------------------------

    def ack(self, request: Command, client: Connection) -> Outcome:
        header = AckMessageRequest.decode(request.fields)
        handle = self._checked_handle(header)
        if handle.is_ordered:
            self._ack_in_order(header.topic, header.consumer_group, handle)
            return Reply()
        key = (header.topic, header.consumer_group, header.queue_id, handle.start_offset, handle.pop_time_ms)
        # Only messages that were popped count, or any client could fill the table with names.
        if self.revive_log.is_open(key, header.offset):
            self.traffic.acked(header.topic, header.consumer_group, 1)
        return self._answer(self.revive_log.ack(key, [header.offset], self.now_ms()), Reply())

    def batch_ack(self, request: Command, client: Connection) -> Outcome:
        body = BatchAckMessageRequestBody.decode(request.body)
        if not body.acks:
            raise _no_message("there is nothing to acknowledge")
        if body.broker_name and body.broker_name != self.broker_name:
            raise _no_message(f"this is {self.broker_name}, not {body.broker_name:.80}")
        last: PutResult | None = None
        for ack in body.acks:
            last = self._ack_some(ack) or last
        return self._answer(last, Reply())

    def _ack_some(self, ack: BatchAck) -> PutResult | None:
        """An acknowledgement of an unknown pop is skipped: the others must not wait for it."""
        topic, group = real_topic(ack.retry, ack.topic, ack.consumer_group), ack.consumer_group
        if ack.revive_queue_id == ORDER_REVIVE_QUEUE:
            info = self.orders.get(topic, group, ack.queue_id)
            for offset in ack.acked_of(info.unacked() if info is not None else ()):
                self._move_in_order(topic, group, ack.queue_id, offset, ack.pop_time)
            return None
        key = topic, group, ack.queue_id, ack.start_offset, ack.pop_time
        offsets = ack.acked_of(self.revive_log.unacked(key))
        if offsets:
            self.traffic.acked(topic, group, len(offsets))
        return self.revive_log.ack(key, offsets, self.now_ms())

    def _ack_in_order(self, topic: str, group: str, handle: PopHandle) -> None:
        # A message before the committed offset was acknowledged already: that is no error.
        committed = self.offsets.committed(topic, group, handle.queue_id)
        if committed is not None and handle.queue_offset < committed:
            return
        # Nor is a receipt of an earlier pop: the message was popped again, or the group's offset was reset.
        info = self.orders.get(topic, group, handle.queue_id)
        if info is None or info.pop_time != handle.pop_time_ms:
            return
        if not self._move_in_order(topic, group, handle.queue_id, handle.queue_offset, handle.pop_time_ms):
            raise Refused(
                "the message was not popped with this handle",
                code=ResponseCode.MESSAGE_ILLEGAL,
            )

    def _move_in_order(self, topic: str, group: str, queue_id: int, offset: int, pop_time_ms: int) -> bool:
        next_offset = self.orders.ack(topic, group, queue_id, offset, pop_time_ms)
        if next_offset is None:
            return False
        self.traffic.acked(topic, group, 1)
        if not self.offsets.has_reset(topic, group, queue_id):
            self.offsets.commit(topic, group, queue_id, next_offset)
        if self.orders.blocked_until_ms(topic, group, queue_id, None, self.now_ms()) is None:
            self._wake_waiting(topic, group, queue_id)
        return True

    def _wake_waiting(self, topic: str, group: str, queue_id: int) -> None:
        for waiting_for in (queue_id, -1):
            self.wake(waiting_key(topic, group, waiting_for))

    # -- a longer or shorter time ---------------------------------------------------------------------------

    def change_invisible(self, request: Command, client: Connection) -> Outcome:
        header = ChangeInvisibleTimeRequest.decode(request.fields)
        handle = self._checked_handle(header)
        now_ms = self.now_ms()
        if handle.is_ordered:
            return self._change_in_order(header, handle, now_ms)
        check_invisible(header.invisible_time)
        topic, group, queue_id = header.topic, header.consumer_group, header.queue_id
        key = topic, group, queue_id, handle.start_offset, handle.pop_time_ms
        if not self.revive_log.is_open(key, header.offset):
            raise _no_message("the message was acknowledged, or its time has passed")
        # A pop of the same millisecond must have another key.
        pop_time_ms = max(now_ms, handle.pop_time_ms + 1)
        stored = self.revive_log.checkpoint(
            topic,
            group,
            queue_id,
            header.offset,
            [header.offset],
            revive_queue_id=handle.revive_queue_id,
            invisible_ms=header.invisible_time,
            now_ms=pop_time_ms,
            first_pop_ms=handle.pop_time_ms,
        )
        check_stored(stored)
        self.traffic.checkpoint(topic, group)
        self.traffic.acked(topic, group, 1)
        stored = self.revive_log.ack(key, [header.offset], now_ms) or stored
        answer = ChangeInvisibleTimeResponse(pop_time_ms, header.invisible_time, handle.revive_queue_id)
        return self._answer(stored, Reply(fields=answer.encode()))

    def _change_in_order(self, header: ChangeInvisibleTimeRequest, handle: PopHandle, now_ms: int) -> Outcome:
        """Zero is allowed here: the queue is free at once."""
        topic, group, queue_id = header.topic, header.consumer_group, header.queue_id
        if header.invisible_time:
            check_invisible(header.invisible_time)
        visible_ms = now_ms + header.invisible_time
        popped_ms = handle.pop_time_ms
        if not self.orders.show_at(topic, group, queue_id, header.offset, popped_ms, visible_ms):
            raise _no_message("the message was acknowledged, or its time has passed")
        # Long polls for the queue must learn when it is free now.
        self._wake_waiting(topic, group, queue_id)
        answer = ChangeInvisibleTimeResponse(popped_ms, visible_ms - popped_ms, ORDER_REVIVE_QUEUE)
        return Reply(fields=answer.encode())

    # -- common to all --------------------------------------------------------------------------------------

    def _checked_handle(self, header: AckMessageRequest | ChangeInvisibleTimeRequest) -> PopHandle:
        """The receipt handle, checked against the request and the queue."""
        config = self.topics.get(header.topic)
        if config is None:
            raise no_such_topic(header.topic)
        topic, queue_id = header.topic, header.queue_id
        if not 0 <= queue_id < config.read_queue_nums:
            raise Refused(
                f"queueId[{queue_id}] is illegal, {topic} has {config.read_queue_nums} queues",
                code=ResponseCode.MESSAGE_ILLEGAL,
            )
        handle = parse_handle(header.extra_info, header.offset)
        queues = self.store.queues
        low, high = queues.min_offset(topic, queue_id), queues.max_offset(topic, queue_id)
        if not low <= header.offset <= high:
            raise _no_message(f"offset {header.offset} of {topic}@{queue_id} is outside {low}..{high}")
        if (handle.broker_name, handle.queue_id, handle.queue_offset) != (
            self.broker_name,
            queue_id,
            header.offset,
        ):
            raise _no_message("the receipt handle is about another message")
        return handle

    def _answer(self, stored: PutResult | None, reply: Reply) -> Outcome:
        if stored is None:
            return reply
        check_stored(stored)
        if not self.is_sync_flush:
            return reply
        late = Reply(ResponseCode.SYSTEM_ERROR, "stored, but not known to be on disk")
        end = stored.commit_log_offset + stored.size
        return WaitFlush(end, self.live.sync_flush_timeout, reply, late)


def _no_message(text: str) -> Refused:
    return Refused(text, code=ResponseCode.NO_MESSAGE)
